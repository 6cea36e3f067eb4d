# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The explorer of attention in a browser: values, pointer, keys, widths, dark mode. Skipped where there is no Chromium.

axe-core judges how accessible it is, where `npm install --no-save axe-core` has put it into this repository.
"""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from saccade.inside import explorer
from saccade.inside.maps import AttentionMap, Explored

CHROMIUM = shutil.which('chromium') or shutil.which('chromium-browser') or shutil.which('google-chrome')
FLAGS = (
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--virtual-time-budget=20000',
    '--dump-dom',
)
DARK = '--blink-settings=preferredColorScheme=0'
AXE = Path(__file__).parents[2] / 'node_modules/axe-core/axe.min.js'
PHONE, DESK = 390, 1280

# What every probe may use; it is in the page, so its functions are at hand. It stands in a frame, for no window can be
# as narrow as a phone.
TOOLS = """
const settle = () => new Promise(done => setTimeout(done, 30)).then(refresh);
const pixel = (x, y) => {
  const ratio = window.devicePixelRatio || 1;
  return [...pen.getImageData(Math.round(x * ratio), Math.round(y * ratio), 1, 1).data].slice(0, 3);
};
const middleOf = wanted => {
  const { width, height } = large.getBoundingClientRect(), found = [];
  for (let y = 1; y < height; y += 2) for (let x = 1; x < width; x += 2) {
    const cell = geometry.at(x, y);
    if (cell && Object.keys(wanted).every(side => cell[side] === wanted[side])) found.push([x, y]);
  }
  return found[Math.floor(found.length / 2)];
};
const send = async (type, wanted) => {
  const [x, y] = middleOf(wanted), box = large.getBoundingClientRect();
  const Kind = type === 'click' ? MouseEvent : PointerEvent;
  large.dispatchEvent(new Kind(type, { clientX: box.left + x, clientY: box.top + y, bubbles: true }));
  await settle();
};
const press = async (target, key) => {
  target.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
  await settle();
};
const pick = async (id, value) => {
  $(id).value = value;
  $(id).dispatchEvent(new Event(id === 'find' ? 'input' : 'change'));
  await settle();
};
const see = async view => { document.querySelector(`input[value=${view}]`).click(); await settle(); };
const text = id => $(id).innerText.trim();
const rows = () => [...$('row').tBodies[0].rows].map(row => [...row.cells].slice(0, 3).map(cell => cell.innerText));
const fits = () => document.documentElement.scrollWidth <= document.documentElement.clientWidth;
const head = (layer, number) =>
  [...$('heads').querySelectorAll('button')].find(each => each.row === layer && each.column === number);
"""
PROBE = """<script>
window.onload = async () => {{
  let seen;
  try {{
    {tools}
    await settle();
    seen = await (async () => {{ {probe} }})();
    const isSerious = each => ['serious', 'critical'].includes(each.impact);
    seen.violations = window.axe ? (await axe.run()).violations.filter(isSerious).map(each => each.id) : null;
    seen.loaded = performance.getEntriesByType('resource').map(entry => entry.name);
  }} catch (error) {{ seen = {{ error: String(error.stack) }}; }}
  parent.postMessage(seen, '*');
}};
</script>"""
FRAME = """<!doctype html><script>onmessage = event => document.title = JSON.stringify(event.data);</script>
<iframe src="{page}" style="border: 0; width: {width}px; height: 2000px"></iframe>"""

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(CHROMIUM is None, reason='there is no Chromium here to look at the page with'),
]


def softmax(*shape, causal=False, seed=0):
    scores = 2 * np.random.default_rng(seed).normal(size=shape)
    shares = np.exp(np.where(np.tri(*shape[-2:]), scores, -np.inf) if causal else scores)
    return (shares / shares.sum(-1, keepdims=True)).astype(np.float32)


TARGET, SOURCE = (
    ('The', 'cat', 'sat', 'on', 'the', 'mat', 'and', 'sat'),
    ('Die', 'Katze', 'saß', 'auf', 'ihr'),
)
SIGNED = np.tril(np.random.default_rng(5).normal(size=(2, 8, 8))).astype(np.float32)
MAPS = (
    AttentionMap('decoder.layers.0.mixer', softmax(3, 8, 8, causal=True), TARGET, TARGET),
    AttentionMap('decoder.layers.1.mixer', softmax(3, 8, 8, causal=True, seed=1), TARGET, TARGET),
    AttentionMap('encoder.layers.0.mixer', softmax(2, 5, 5, seed=2), SOURCE, SOURCE),
    AttentionMap('decoder.layers.1.cross', softmax(2, 8, 5, seed=3), TARGET, SOURCE),
    AttentionMap('linear.layers.0.mixer', SIGNED, TARGET, TARGET, note='implied'),
)
TEXT = Explored('The cat sat', 'runs/a', 1200, MAPS)
MEASURES = {'decoder.layers.1.mixer': {'entropy': np.array([0.5, 1.25, 1.5])}}
LONG = Explored('a ' * 300, 'runs/long', 7, (
    AttentionMap('layers.0.mixer', softmax(2, 300, 300, causal=True), *2 * [tuple(f't{i}' for i in range(300))]),
))  # fmt: skip
PATCHES = ('class', *(f'patch {i},{j}' for i in range(3) for j in range(4)))
IMAGE = Explored('a.png', 'runs/vit', 7, (
    AttentionMap('layers.0.mixer', softmax(2, 13, 13), PATCHES, PATCHES, grid=(3, 4)),
), np.linspace(0, 1, 12 * 16 * 3).reshape(12, 16, 3))  # fmt: skip


def look(explored, probe, folder, width=DESK, *flags, measures=None):
    """Return what a probe sees in the page."""
    page = explorer.page(explored, explored.maps[0], None, measures)
    opened = re.sub('<meta http-equiv="Content-Security-Policy"[^>]*>', '', page)
    assert opened != page
    axe = f'<script>{AXE.read_text()}</script>' if AXE.is_file() else ''
    probe = PROBE.format(tools=TOOLS, probe=probe)
    (folder / 'page.html').write_text(opened.replace('</body>', f'{axe}{probe}</body>'))
    (folder / 'frame.html').write_text(FRAME.format(page=(folder / 'page.html').as_uri(), width=width))
    command = [CHROMIUM, *FLAGS, *flags, f'--user-data-dir={folder / "profile"}', (folder / 'frame.html').as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    title = re.search(r'<title>(.*?)</title>', done.stdout)
    assert title, done.stderr[-2000:]
    seen = json.loads(html.unescape(title[1]))
    assert 'error' not in seen, seen
    return seen


def cell(maps, head, query, key):
    """What the page writes of a weight."""
    tokens = f'query {query} “{maps.queries[query]}” → key {key} “{maps.keys[key]}”'
    return f'{tokens}: {maps.weights[head, query, key]:.4f}'


@pytest.fixture(scope='module', params=[PHONE, DESK], ids=['phone', 'desk'])
def text(request, tmp_path_factory):
    probe = """
    const seen = { values: [], views: {} };
    for (const map of about.maps)
      for (let head = 0; head <= map.most.length; head++) seen.values.push([...await weightsOf(map, head)]);
    seen.title = document.title;
    head(1, 2).click(); await settle();
    seen.clicked = text('name');
    seen.measures = text('measures');
    await send('pointermove', { query: 5, key: 2 });
    seen.hovered = [$('tip').style.visibility, $('tip').textContent];
    large.dispatchEvent(new PointerEvent('pointerleave')); seen.left = $('tip').style.visibility;
    await send('click', { query: 5, key: 2 });
    seen.pointed = text('readout');
    seen.rows = rows();
    const [x, y] = middleOf({ query: 0, key: 0 });
    seen.colours = [pixel(...middleOf({ query: 2, key: 7 })), pixel(x, y + 7), ramps.false[0][0], ramps.false[0][255]];
    stage.focus();
    await press(stage, 'ArrowUp'); await press(stage, 'ArrowRight');
    seen.moved = text('readout');
    await press(stage, '+');
    await press(stage, 'Escape');
    seen.focus = document.activeElement.getAttribute('aria-label');
    await press(head(1, 2), 'ArrowUp'); await press(head(0, 2), 'ArrowRight');
    const stops = document.querySelectorAll('#heads [tabindex="0"]').length;
    seen.arrows = [text('name'), document.activeElement.getAttribute('aria-label'), stops];
    await pick('find', 'SAT');
    seen.found = text('matches');
    await press($('find'), 'Enter'); seen.next = text('readout').split(' →')[0];
    await press($('find'), 'Enter'); seen.nextAgain = text('readout').split(' →')[0];
    seen.sets = [...$('set').options].map(option => option.value);
    await pick('set', 'decoder.cross: cross-attention');
    seen.mean = text('name');
    head(0, 1).click(); await settle();
    await send('click', { query: 3, key: 4 });
    seen.cross = [text('name'), text('note'), text('readout')];
    await pick('set', 'linear.mixer: causal self-attention');
    head(0, 0).click(); await settle();
    await send('click', { query: 7, key: 1 });
    seen.signed = [text('note'), text('readout'), text('least'), text('most'), rows().length];
    head(0, 1).click(); await settle();
    await pick('scale', 'head');
    seen.own = text('most');
    for (const view of ['map', 'lines', 'text']) { await see(view); seen.views[view] = [fits(), large.hidden]; }
    const tokens = () => $('tokens').querySelectorAll('span');
    tokens()[4].click(); await settle();
    seen.shaded = [text('readout').split(' →')[0], tokens().length, $('tokens').querySelector('.chosen').textContent];
    await see('lines');
    $('chips').querySelectorAll('button')[0].click(); await settle();
    seen.chips = [...$('chips').querySelectorAll('button')].map(chip => chip.getAttribute('aria-pressed'));
    await send('pointermove', { query: 2 });
    await send('click', { query: 6 });
    seen.line = text('readout').split(' →')[0];
    seen.fixed = [-0.001, 0, -0.006, 0.994].map(value => fixed(value, 2));
    return seen;"""
    return look(TEXT, probe, tmp_path_factory.mktemp('text'), request.param, measures=MEASURES)


def test_values_are_those_of_the_model(text):
    expected = [head for each in MAPS for head in (*each.weights, each.weights.mean(axis=0))]
    assert len(text['values']) == len(expected)
    for number, (found, head) in enumerate(zip(text['values'], expected, strict=True)):
        is_mean = number in (3, 7, 10, 13, 16)  # summed in another order
        np.testing.assert_allclose(
            np.reshape(found, head.shape), head, rtol=1e-6 if is_mean else 0, atol=1e-7 * is_mean
        )


def test_a_click_chooses_a_head_and_a_cell(text):
    assert text['title'] == 'Attention: The cat sat · runs/a, step 1,200'
    assert text['clicked'] == 'decoder.layers.1.mixer, head 2'
    assert text['measures'].split() == ['entropy', '1.5']
    assert text['pointed'] == cell(MAPS[1], 2, 5, 2)
    row = MAPS[1].weights[2, 5]
    order = np.argsort(-row, kind='stable')
    assert text['rows'] == [[str(key), TARGET[key], f'{row[key]:.4f}' if row[key] else '0.0000'] for key in order]


def test_rounded_values_have_no_negative_zero(text):
    assert text['fixed'] == ['0.00', '0.00', '-0.01', '0.99']


def test_a_value_is_shown_under_the_pointer(text):
    assert text['hovered'] == ['visible', cell(MAPS[1], 2, 5, 2).removeprefix('query ').replace('key ', '')]
    assert text['left'] == 'hidden'


def test_the_colour_of_a_cell_is_that_of_its_weight(text):
    masked, largest, first, last = text['colours']
    assert masked == first == [255, 255, 255]
    assert largest == last == [0x00, 0x26, 0x3F]  # 1, the weight of the first token on itself


def test_keys_move_cells_and_heads_and_lead_back(text):
    assert text['moved'] == cell(MAPS[1], 2, 4, 3)
    assert text['focus'] == 'layer 1, head 2'
    assert text['arrows'] == ['decoder.layers.0.mixer, mean of its heads', 'layer 0, mean of its heads', 1]


def test_tokens_are_found_and_enter_goes_on_to_the_next(text):
    assert text['found'] == '2 found, Enter: next'
    assert [text['next'], text['nextAgain']] == ['query 7 “sat”', 'query 2 “sat”']


def test_every_kind_of_attention_has_a_set_of_layers(text):
    assert text['sets'] == [
        'decoder.mixer: causal self-attention',
        'encoder.mixer: bidirectional self-attention',
        'decoder.cross: cross-attention',
        'linear.mixer: causal self-attention',
    ]
    assert text['mean'] == 'decoder.layers.1.cross, mean of its heads'
    assert text['cross'] == ['decoder.layers.1.cross, head 1', 'cross-attention', cell(MAPS[3], 1, 3, 4)]


def test_negative_weights_have_a_scale_to_both_sides_of_0(text):
    note, readout, least, most, count = text['signed']
    assert note == 'causal self-attention · implied · signed: blue below 0, orange above'
    assert readout == cell(MAPS[4], 0, 7, 1)
    assert (least, most, count) == (f'-{np.abs(SIGNED).max():.4f}', f'{np.abs(SIGNED).max():.4f}', 8)
    assert text['own'] == f'{np.abs(SIGNED[1]).max():.4f}'


def test_there_are_views_as_a_map_lines_and_text_and_none_is_wider_than_the_page(text):
    assert list(text['views'].values()) == [[True, False], [True, False], [True, True]]
    assert text['shaded'] == ['query 4 “the”', 8, 'the']
    assert text['chips'] == ['true', 'true']
    assert text['line'] == 'query 6 “and”'


def test_the_page_loads_nothing(text):
    assert text['loaded'] == []


def test_axe_finds_nothing_serious(text):
    if text['violations'] is None:
        pytest.skip('there is no axe-core here: npm install --no-save axe-core')
    assert text['violations'] == []


def test_dark_pages_have_dark_cells(tmp_path):
    probe = """
    await send('click', { query: 1, key: 1 });
    const colours = [pixel(...middleOf({ query: 2, key: 7 })), ramps.false[0][0]];
    return { page: getComputedStyle(document.body).backgroundColor, colours };"""
    seen = look(TEXT, probe, tmp_path, DESK, DARK)
    assert seen['page'] == 'rgb(20, 22, 26)'
    assert seen['colours'] == 2 * [[20, 22, 26]]
    assert not seen['violations']


@pytest.mark.parametrize('width', [PHONE, DESK])
def test_long_texts_are_in_bins_with_the_largest_weight_and_zoom_shows_each(width, tmp_path, monkeypatch):
    monkeypatch.setattr(explorer, 'EXACT', 1000)
    probe = """
    const { rows, columns } = geometry, start = rows.start + 40 * rows.size;
    const seen = { size: rows.size, count: rows.count, keys: text('keys'), fits: fits() };
    const best = largestIn(rows, 40, columns, 3);
    await send('click', best);
    seen.best = [start, 3 * columns.size, best.query, best.key, text('readout')];
    for (let time = 0; time < 4; time++) { $('zooms').querySelector('button').click(); await settle(); }
    seen.zoomed = [geometry.rows.size, ...state.rows, ...state.columns];
    seen.each = text('keys');
    await press(stage, 'Escape');
    seen.whole = [...state.rows, ...state.columns];
    seen.rounded = text('rounded');
    return seen;"""
    seen = look(LONG, probe, tmp_path, width)
    (one,) = LONG.maps
    size = seen['size']
    assert size > 1
    assert seen['count'] == -(-300 // size)
    assert re.search(f'Cells are the largest of {size} . {size} weights', seen['keys'])
    start, left, query, key, readout = seen['best']
    block = one.weights[0, start : start + size, left : left + size]
    near, most = float(one.weights[0, query, key]), float(one.weights[0, start : start + size].max())
    assert start <= query < start + size
    assert left <= key < left + size
    assert near == pytest.approx(block.max(), abs=0.004 * most)
    shown = float(readout.rpartition(': ')[2])
    assert shown == pytest.approx(near, abs=0.004 * most + 5e-5)
    bin_size, top, bottom, first, last = seen['zoomed']
    assert (bin_size, bottom - top, last - first) == (1, 19, 19)
    assert top <= query < bottom
    assert first <= key < last
    assert 'largest of' not in seen['each']
    assert seen['whole'] == [0, 300, 0, 300]
    assert 'weights in 8 bits' in seen['rounded']
    assert seen['fits']


@pytest.mark.parametrize('width', [PHONE, DESK])
def test_a_patch_of_an_image_is_the_query_when_it_is_clicked(width, tmp_path):
    probe = """
    const seen = { view: state.view, first: text('readout'), fits: fits() };
    await send('pointermove', { key: 1 + 7 });
    seen.hovered = $('tip').textContent;
    await send('click', { key: 1 + 6 });
    seen.clicked = text('readout');
    await press(stage, 'ArrowDown'); await press(stage, 'ArrowLeft');
    seen.moved = text('readout');
    await pick('query', 0);
    seen.back = text('readout');
    return seen;"""
    seen = look(IMAGE, probe, tmp_path, width)
    (one,) = IMAGE.maps
    assert (seen['view'], seen['fits']) == ('image', True)
    assert seen['first'] == cell(one, 0, 0, 0)
    assert seen['hovered'] == cell(one, 0, 0, 8).removeprefix('query ').replace('key ', '')
    assert seen['clicked'] == cell(one, 0, 7, 7)
    assert seen['moved'] == cell(one, 0, 7, 10)
    assert seen['back'] == cell(one, 0, 0, 10)
    assert not seen['violations']


def test_the_browser_lets_our_script_in_and_no_other(tmp_path):
    command = [CHROMIUM, *FLAGS, f'--user-data-dir={tmp_path / "profile"}', (tmp_path / 'a.html').as_uri()]
    TEXT.save(tmp_path / 'a.html')
    shown = subprocess.run(command, capture_output=True, text=True, timeout=300).stdout
    assert 'aria-label="layer 1, head 2"' in shown
    page = (tmp_path / 'a.html').read_text()
    (tmp_path / 'a.html').write_text(page.replace('// Explorer of', '// Another explorer of'))
    refused = subprocess.run(command, capture_output=True, text=True, timeout=300).stdout
    assert 'aria-label="layer 1, head 2"' not in refused
