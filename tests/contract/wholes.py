# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Wholes as subjects of tests: each distinct pair of task and model of the shipped experiments, shrunk, with every part
that can stand in it swapped in turn. Pairs are discovered in `experiments/`, parts in the catalogue.
"""

import contextlib
import copy
import functools
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from discovery import CATALOGUE, rows, uncovered
from routed import feedforwards

from saccade.analysis.catalogue.catalogue import BLOCK, CAUSAL, MASK, NORM, TOKEN_POSITION
from saccade.build import build, load
from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.workdir import Workdir
from saccade.types import IGNORED, UserError

ROOT = Path(__file__).parents[2] / 'experiments'
ROWS, LENGTH, CONTEXT, VOCABULARY, WIDTH, HEADS = 3, 24, 40, 131, 16, 4
ORDINARY = 110  # ids from here on are of ordinary tokens; below are special ones

Spec = dict[str, Any]


class Pair(NamedTuple):
    """Attributes: the uses of the task and of the model; the smallest experiment that has them, of those with masks."""

    task: str
    model: str
    file: Path

    @property
    def name(self) -> str:
        return f'{self.task.partition(":")[2]} {self.model.partition(":")[2]}'


def by_name(name: str) -> Pair:
    """The pair of that name."""
    return next(pair for pair in pairs() if pair.name == name)


@functools.cache
def pairs() -> tuple[Pair, ...]:
    """Every distinct pair of task and model, by the names of files."""
    found: dict[tuple[str, str], tuple[tuple[bool, int], Path]] = {}
    for file in sorted(ROOT.glob('*/*.py')):
        if file.parent.name == 'sweeps' or 'def get_config(' not in file.read_text():
            continue
        config = config_of(file)
        its = [tower for tower, _ in towers(config['model'])]
        if any('embed' in tower for tower in its):
            continue  # pairs are of text; frames, images and others have tests of their own
        unmasked = any('mask' not in block['mixer'] for tower in its for block in blocks(tower))
        size = unmasked, sum(tower['width'] * tower['layers'] for tower in its)
        key = config['task']['use'], config['model']['use']
        if key not in found or size < found[key][0]:
            found[key] = size, file
    return tuple(Pair(*key, file) for key, (_, file) in found.items())


@functools.cache
def config_of(file: Path) -> Spec:
    """The config of an experiment; one that starts from another's model gets the masked LM's."""
    try:
        return load_config(str(file))
    except UserError:
        with tempfile.TemporaryDirectory() as folder:
            Workdir.open(folder, load_config(str(ROOT / 'masked_lm/quickstart.py')))
            (Path(folder) / 'checkpoints').mkdir()
            return {**load_config(str(file), [f'--config.init_from={folder}']), 'init_from': ''}


def towers(model: Spec) -> Iterator[tuple[Spec, bool]]:
    """The towers of a model's spec, at any depth, and whether each is a decoder."""
    if {'block', 'layers', 'width'} <= model.keys():
        yield model, model['use'].endswith(':Decoder')
    for value in model.values():
        if isinstance(value, dict):
            yield from towers(value)


def blocks(tower: Spec) -> list[Spec]:
    return tower['block'] if isinstance(tower['block'], list) else [tower['block']]


def narrow(config: Spec) -> Spec:
    """The config with short rows, and towers of one pattern of 4 narrow heads, without dropout."""
    config = copy.deepcopy(config)
    data, model = config['data'], config['model']
    data['context_length'] = LENGTH
    if 'source_context_length' in data:
        data |= {'source_context_length': LENGTH, 'buckets': []}
    if data['use'].endswith(':Questions'):
        data |= {'longest_question': 6, 'stride': 4}
    for sized in [model, *(model[name] for name in getattr(load(model['use']), 'names', ()))]:
        sized |= {name: CONTEXT for name in ('context_length', 'source_context_length') if name in sized}
    for tower, _ in towers(model):
        length = 2 * CONTEXT  # room for a source and its target in one row
        tower |= {'context_length': length, 'width': WIDTH, 'layers': len(blocks(tower)), 'vocabulary': VOCABULARY}
        tower |= {'run': {'use': 'model.stack:Unrolled'}}
        tower |= {'embedding_width': WIDTH} if tower.get('embedding_width') else {}
        if 'length' in tower['position']:
            tower['position']['length'] = length
    if 'vocabulary' in model:
        model['vocabulary'] = VOCABULARY
    return {**_without_dropout(config), 'dtype': 'float32', 'accumulate': 1, 'batch_size': ROWS, 'backend': 'jit'}


def _without_dropout(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_dropout(item) for item in value]
    if not isinstance(value, dict):
        return value
    sizes = {'dropout': 0.0, 'heads': HEADS, 'head_width': WIDTH // HEADS}
    kept = {name: _without_dropout(item) for name, item in value.items()}
    return kept | {name: size for name, size in sizes.items() if isinstance(kept.get(name), int | float)}


class Swap(NamedTuple):
    """Attributes: the kind and the name of a part, and its spec."""

    kind: str
    name: str
    spec: Spec

    @property
    def continuous(self) -> bool:
        """Whether rounding changes what it makes no more than a little: it makes no choice among scores."""
        return rows(self.spec).continuous

    def into(self, model: Spec) -> Spec:
        """The model with the part in every tower, causal in decoders."""
        model = copy.deepcopy(model)
        for tower, causal in towers(model):
            PLACES[self.kind](tower, self.spec if causal else uncovered(self.spec))
        return model


def _each_block(change: Callable[[Spec, Spec], None]) -> Callable[[Spec, Spec], None]:
    def place(tower: Spec, part: Spec) -> None:
        for block in blocks(tower):
            change(block, part)

    return place


def _norms(tower: Spec, part: Spec) -> None:
    tower['norm'] = part
    for block in blocks(tower):
        block['norm'] = part


def _blocks(tower: Spec, part: Spec) -> None:
    tower['block'] = [
        {**part, **{name: block[name] for name in ('mixer', 'cross', 'feedforward', 'norm') if name in block}}
        for block in blocks(tower)
    ]


PLACES: dict[str, Callable[[Spec, Spec], None]] = {
    'norm': _norms,
    'feedforward': _each_block(lambda block, part: block.update(feedforward=part)),
    'mixer': _each_block(lambda block, part: block.update(mixer=part)),
    'mask': _each_block(lambda block, part: block['mixer'].update(mask=part)),
    'cross': _each_block(lambda block, part: 'cross' in block and block.update(cross=part)),
    'block': _blocks,
    'tokens': lambda tower, part: tower.update(
        position={**part, **({'length': tower['context_length']} if 'length' in part else {})}
    ),
}


def triples(some: Iterable[Pair], kinds: Sequence[str] = tuple(PLACES)) -> list[Any]:
    """Pairs, each with every part of these kinds that has a place in its model, as parameters of a test."""
    return [
        pytest.param(pair, swap, id=f'{pair.name} {swap.kind} {swap.name}')
        for pair in some
        for swap in swaps()
        if swap.kind in kinds and swap.into(model := config_of(pair.file)['model']) != model
    ]


@functools.cache
def swaps() -> tuple[Swap, ...]:
    """Every part that the catalogue finds, in every place of a tower that it may stand in."""
    mixers = CATALOGUE.mixers()
    kinds = {
        'norm': CATALOGUE.specs(NORM),
        'feedforward': feedforwards(CATALOGUE),
        'mixer': mixers,
        'mask': {name: spec if _is_causal(spec) else _causal(spec) for name, spec in CATALOGUE.specs(MASK).items()},
        'cross': {name: uncovered(spec) for name, spec in mixers.items()},
        'block': CATALOGUE.specs(BLOCK),
        'tokens': CATALOGUE.specs(TOKEN_POSITION),
    }
    return tuple(Swap(kind, name, spec) for kind, specs in kinds.items() for name, spec in specs.items())


def _is_causal(mask: Spec) -> bool:
    return build(mask)().lookahead == 0


def _causal(mask: Spec) -> Spec:
    return {'use': 'ops.mask:all_of', 'masks': [mask, CAUSAL]}


def experiment_of(pair: Pair, swap: Swap | None = None) -> Experiment:
    """The shrunk experiment of a pair, with a part swapped in."""
    config = narrow(config_of(pair.file))
    if swap is not None:
        config['model'] = swap.into(config['model'])
    return Experiment.of(config)


def batch_of(experiment: Experiment, filled: Sequence[float] = (1, 3 / 4, 1 / 3)) -> dict[str, jax.Array]:
    """Rows of ordinary tokens, each of which fills a share of its places."""
    like = experiment.data().batch_like(len(filled))
    random = np.random.default_rng(0)
    batch = {name: _drawn(name, leaf, random) for name, leaf in like.items()}
    for prefix in ('', 'source_'):
        tokens = batch.get(prefix.rstrip('_') or 'tokens')
        if tokens is None:
            continue
        T = tokens.shape[-1]
        there = (np.arange(T) < np.array([[int(share * T)] for share in filled])).astype(np.int32)
        if tokens.ndim > 2:  # several texts, each in a row of its own
            there = np.repeat(there[:, None], tokens.shape[1], axis=1)
        if f'{prefix}segments' in batch:
            batch |= {f'{prefix}segments': there, f'{prefix}positions': np.arange(T, dtype=np.int32) * there}
            batch[prefix.rstrip('_') or 'tokens'] = tokens * there
        if not prefix and 'words' in batch:
            batch['words'] = np.arange(1, T + 1, dtype=np.int32) * there
        if not prefix and 'labels' in batch:
            batch['labels'] = np.where(there, batch['labels'], IGNORED)
    return {name: jnp.asarray(leaf) for name, leaf in batch.items()}


def _drawn(name: str, leaf: jax.ShapeDtypeStruct, random: np.random.Generator) -> np.ndarray:
    """Values that a field of a batch may have, by its name."""
    own = {
        'tokens': lambda: random.integers(ORDINARY, VOCABULARY, leaf.shape),
        'source': lambda: random.integers(ORDINARY, VOCABULARY, leaf.shape),
        'noise': lambda: random.integers(ORDINARY, VOCABULARY, leaf.shape),
        'row': lambda: np.arange(leaf.shape[0]),
        'example': lambda: np.arange(leaf.shape[0]),
        'mask': lambda: np.full(leaf.shape, 4),
        'sentinels': lambda: np.tile(5 + np.arange(leaf.shape[-1]) % 90, (leaf.shape[0], 1)),
        'frequency': lambda: np.full(leaf.shape, 0.01),
        'value': lambda: random.normal(size=leaf.shape),
    }
    return np.asarray(own.get(name, lambda: np.zeros(leaf.shape))(), leaf.dtype)


def drawn(experiment: Experiment, batch: Any) -> Any:
    """Parameters of a model away from where they start, so that none of them hides a path by being zero."""
    task, model = experiment.task(), experiment.model()
    shapes = jax.eval_shape(lambda rows: task.init(model, jax.random.key(0), rows), batch)
    random = np.random.default_rng(1)

    def draw(path: Any, leaf: jax.ShapeDtypeStruct) -> jax.Array:
        stacked = any(entry.key.startswith('pattern_') for entry in path)
        scale = leaf.ndim - stacked <= 1
        values = random.normal(1.0 if scale else 0.0, 0.2 if scale else 0.3, leaf.shape)
        return jnp.asarray(np.abs(values) if scale else values, leaf.dtype)

    return jax.tree_util.tree_map_with_path(draw, shapes)


@contextlib.contextmanager
def reported() -> Iterator[dict[str, set[str]]]:
    """What parts report while it is open, by collection, whether or not anybody collects it."""
    seen: dict[str, set[str]] = {}
    sow = nn.Module.sow

    def record(self: nn.Module, col: str, name: str, *rest: Any, **more: Any) -> bool:
        seen.setdefault(col, set()).add(name)
        return sow(self, col, name, *rest, **more)

    with mock.patch.object(nn.Module, 'sow', record):
        yield seen


def named(spec: Any) -> Iterator[str]:
    """The import paths in a spec, at any depth."""
    if isinstance(spec, dict):
        yield from [spec['use']] if 'use' in spec else []
    for inner in spec.values() if isinstance(spec, dict) else spec if isinstance(spec, list) else ():
        yield from named(inner)
