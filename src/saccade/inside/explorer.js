// SPDX-FileCopyrightText: 2026 The Saccade authors
// SPDX-License-Identifier: Apache-2.0
// Explorer of attention maps. Axes: T queries, S keys. A head numbered as many as there are heads is their mean.
'use strict';

const SMALLEST = 6, LARGEST = 48, LINES = 64, TALL = 760;     // pixels of a cell; rows of the view of lines; pixels
const THUMB = 48, KEPT = 96e6, LISTED = 12;                   // cells of a small map; bytes of decoded heads; rows
const $ = id => document.getElementById(id);
const about = JSON.parse($('about').textContent);
const sets = new Map();
for (const [number, map] of about.maps.entries()) {
  map.number = number;
  [map.queries, map.keys] = [about.labels[map.queries], about.labels[map.keys]];
  map.before = map.isCross ? 0 : map.keys.length - map.queries.length;  // keys before the first query's own
  sets.set(map.set, [...sets.get(map.set) ?? [], map]);
}
const clamp = (value, low, high) => Math.max(low, Math.min(value, high));
const largest = values => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
const visible = token => token.replace(/^ +| +$/g, spaces => '␣'.repeat(spaces.length)).replace(/\n/g, '↵').replace(/\t/g, '⇥');
const short = token => (token = visible(token)).length > 14 ? `${token.slice(0, 13)}…` : token;
const fixed = (value, digits) => (Number(value.toFixed(digits)) || 0).toFixed(digits);  // 0.00, not -0.00
const written = weight => Math.abs(weight) >= 1e-4 || !weight ? weight.toFixed(4) : weight.toExponential(2);
const rounded = (measure, digits) => measure == null ? '–' : String(Number(measure.toPrecision(digits)));
const headName = (map, head) => head === map.most.length ? 'mean of its heads' : `head ${head}`;
const make = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};

// The weights of heads, decoded when first needed; those used longest ago are dropped.
const bytesOf = async id => {
  const packed = Uint8Array.from(atob($(id).textContent), letter => letter.charCodeAt(0));
  return new Response(new Response(packed).body.pipeThrough(new DecompressionStream('deflate'))).arrayBuffer();
};
async function decoded(map, head) {
  const [T, S] = [map.queries.length, map.keys.length];
  if (head === map.most.length) {
    const mean = new Float32Array(T * S);
    for (let each = 0; each < head; each++) {
      const values = await weightsOf(map, each);
      for (let at = 0; at < mean.length; at++) mean[at] += values[at] / head;
    }
    return mean;
  }
  const data = await bytesOf(`weights-${map.number}-${head}`);
  if (about.exact) return new Float32Array(data);
  const most = new Float32Array(data, 0, T), steps = map.isSigned ? 127 : 255, found = new Float32Array(T * S);
  const roots = new (map.isSigned ? Int8Array : Uint8Array)(data, 4 * T);
  for (let at = 0; at < found.length; at++) found[at] = roots[at] * Math.abs(roots[at]) * most[Math.floor(at / S)] / steps ** 2;
  return found;
}
const cache = new Map();
function weightsOf(map, head) {
  const key = `${map.number}-${head}`, found = cache.get(key) ?? decoded(map, head);
  cache.delete(key);
  cache.set(key, found);
  const most = Math.max(map.most.length + 1, KEPT / (4 * map.queries.length * map.keys.length));
  if (cache.size > most) cache.delete(cache.keys().next().value);
  return found;
}

// Colours, read from the style so that they follow dark mode: 256 steps to either side of 0.
let ramps;
const styled = name => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const parsed = colour => [1, 3, 5].map(at => parseInt(colour.slice(at, at + 2), 16));
const ramp = names => {
  const stops = names.map(name => parsed(styled(name)));
  return Array.from({ length: 256 }, (_, step) => {
    const at = step / 255 * (stops.length - 1), low = Math.min(Math.floor(at), stops.length - 2);
    return stops[low].map((value, channel) => Math.round(value + (at - low) * (stops[low + 1][channel] - value)));
  });
};
function readColours() {
  const blue = ramp(['weight-0', 'weight-1', 'weight-2', 'weight-3']);
  ramps = { false: [blue, blue], true: [ramp(['weight-0', 'plus-1', 'plus-2', 'plus-3']), blue] };
}
const colourOf = (map, share) => ramps[map.isSigned][share < 0 ? 1 : 0][Math.round(255 * Math.min(1, Math.abs(share)))];
const css = colour => `rgb(${colour.join()})`;
const inkOn = ([red, green, blue]) => 0.299 * red + 0.587 * green + 0.114 * blue > 140 ? '#000' : '#fff';

// State: what is chosen (numbers of tokens), and what is in view (ranges of tokens).
const asked = decodeURIComponent(location.hash.slice(1)), named = about.maps.find(map => asked.startsWith(`${map.name}.heads.`));
const headOf = (map, name) => name === 'mean' ? map.most.length : clamp(parseInt(name) || 0, 0, map.most.length - 1);
const first = named ?? about.maps[about.first.map];
const whole = map => ({ rows: [0, map.queries.length], columns: [0, map.keys.length] });
const start = map => ({ ...whole(map), query: map.grid ? 0 : map.queries.length - 1, key: 0, isPinned: false });
const state = { map: first, head: named ? headOf(named, asked.split('.heads.')[1]) : about.first.head, view: 'map', under: '', find: '', ...start(first) };
let over = null, weights = null, loaded = new Map(), geometry = null, pixels = null;
const isWhole = () => state.rows[1] - state.rows[0] === state.map.queries.length && state.columns[1] - state.columns[0] === state.map.keys.length;
const rowOf = query => weights.subarray(query * state.map.keys.length, (query + 1) * state.map.keys.length);
const weightAt = (query, key, from = weights) => from[query * state.map.keys.length + key];
const isMatch = token => state.find !== '' && token.toLowerCase().includes(state.find.toLowerCase());

// Long texts are in bins of equally many tokens; a bin has the weight of largest magnitude in it.
const bins = ([start, end], most) => {
  const size = Math.ceil((end - start) / Math.max(1, most));
  return { start, end, size, count: Math.ceil((end - start) / size), of: index => Math.floor((index - start) / size) };
};
function pooled(values, S, rows, columns) {
  const cells = new Float32Array(rows.count * columns.count), column = Int32Array.from({ length: columns.end }, (_, key) => columns.of(key));
  for (let query = rows.start; query < rows.end; query++) {
    const base = rows.of(query) * columns.count;
    for (let key = columns.start; key < columns.end; key++) {
      const at = base + column[key], value = values[query * S + key];
      if (Math.abs(value) > Math.abs(cells[at])) cells[at] = value;
    }
  }
  return cells;
}
function largestIn(rows, row, columns, column) {
  let best = null;
  for (let query = rows.start + row * rows.size; query < Math.min(rows.end, rows.start + (row + 1) * rows.size); query++)
    for (let key = columns.start + column * columns.size; key < Math.min(columns.end, columns.start + (column + 1) * columns.size); key++)
      if (!best || Math.abs(weightAt(query, key)) > Math.abs(weightAt(best.query, best.key))) best = { query, key };
  return best;
}
function limitOf(map, head, cells) {
  if (VIEWS[state.view].scale === 'shared') return Math.max(...sets.get(map.set).flatMap(each => each.most)) || 1;
  return (map.most[head] ?? largest(cells)) || 1;
}
const limitOfQuery = () => VIEWS[state.view].scale === 'row' ? largest(rowOf(state.query)) || 1 : limitOf(state.map, state.head, weights);
const rowLimit = (cells, columns, row) => largest(cells.subarray(row * columns, (row + 1) * columns)) || 1;
function imageOf(map, head, cells, columns, isOneRow = false) {
  const image = new ImageData(columns, cells.length / columns), isByRow = VIEWS[state.view].scale === 'row';
  let limit = isByRow ? largest(cells) || 1 : limitOf(map, head, cells);
  for (let row = 0; row < image.height; row++) {
    if (isByRow && !isOneRow) limit = rowLimit(cells, columns, row);
    for (let at = row * columns; at < (row + 1) * columns; at++) {
      image.data.set(colourOf(map, cells[at] / limit), 4 * at);
      image.data[4 * at + 3] = 255;
    }
  }
  const canvas = make('canvas', { width: image.width, height: image.height });
  canvas.getContext('2d').putImageData(image, 0, 0);
  return canvas;
}
const overPatches = (map, values, query) => {
  const S = map.keys.length, patches = map.grid[0] * map.grid[1];
  return values.slice((query + 1) * S - patches, (query + 1) * S);
};

// Small maps: a table of buttons, one tab stop; each is drawn when it comes into view.
let queue = Promise.resolve();
const seen = new IntersectionObserver(entries => {
  for (const { target, isIntersecting } of entries) {
    target.isSeen = isIntersecting;
    if (isIntersecting) queue = queue.then(() => target.isSeen && drawSmall(target));
  }
}, { rootMargin: '100px' });
async function drawSmall(button) {
  const { map, head } = button, isOver = state.view === 'image';
  const from = await weightsOf(map, head), S = map.keys.length;
  const rows = bins([0, map.queries.length], THUMB), columns = bins([0, S], THUMB);
  const cells = isOver ? overPatches(map, from, state.query) : button.cells ??= pooled(from, S, rows, columns);
  const drawn = imageOf(map, head, cells, isOver ? map.grid[1] : columns.count, isOver), canvas = button.firstChild;
  [canvas.width, canvas.height] = [drawn.width, drawn.height];
  canvas.getContext('2d').drawImage(drawn, 0, 0);
}
function drawHeads() {
  const maps = sets.get(state.map.set), count = Math.max(...maps.map(map => map.most.length));
  const heads = Array.from({ length: count + (count > 1) }, (_, head) => head);
  const side = clamp(Math.floor(($('heads').parentElement.clientWidth - 36) / heads.length) - 4, 20, 72);
  const top = make('tr', {}, make('td'), ...heads.map(head => make('th', { scope: 'col', textContent: head < count ? head : 'mean' })));
  const body = maps.map((map, row) => make('tr', {}, make('th', { scope: 'row', textContent: map.layer }), ...heads.map(column => {
    const head = column === count ? map.most.length : column;
    if (column < count && column >= map.most.length) return make('td');
    const button = make('button', { type: 'button', map, head, row, column, tabIndex: -1 }, make('canvas'));
    button.setAttribute('aria-label', `${map.layer ? `layer ${map.layer}, ` : ''}${headName(map, head)}`);
    button.addEventListener('click', () => choose(map, head));
    return make('td', {}, button, state.under && head < map.most.length ? rounded(map.measures[state.under]?.[head], 2) : '');
  })));
  seen.disconnect();
  $('heads').style.setProperty('--side', `${side}px`);
  $('heads').replaceChildren(make('thead', {}, top), make('tbody', {}, ...body));
  for (const button of $('heads').querySelectorAll('button')) seen.observe(button);
  markHead();
}
function markHead() {
  for (const button of $('heads').querySelectorAll('button')) {
    const isChosen = button.map === state.map && button.head === state.head;
    button.tabIndex = isChosen ? 0 : -1;
    isChosen ? button.setAttribute('aria-current', 'true') : button.removeAttribute('aria-current');
  }
}
const currentButton = () => $('heads').querySelector('[aria-current]');
const redrawSmall = () => $('heads').querySelectorAll('button').forEach(button => button.isSeen && drawSmall(button));
$('heads').addEventListener('keydown', event => {
  const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
  if (!step || !event.target.map) return;
  event.preventDefault();
  const { row, column } = event.target;
  const next = [...$('heads').querySelectorAll('button')].find(each => each.row === row + step[0] && each.column === column + step[1]);
  if (next) next.focus(), choose(next.map, next.head);
});

// The large map. `geometry` says where it is, for the pointer: at(x, y) returns a query and a key, or null.
const large = $('large'), stage = $('stage'), pen = large.getContext('2d');
function prepare(width, height) {
  const ratio = window.devicePixelRatio || 1;
  Object.assign(large, { width: width * ratio, height: height * ratio });
  Object.assign(large.style, { width: `${width}px`, height: `${height}px` });
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.textBaseline = 'middle';
  pen.lineWidth = 1;
}
const font = (size, isBold) => pen.font = `${isBold ? '600 ' : ''}${size}px system-ui, sans-serif`;
const labelOf = (tokens, range, place) => {
  const start = range.start + place * range.size, end = Math.min(range.end, start + range.size);
  const isFound = tokens.slice(start, end).some(isMatch);
  return { text: range.size === 1 ? short(tokens[start]) : `${start} ${short(tokens[start])}`, isFound };
};
const widest = (tokens, range, most) => {
  font(12, true);
  const places = Array.from({ length: range.count }, (_, place) => pen.measureText(labelOf(tokens, range, place).text).width);
  return Math.ceil(Math.min(most, Math.max(...places))) + 10;
};
// Write a label that ends (side -1) or starts (side 1) at x; chosen ones are bold, found ones marked and underlined.
function label(tokens, range, place, x, y, side, size, isChosen) {
  const { text, isFound } = labelOf(tokens, range, place);
  font(size, isChosen);
  pen.textAlign = side < 0 ? 'right' : 'left';
  const width = pen.measureText(text).width, left = side < 0 ? x - width : x;
  if (isFound || isChosen) {
    pen.fillStyle = styled(isFound ? 'mark' : 'page');
    pen.fillRect(left - 3, y - size * 0.7, width + 6, size * 1.4);
  }
  pen.fillStyle = styled(isFound || isChosen ? 'ink' : 'faint');
  pen.fillText(text, x, y);
  if (isFound) pen.fillRect(left, y + size * 0.6, width, 1.5);
}
function labels(tokens, range, cell, chosen, write) {
  const every = Math.max(1, Math.ceil(12 / cell)), size = clamp(cell * 0.95, 10, 12);
  for (let place = 0; place < range.count; place++) {
    const isNear = Math.abs(place - chosen) * cell < 12, { isFound } = labelOf(tokens, range, place);
    if (place === chosen || ((place % every === 0 || isFound) && !isNear) || every === 1) write(place, size, place === chosen);
  }
}
function drawMap() {
  const { map } = state, width = Math.max(200, stage.clientWidth), most = width * 0.3;
  const tokens = [map.queries, map.keys], ranges = [state.rows, state.columns].map(range => bins(range, (width - 40) / SMALLEST));
  const [left, top] = [0, 1].map(side => widest(tokens[side], ranges[side], side ? 110 : most));
  const [rows, columns] = ranges;
  let [cellWidth, cellHeight] = [Math.min(LARGEST, (width - left - 1) / columns.count), Math.min(LARGEST, TALL / rows.count)];
  const square = Math.min(cellWidth, cellHeight);
  if (square >= 9 || cellWidth < cellHeight) cellWidth = cellHeight = square;
  const [right, bottom] = [left + cellWidth * columns.count, top + cellHeight * rows.count];
  prepare(width, Math.ceil(bottom) + 1);
  const cells = pooled(weights, map.keys.length, rows, columns);
  const drawn = imageOf(map, state.head, cells, columns.count);
  pen.imageSmoothingEnabled = false;
  pen.drawImage(drawn, left, top, right - left, bottom - top);
  pen.strokeStyle = styled('rule');
  pen.strokeRect(left - 0.5, top - 0.5, right - left + 1, bottom - top + 1);
  if (cellWidth >= 32 && cellHeight >= 20) {
    const colours = drawn.getContext('2d').getImageData(0, 0, drawn.width, drawn.height).data;
    font(11);
    pen.textAlign = 'center';
    cells.forEach((cell, at) => {
      if (!cell) return;  // masked
      pen.fillStyle = inkOn(colours.subarray(4 * at, 4 * at + 3));
      pen.fillText(fixed(cell, 2), left + (at % columns.count + 0.5) * cellWidth, top + (Math.floor(at / columns.count) + 0.5) * cellHeight);
    });
  }
  const outline = ({ query, key }, dash) => {
    if (query < rows.start || query >= rows.end || key < columns.start || key >= columns.end) return;
    const box = [left + columns.of(key) * cellWidth, top + rows.of(query) * cellHeight, cellWidth, cellHeight];
    pen.strokeStyle = styled('edge');
    pen.strokeRect(left, box[1], right - left, cellHeight);
    pen.strokeRect(box[0], top, cellWidth, bottom - top);
    for (const [colour, size] of [['page', 4], ['ink', 2]]) {
      pen.strokeStyle = styled(colour);
      pen.lineWidth = size;
      pen.setLineDash(colour === 'ink' ? dash : []);
      pen.strokeRect(...box);
    }
    pen.setLineDash([]);
    pen.lineWidth = 1;
  };
  outline(state, []);
  if (over) outline(over, [3, 2]);
  const near = over ?? state;
  labels(map.queries, rows, cellHeight, rows.of(near.query), (place, size, isChosen) =>
    label(map.queries, rows, place, left - 6, top + (place + 0.5) * cellHeight, -1, size, isChosen));
  labels(map.keys, columns, cellWidth, columns.of(near.key), (place, size, isChosen) => {
    pen.save();
    pen.translate(left + (place + 0.5) * cellWidth, top - 6);
    pen.rotate(-Math.PI / 2);
    label(map.keys, columns, place, 0, 0, 1, size, isChosen);
    pen.restore();
  });
  if (dragged) {
    pen.strokeStyle = styled('link');
    pen.setLineDash([4, 3]);
    pen.strokeRect(dragged.x, dragged.y, dragged.toX - dragged.x, dragged.toY - dragged.y);
  }
  geometry = { rows, columns, at(x, y) {
    const [row, column] = [Math.floor((y - top) / cellHeight), Math.floor((x - left) / cellWidth)];
    return row < 0 || column < 0 || row >= rows.count || column >= columns.count ? null : largestIn(rows, row, columns, column);
  } };
}
const isDashed = head => head % 12 >= 6;  // as there are six colours
function drawLines() {
  const { map } = state, width = Math.max(200, stage.clientWidth);
  const [rows, columns] = [bins(state.rows, LINES), bins(state.columns, LINES)];
  const [leftLabels, rightLabels] = [widest(map.queries, rows, width * 0.34), widest(map.keys, columns, width * 0.34)];
  const space = Math.min(420, width - leftLabels - rightLabels), left = leftLabels + Math.max(0, (width - leftLabels - rightLabels - space) / 2);
  const right = left + space, step = clamp(TALL / Math.max(rows.count, columns.count), 12, 24);
  prepare(width, Math.ceil(Math.max(rows.count, columns.count) * step + 26));
  const y = place => 26 + (place + 0.5) * step;
  font(12);
  pen.fillStyle = styled('faint');
  [['right', 'queries', left], ['left', 'keys', right]].forEach(([align, text, x]) => { pen.textAlign = align; pen.fillText(text, x, 10); });
  const focus = over ?? (state.isPinned ? { query: state.query } : null), heads = [...state.heads];
  for (const head of heads) {
    const cells = pooled(loaded.get(head), map.keys.length, rows, columns), limit = limitOf(map, head, cells);
    cells.forEach((cell, at) => {
      const [row, column] = [Math.floor(at / columns.count), at % columns.count];
      const share = Math.abs(cell) / (VIEWS[state.view].scale === 'row' ? rowLimit(cells, columns.count, row) : limit);
      const isNear = !focus || (focus.query !== undefined ? rows.of(focus.query) === row : columns.of(focus.key) === column);
      const alpha = share * (isNear ? 0.9 : 0.12);
      if (alpha < 0.02) return;
      pen.globalAlpha = alpha;
      pen.strokeStyle = heads.length > 1 ? styled(`head-${head % 6}`) : styled(map.isSigned && cell > 0 ? 'plus-2' : 'weight-2');
      pen.lineWidth = 0.75 + 2.5 * share * (focus && isNear ? 1 : 0.5);
      pen.setLineDash(cell < 0 || (heads.length > 1 && isDashed(head)) ? [4, 3] : []);
      pen.beginPath();
      pen.moveTo(left + 4, y(row));
      pen.lineTo(right - 4, y(column));
      pen.stroke();
    });
  }
  pen.globalAlpha = 1;
  pen.setLineDash([]);
  const chosen = over?.query ?? state.query, size = Math.min(12.5, step);
  for (let row = 0; row < rows.count; row++) label(map.queries, rows, row, left - 4, y(row), -1, size, rows.of(chosen) === row);
  for (let column = 0; column < columns.count; column++)
    label(map.keys, columns, column, right + 4, y(column), 1, size, columns.of(over?.key ?? state.key) === column);
  geometry = { rows, columns, at(x, at) {
    const place = Math.floor((at - 26) / step), isQuery = x < (left + right) / 2, range = isQuery ? rows : columns;
    if (place < 0 || place >= range.count) return null;
    return { [isQuery ? 'query' : 'key']: range.start + place * range.size };
  } };
}
function drawOverImage() {
  const { map, query } = state, [gridRows, gridColumns] = map.grid, [H, W] = about.pixels;
  const width = Math.min(stage.clientWidth, 560), height = width * H / W, cell = [width / gridColumns, height / gridRows];
  prepare(width, height);
  pen.imageSmoothingEnabled = W > 128;
  pen.filter = 'grayscale(1)';
  pen.drawImage(pixels, 0, 0, width, height);
  pen.filter = 'none';
  const cells = overPatches(map, weights, query), limit = VIEWS.image.scale === 'row' ? largest(cells) || 1 : limitOfQuery();
  const box = place => [place % gridColumns * cell[0], Math.floor(place / gridColumns) * cell[1], ...cell];
  cells.forEach((value, place) => {
    pen.globalAlpha = 0.9 * Math.min(1, Math.abs(value / limit));
    pen.fillStyle = styled(map.isSigned && value > 0 ? 'plus-2' : 'weight-2');
    pen.fillRect(...box(place));
  });
  pen.globalAlpha = 1;
  const skipped = map.keys.length - cells.length, places = [[state.key - skipped, [2, 2]], [over ? over.key - skipped : -1, [3, 2]]];
  if (!map.isCross) places.push([query + map.before - skipped, []]);
  for (const [place, dash] of places) if (place >= 0) for (const [colour, size] of [['page', 4], ['ink', 2]]) {
    pen.strokeStyle = styled(colour);
    pen.lineWidth = size;
    pen.setLineDash(colour === 'ink' ? dash : []);
    pen.strokeRect(...box(place));
  }
  pen.setLineDash([]);
  geometry = { at(x, y) {
    const [row, column] = [Math.floor(y / cell[1]), Math.floor(x / cell[0])];
    return row < 0 || column < 0 || row >= gridRows || column >= gridColumns ? null : { query, key: skipped + row * gridColumns + column };
  } };
}
// The text itself: the background of each key is its weight for the chosen query.
function drawText() {
  const { map, query } = state, row = rowOf(query), limit = limitOfQuery();
  const span = (token, side, index) => {
    const isQuery = side === 'query', colour = isQuery ? null : colourOf(map, row[index] / limit);
    const own = !map.isCross && index === query + map.before, isChosen = isQuery ? index === query : own;
    const names = [isChosen && 'chosen', !isQuery && index === state.key && 'other', isMatch(token) && 'match'].filter(Boolean);
    const element = make('span', { textContent: token.replace(/␣/g, ' '), className: names.join(' ') });
    Object.assign(element.dataset, { side, index });
    if (colour) Object.assign(element.style, { background: css(colour), color: inkOn(colour) });
    return element;
  };
  const part = (title, side, tokens) => make('p', {}, make('b', { className: 'faint', textContent: title }),
    ...tokens.map((token, index) => span(token, side, index)));
  const keys = part(map.isCross ? 'Keys, shaded by weight' : 'Click a token: the others are shaded by its weights on them', 'key', map.keys);
  $('tokens').replaceChildren(...map.isCross ? [part('Queries: click one', 'query', map.queries), keys] : [keys]);
}
const VIEWS = {
  map: { title: 'Map', scale: 'shared', draw: drawMap,
    keys: 'Arrow keys move the cell; + and − zoom, also a drag over the map; Escape shows the whole, then leaves to the heads.' },
  lines: { title: 'Lines', scale: 'shared', draw: drawLines,
    keys: 'Point at a token for its lines, click to keep them; ↑ ↓ choose the query, ← → the key; Escape shows all lines.' },
  text: { title: 'Text', scale: 'row', draw: drawText, keys: '← → choose the query, ↑ ↓ the key.' },
  image: { title: 'Image', scale: 'row', draw: drawOverImage,
    keys: 'Click a patch to make it the query; arrow keys move the patch that is read.' },
};
const isPossible = view => view === 'image' ? Boolean(state.map.grid && about.pixels) : view !== 'text' || !state.map.grid;

// Text about the chosen head and cell.
const tokenText = (tokens, index) => `${index} “${visible(tokens[index])}”`;
const cellText = ({ query, key }) => `${tokenText(state.map.queries, query)} → ${tokenText(state.map.keys, key)}`;
function drawWords() {
  const { map, head, query } = state, S = map.keys.length, row = rowOf(query);
  $('name').textContent = `${map.name}, ${headName(map, head)}`;
  $('note').textContent = [map.set.split(': ')[1], map.note, map.isSigned ? 'signed: blue below 0, orange above' : ''].filter(Boolean).join(' · ');
  const rows = geometry && state.view !== 'image' && state.view !== 'text' ? [geometry.rows.size, geometry.columns.size] : [1, 1];
  const binned = Math.max(...rows) > 1 ? `Cells are the largest of ${rows[0]} × ${rows[1]} weights; zoom in for each. ` : '';
  $('keys').textContent = binned + VIEWS[state.view].keys;
  $('measures').replaceChildren(...Object.entries(map.measures).filter(([, values]) => head < values.length).map(([name, values]) =>
    make('div', {}, make('dt', { textContent: name }), make('dd', { textContent: rounded(values[head], 4) }))));
  $('readout').replaceChildren(`query ${tokenText(map.queries, query)} → key ${tokenText(map.keys, state.key)}: `,
    make('strong', { textContent: written(weightAt(query, state.key)) }));
  const order = Array.from(row.keys()).sort((one, other) => Math.abs(row[other]) - Math.abs(row[one])).slice(0, LISTED);
  const sum = row.reduce((total, weight) => total + weight, 0);
  const listed = S > LISTED ? `the ${LISTED} largest of ${S} weights` : `${S} weights`;
  $('sum').textContent = `Query ${tokenText(map.queries, query)}: ${listed}, which sum to ${fixed(sum, 3)}`;
  const longest = largest(row) || 1;
  $('row').className = map.isSigned ? 'signed' : '';
  $('row').tBodies[0].replaceChildren(...order.map(key => {
    const bar = make('i');
    bar.style.width = `${100 * Math.abs(row[key]) / longest}%`;
    const cells = [key, visible(map.keys[key]), written(row[key]), bar];
    return make('tr', { className: row[key] < 0 ? 'negative' : '' }, ...cells.map(cell => make('td', {}, cell)));
  }));
  const most = VIEWS[state.view].scale === 'row' ? 'each query’s largest' : written(limitOf(map, head, weights));
  $('least').textContent = map.isSigned ? `-${most}` : '0';
  $('most').textContent = most;
  $('legend').classList.toggle('signed', map.isSigned);
}

// Everything anew, once the weights are there; a later call overtakes an earlier one.
let turn = 0;
function paint() {
  const isText = state.view === 'text';
  large.hidden = isText;
  $('tokens').hidden = !isText;
  VIEWS[state.view].draw();
}
async function refresh() {
  const mine = ++turn, { map } = state, found = new Map();
  for (const head of new Set([state.head, ...state.heads])) found.set(head, await weightsOf(map, head));
  if (state.view === 'image' && !pixels) {
    const [H, W] = about.pixels, image = new ImageData(new Uint8ClampedArray(await bytesOf('pixels')), W, H);
    const canvas = make('canvas', { width: W, height: H });
    canvas.getContext('2d').putImageData(image, 0, 0);
    pixels = canvas;
  }
  if (mine !== turn) return;
  [loaded, weights] = [found, found.get(state.head)];
  $('query').value = state.query;
  $('scale').value = VIEWS[state.view].scale;
  $('zooms').hidden = !['map', 'lines'].includes(state.view);
  $('chips').hidden = state.view !== 'lines' || map.most.length < 2;
  for (const chip of $('chips').children) chip.setAttribute('aria-pressed', state.heads.has(Number(chip.value)));
  paint();
  drawWords();
}
function choose(map, head) {
  if (map.most.length === 1) head = 0;  // which is its mean
  const isNew = map.set !== state.map.set, hasOtherTokens = map.queries !== state.map.queries || map.keys !== state.map.keys;
  Object.assign(state, { map, head, heads: new Set([head]) });
  over = null;
  if (hasOtherTokens) Object.assign(state, start(map));
  if (!isPossible(state.view)) state.view = 'map';
  fillControls();
  isNew ? drawHeads() : markHead();
  try { history.replaceState(null, '', `#${map.name}.heads.${head === map.most.length ? 'mean' : head}`); } catch { /* a frame without an address */ }
  return refresh();
}
function reveal([start, end], index) {  // move a range so that a token is in it
  const moved = index < start ? index - start : Math.max(0, index + 1 - end);
  return [start + moved, end + moved];
}
function point(cell) {
  Object.assign(state, cell, { isPinned: true });
  Object.assign(state, { rows: reveal(state.rows, state.query), columns: reveal(state.columns, state.key) });
  if (state.view === 'image' && 'query' in cell) redrawSmall();
  return refresh();
}
function zoom(factor) {
  const around = ([start, end], length, centre) => {
    const size = clamp(Math.round((end - start) * factor), Math.min(length, 8), length);
    const from = clamp(Math.round(centre - size / 2), 0, length - size);
    return [from, from + size];
  };
  state.rows = around(state.rows, state.map.queries.length, state.query);
  state.columns = around(state.columns, state.map.keys.length, state.key);
  return refresh();
}

// Controls.
function fillControls() {
  const { map } = state;
  $('set').value = map.set;
  const choices = Object.keys(VIEWS).filter(isPossible).map(view => {
    const input = make('input', { type: 'radio', name: 'view', value: view, checked: view === state.view });
    input.addEventListener('change', () => { state.view = view; over = null; redrawSmall(); refresh(); });
    return make('label', {}, input, make('span', { textContent: VIEWS[view].title }));
  });
  $('views').replaceChildren($('views').firstElementChild, make('div', { className: 'choices' }, ...choices));
  if ($('query').tokens !== map.queries) $('query').replaceChildren(...map.queries.map((_, index) => new Option(tokenText(map.queries, index), index)));
  $('query').tokens = map.queries;
  $('chips').replaceChildren('lines of heads', ...map.most.map((_, head) => {
    const chip = make('button', { type: 'button', value: head, textContent: head });
    chip.style.setProperty('--head', `var(--head-${head % 6})`);
    chip.style.borderStyle = isDashed(head) ? 'dashed' : 'solid';
    chip.addEventListener('click', () => {
      state.heads.has(head) && state.heads.size > 1 ? state.heads.delete(head) : state.heads.add(head);
      refresh();
    });
    return chip;
  }));
  const names = [...new Set(sets.get(map.set).flatMap(each => Object.keys(each.measures)))];
  $('measured').hidden = !names.length;
  $('under').replaceChildren($('under').firstElementChild, ...names.map(name => new Option(name, name)));
  if (!names.includes(state.under)) state.under = '';
  $('under').value = state.under;
}
for (const [name, maps] of sets) $('set').append(new Option(maps.length > 1 ? `${name}, ${maps.length} layers` : name, name));
$('sets').hidden = sets.size < 2;
$('set').addEventListener('change', () => {
  const [map] = sets.get($('set').value), last = map.most.length - 1;
  choose(map, state.head === state.map.most.length ? last + 1 : Math.min(state.head, last));
});
$('scale').addEventListener('change', () => { VIEWS[state.view].scale = $('scale').value; redrawSmall(); refresh(); });
$('under').addEventListener('change', () => { state.under = $('under').value; drawHeads(); });
$('query').addEventListener('change', () => point({ query: Number($('query').value) }));
document.querySelector('form').addEventListener('submit', event => event.preventDefault());
$('zooms').addEventListener('click', event => event.target.dataset.zoom && zoom(Number(event.target.dataset.zoom)));
$('find').addEventListener('input', () => {
  state.find = $('find').value.trim();
  const count = tokens => tokens.filter(isMatch).length, { map } = state;
  const found = map.isCross ? `${count(map.queries)} queries, ${count(map.keys)} keys` : `${count(map.keys)} found, Enter: next`;
  $('matches').textContent = state.find ? found : '';
  refresh();
});
$('find').addEventListener('keydown', event => {
  const found = state.map.queries.flatMap((token, index) => isMatch(token) ? [index] : []);
  if (event.key === 'Enter' && found.length) point({ query: found.find(index => index > state.query) ?? found[0] });
});

// Pointer and keys on the large map.
let dragged = null;
const placeOf = event => { const box = large.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
function tip(event, cell) {
  $('tip').style.visibility = cell ? 'visible' : 'hidden';
  if (!cell) return;
  const lines = [...state.heads].map(head => {
    const value = written(weightAt(cell.query, cell.key, loaded.get(head)));
    return state.heads.size > 1 ? `${headName(state.map, head)}: ${value}` : value;
  });
  $('tip').textContent = `${cellText(cell)}: ${lines.join(', ')}`;
  const { width, height } = $('tip').getBoundingClientRect();
  const x = clamp(event.clientX + 14, 4, document.documentElement.clientWidth - width - 4);
  $('tip').style.transform = `translate(${x}px, ${Math.max(4, event.clientY - height - 12)}px)`;
}
large.addEventListener('pointermove', event => {
  if (!geometry || !weights) return;
  const [x, y] = placeOf(event), cell = geometry.at(x, y);
  if (dragged) [dragged.toX, dragged.toY] = [x, y];
  over = cell;
  paint();
  tip(event, cell && 'query' in cell && 'key' in cell ? cell : null);
});
large.addEventListener('pointerleave', () => { over = null; $('tip').style.visibility = 'hidden'; if (weights) paint(); });
large.addEventListener('pointerdown', event => {
  const [x, y] = placeOf(event);
  if (event.pointerType === 'mouse' && state.view === 'map') dragged = { x, y, toX: x, toY: y };
});
window.addEventListener('pointerup', event => {
  if (!dragged) return;
  const { x, y } = dragged, [toX, toY] = placeOf(event);
  const ends = [Math.min, Math.max].map(side => geometry.at(side(x, toX), side(y, toY)));
  dragged = null;
  if (Math.abs(toX - x) < 8 || Math.abs(toY - y) < 8 || !ends[0] || !ends[1]) return;
  const part = (range, side) => {
    const [low, high] = ends.map(end => range.of(end[side]));
    return [range.start + low * range.size, Math.min(range.end, range.start + (high + 1) * range.size)];
  };
  Object.assign(state, ends[0], { rows: part(geometry.rows, 'query'), columns: part(geometry.columns, 'key') });
  refresh();
});
large.addEventListener('click', event => {
  const cell = geometry?.at(...placeOf(event));
  if (!cell) return;
  const own = cell.key - state.map.before;
  point(state.view === 'image' && !state.map.isCross ? { query: own, key: cell.key } : cell);
});
$('tokens').addEventListener('click', event => {
  const { side, index } = event.target.dataset, { map } = state;
  const isOwn = side === 'key' && !map.isCross && index >= map.before;
  if (side) point(isOwn ? { query: index - map.before } : { [side]: Number(index) });
});
$('tokens').addEventListener('pointermove', event => {
  const { side, index } = event.target.dataset;
  tip(event, side === 'key' ? { query: state.query, key: Number(index) } : null);
});
$('tokens').addEventListener('pointerleave', () => $('tip').style.visibility = 'hidden');
stage.addEventListener('keydown', event => {
  const { map, view } = state, step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === 'Escape') {
    if (isWhole() && !(view === 'lines' && state.isPinned)) return currentButton()?.focus();
    state.isPinned = false;
    zoom(1e9);
  } else if (['+', '=', '-'].includes(event.key) && !$('zooms').hidden) zoom(event.key === '-' ? 2 : 0.5);
  else if (step) {
    const [down, right] = view === 'text' ? [step[1], step[0]] : step, { rows, columns } = geometry ?? {};
    const moved = (side, by) => ({ [side]: clamp(state[side] + by, 0, map[side === 'query' ? 'queries' : 'keys'].length - 1) });
    const isIn = (range, index) => index >= range.start && index < range.end;
    if (view === 'image') point(moved('key', step[1] + step[0] * map.grid[1]));
    else if (view === 'text') point({ ...moved('query', down), ...moved('key', right) });
    else {
      const cell = { ...moved('query', down * rows.size), ...moved('key', right * columns.size) };
      const isBin = view === 'map' && rows.size * columns.size > 1 && isIn(rows, cell.query) && isIn(columns, cell.key);
      point(isBin ? largestIn(rows, rows.of(cell.query), columns, columns.of(cell.key)) : cell);
    }
  } else return;
  event.preventDefault();
});

matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { readColours(); redrawSmall(); refresh(); });
new ResizeObserver(() => weights && paint()).observe(stage);
readColours();
if (!window.DecompressionStream) $('note').textContent = 'This browser cannot read the weights; one of 2023 or later can.';
if (isPossible('image')) state.view = 'image';
fillControls();
drawHeads();
choose(state.map, state.head);
