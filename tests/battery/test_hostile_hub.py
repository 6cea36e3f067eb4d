# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Hostile and broken Hugging Face folders, through every launcher that opens one: one line each, nothing executed."""

import importlib.util
import json
import os
import pickle
import struct
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import tokenizers
from safetensors.numpy import save_file

from saccade.data.tokenizer.byte import Byte
from saccade.data.tokenizer.tokenizer import BERT
from saccade.train.process.terminal import in_one_line

TESTS = Path(__file__).parents[1]


def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f'battery_{path.parent.name}_{path.stem}', path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


sys.path.append(str(TESTS / 'launch'))  # where the launchers' tests find what runs them
_HUB, _LAUNCH = _module(TESTS / 'hub/conftest.py'), _module(TESTS / 'launch/conftest.py')
_VOCABULARY = 300
_D, _F, _R = 12, 20, 8
_T5 = {
    'model_type': 't5',
    'd_model': _D,
    'd_kv': 4,
    'd_ff': _F,
    'num_layers': 2,
    'num_heads': 3,
    'n_positions': 64,
    'decoder_start_token_id': 0,
    'relative_attention_num_buckets': _R,
    'feed_forward_proj': 'relu',
}


def _t5_shapes(config: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {'shared.weight': (config['vocab_size'], _D)}
    for tower, parts in (('encoder', ['SelfAttention']), ('decoder', ['SelfAttention', 'EncDecAttention'])):
        shapes |= {f'{tower}.block.0.layer.0.SelfAttention.relative_attention_bias.weight': (_R, 3)}
        shapes |= {f'{tower}.final_layer_norm.weight': (_D,)}
        for layer in range(2):
            stem, last = f'{tower}.block.{layer}.layer', len(parts)
            shapes |= {
                f'{stem}.{at}.{part}.{name}.weight': (_D, _D) for at, part in enumerate(parts) for name in 'qkvo'
            }
            shapes |= {f'{stem}.{at}.layer_norm.weight': (_D,) for at in range(last + 1)}
            shapes |= {f'{stem}.{last}.DenseReluDense.{name}.weight': shape for name, shape in _INNER.items()}
    return shapes


_INNER = {'wi': (_F, _D), 'wo': (_D, _F)}


@dataclass(frozen=True)
class Kind:
    """A kind of model. Attributes: its config; the shapes of its tensors; what the config calls two settings."""

    config: Mapping[str, Any]
    shapes: Callable[[Mapping[str, Any]], dict[str, tuple[int, ...]]]
    layers: str
    activation: str


KINDS = {
    'gpt2': Kind({**_HUB.GPT2, 'n_positions': 64}, _HUB.gpt2_shapes, 'n_layer', 'activation_function'),
    'bert': Kind({**_HUB.BERT, 'max_position_embeddings': 64}, _HUB.bert_shapes, 'num_hidden_layers', 'hidden_act'),
    'classifier': Kind(
        {**_HUB.BERT, 'max_position_embeddings': 64, 'architectures': ['BertForSequenceClassification']},
        lambda config: (
            _HUB.bert_shapes(config) | {'classifier.weight': (2, config['hidden_size']), 'classifier.bias': (2,)}
        ),
        'num_hidden_layers',
        'hidden_act',
    ),
    't5': Kind(_T5, _t5_shapes, 'num_layers', 'feed_forward_proj'),
}


class Executed:
    """What opening its pickle would execute."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


class Victim:
    """A folder that is right, to be spoilt."""

    def __init__(self, kind: Kind, path: Path) -> None:
        self.kind, self.path, self.sentinel = kind, path, path.parent / 'executed'
        path.mkdir(parents=True)
        self.config = {**kind.config, 'vocab_size': _VOCABULARY}
        random = np.random.default_rng(0)
        shapes = kind.shapes(self.config)
        self.tensors = {name: random.normal(0.1, 0.4, shape).astype(np.float32) for name, shape in shapes.items()}
        self.tokenizer = Byte(end='<|endoftext|>', specials=BERT).train([]).backend.to_str()
        self.write()

    def write(self, **changes: Any) -> None:
        """Write it, with other settings in its config."""
        (self.path / 'config.json').write_text(json.dumps({**self.config, **changes}))
        (self.path / 'tokenizer.json').write_text(self.tokenizer)
        save_file(self.tensors, self.weights)

    @property
    def weights(self) -> Path:
        return self.path / 'model.safetensors'

    @property
    def pickled(self) -> bytes:
        return pickle.dumps(Executed(self.sentinel))

    def put_code(self) -> None:
        """Put code beside it, and a pickle of weights, which tell when they are executed."""
        code = f'import pathlib\npathlib.Path({str(self.sentinel)!r}).touch()\nclass Mine: ...\n'
        for name in ('modeling_mine', 'configuration_mine', 'evil', 'tokenization_mine', '__init__', 'setup'):
            (self.path / f'{name}.py').write_text(code)
        (self.path.parent / 'evil.py').write_text(code)
        (self.path / 'pytorch_model.bin').write_bytes(self.pickled)
        (self.path / 'training_args.bin').write_bytes(self.pickled)

    def put_header(self, header: Any, length: int | None = None, data: bytes = b'') -> None:
        text = header if isinstance(header, bytes) else json.dumps(header).encode()
        self.weights.write_bytes(struct.pack('<Q', len(text) if length is None else length) + text + data)

    def put_index(self, shard: str) -> None:
        """An index that finds each tensor in this file, where there is one."""
        where = self.path.parent / 'outside.safetensors'
        self.weights.rename(where)
        index = {'weight_map': dict.fromkeys(self.tensors, shard.format(outside=where))}
        (self.path / 'model.safetensors.index.json').write_text(json.dumps(index))

    def spoil(self, value: float) -> None:
        self.tensors[max(self.tensors)].flat[-1] = value
        self.write()

    def relink(self, name: str) -> None:
        (self.path / name).unlink()
        (self.path / name).symlink_to(name)


def pickle_alone(it: Victim) -> None:
    it.weights.unlink()
    (it.path / 'pytorch_model.bin').write_bytes(it.pickled)


def pickle_as_weights(it: Victim) -> None:
    it.weights.write_bytes(it.pickled)


def pickle_as_config(it: Victim) -> None:
    (it.path / 'config.json').write_bytes(it.pickled)


def model_of_its_own_code(it: Victim) -> None:
    it.put_code()
    it.write(model_type='mine', auto_map={'AutoModel': 'modeling_mine.Mine', 'AutoConfig': 'configuration_mine.Mine'})


def model_type_as_a_path(it: Victim) -> None:
    it.put_code()
    it.write(model_type='../../evil')


def model_type_as_a_name_to_import(it: Victim) -> None:
    it.put_code()
    it.write(model_type='evil:Mine')


def activation_as_a_name_to_import(it: Victim) -> None:
    it.put_code()
    it.write(**{it.kind.activation: 'evil:Mine'})


def part_in_place_of_a_setting(it: Victim) -> None:
    it.put_code()
    it.write(vocab_size={'use': 'evil:Mine'})


def two_tensors_of_one_name(it: Victim) -> None:
    entry = '{"dtype":"F32","shape":[1],"data_offsets":[0,4]}'
    it.put_header(f'{{"a":{entry},"a":{entry}}}'.encode(), data=bytes(4))


def tokenizer_with(it: Victim, backend: tokenizers.Tokenizer) -> None:
    (it.path / 'tokenizer.json').write_text(backend.to_str())


def ids(it: Victim, first: int) -> None:
    """A tokenizer whose ids begin there."""
    text = json.loads(it.tokenizer)
    text['model']['vocab'] = {token: first + number for number, token in enumerate(text['model']['vocab'])}
    text['added_tokens'] = [{**token, 'id': first + token['id']} for token in text['added_tokens']]
    (it.path / 'tokenizer.json').write_text(json.dumps(text))


def pipe(it: Victim, name: str) -> None:
    (it.path / name).unlink(missing_ok=True)
    os.mkfifo(it.path / name)


def endless(it: Victim, name: str) -> None:
    (it.path / name).unlink(missing_ok=True)
    (it.path / name).symlink_to('/dev/zero')


def change(it: Victim, **parts: Any) -> None:
    """A tokenizer with other parts."""
    (it.path / 'tokenizer.json').write_text(json.dumps(json.loads(it.tokenizer) | parts))


_TEMPLATE = {
    'type': 'TemplateProcessing',
    'single': [{'SpecialToken': {'id': '[X]', 'type_id': 0}}, {'Sequence': {'id': 'A', 'type_id': 0}}],
    'pair': [{'Sequence': {'id': 'A', 'type_id': 0}}, {'Sequence': {'id': 'B', 'type_id': 0}}],
}
_DEEP = 100_000 * '[' + 100_000 * ']'
_ENTRY = {'dtype': 'F32', 'shape': [2], 'data_offsets': [0, 8]}
REFUSED: dict[str, Callable[[Victim], Any]] = {
    **{each.__name__.replace('_', ' '): each for each in (
        pickle_alone, pickle_as_weights, pickle_as_config, model_of_its_own_code, model_type_as_a_path,
        model_type_as_a_name_to_import, activation_as_a_name_to_import, part_in_place_of_a_setting,
        two_tensors_of_one_name,
    )},
    'index that leads out': lambda it: it.put_index('../outside.safetensors'),
    'index with an absolute path': lambda it: it.put_index('{outside}'),
    'index nested too deep': lambda it: (
        it.weights.unlink(), (it.path / 'model.safetensors.index.json').write_text(_DEEP)
    ),
    'NaN': lambda it: it.spoil(np.nan),
    'infinity': lambda it: it.spoil(-np.inf),
    'header of 2**63 bytes': lambda it: it.put_header({}, length=2**63),
    'header that is not JSON': lambda it: it.put_header(b'not JSON'),
    'header nested too deep': lambda it: it.put_header(_DEEP.encode()),
    'header beyond the file': lambda it: it.put_header({'a': {**_ENTRY, 'data_offsets': [0, 2**40]}}, data=bytes(8)),
    'header of a huge shape': lambda it: it.put_header({'a': {**_ENTRY, 'shape': [2**40, 2**40]}}, data=bytes(8)),
    'header of a type there is not': lambda it: it.put_header({'a': {**_ENTRY, 'dtype': 'PICKLE'}}, data=bytes(8)),
    'weights cut short': lambda it: it.weights.write_bytes(it.weights.read_bytes()[:-9]),
    'weights that are empty': lambda it: it.weights.write_bytes(b''),
    'config nested too deep': lambda it: (it.path / 'config.json').write_text(_DEEP),
    'config with a deep setting': lambda it: it.write(vocab_size=json.loads(900 * '[' + 900 * ']')),
    'config of a list': lambda it: (it.path / 'config.json').write_text('[]'),
    'vocabulary of 10**12': lambda it: it.write(vocab_size=10**12),
    'vocabulary of another size': lambda it: it.write(vocab_size=_VOCABULARY + 1),
    'vocabulary below zero': lambda it: it.write(vocab_size=-300),
    '10**9 layers': lambda it: it.write(**{it.kind.layers: 10**9}),
    'no layers': lambda it: it.write(**{it.kind.layers: 0}),
    'config linked to itself': lambda it: it.relink('config.json'),
    'weights linked to themselves': lambda it: it.relink('model.safetensors'),
    'config that is a pipe': lambda it: pipe(it, 'config.json'),
    'config linked to /dev/zero': lambda it: endless(it, 'config.json'),
    'weights that are a pipe': lambda it: pipe(it, 'model.safetensors'),
    'weights linked to /dev/zero': lambda it: endless(it, 'model.safetensors'),
}  # fmt: skip
# These are refused where text is read.
TOKENIZERS: dict[str, Callable[[Victim], Any]] = {
    'tokenizer that is empty': lambda it: tokenizer_with(it, tokenizers.Tokenizer(tokenizers.models.BPE())),
    'tokenizer with ids beyond': lambda it: ids(it, _VOCABULARY),
    'tokenizer with huge ids': lambda it: ids(it, 2**31),
    'tokenizer nested too deep': lambda it: (it.path / 'tokenizer.json').write_text(_DEEP),
    'tokenizer that is a pickle': lambda it: (it.path / 'tokenizer.json').write_bytes(it.pickled),
    'tokenizer that is a pipe': lambda it: pipe(it, 'tokenizer.json'),
    'tokenizer linked to /dev/zero': lambda it: endless(it, 'tokenizer.json'),
    'tokenizer settings linked to /dev/zero': lambda it: endless(it, 'tokenizer_config.json'),
    'tokenizer that panics when it is read': lambda it: change(
        it, normalizer={'type': 'Precompiled', 'precompiled_charsmap': 'AAAA'}
    ),
    'tokenizer that panics when it encodes': lambda it: change(
        it, post_processor={**_TEMPLATE, 'special_tokens': {}}
    ),
    'tokenizer that expands a letter': lambda it: change(
        it, normalizer={'type': 'Replace', 'pattern': {'String': 'a'}, 'content': 100_000 * 'b'}
    ),
    'tokenizer cut short': lambda it: (it.path / 'tokenizer.json').write_text(it.tokenizer[:-99]),
    'tokenizer of its own code': lambda it: (
        it.put_code(), (it.path / 'tokenizer.json').write_text('{"auto_map": {"AutoTokenizer": "tokenization_mine"}}')
    ),
}  # fmt: skip
# These hold no more than a folder may: they are opened, and what stands beside is left alone.
OPENED: dict[str, Callable[[Victim], Any]] = {
    'code and pickles beside': lambda it: (it.put_code(), it.write(auto_map={'AutoModel': 'modeling_mine.Mine'})),
    'parts in settings that are not read': lambda it: (it.put_code(), it.write(use='evil:Mine', task={'use': 'os:x'})),
}
_FOLDERS = ('folder', 'x[red] [/b]', '$(touch executed); x', '--help', 'a\nb\x1b[2J')

_TEXTS = TESTS.parent / 'docs/results/costs.csv'  # any file with columns
_QUICKSTART = TESTS.parent / 'experiments/causal_lm/quickstart.py'
_TRAINING = [each for each in _LAUNCH.SMALL if not each.startswith('--config.model') and 'steps' not in each]
LAUNCHERS: dict[str, tuple[str, tuple[str, ...]]] = {
    'generate': ('gpt2', ('--init_from={}', '--prompt=def ', '--max_tokens=2')),
    'params': ('gpt2', ('--init_from={}',)),
    'translate': ('t5', ('--init_from={}', '--text=a dog')),
    'fill_mask': ('bert', ('--init_from={}', '--text=a [MASK]')),
    'embed': ('bert', ('--init_from={}', '--text=a', '--text=b')),
    'search': ('bert', ('--init_from={}', '--corpus=text.txt', '--index=index', '--query=a')),
    'predict': ('classifier', ('--init_from={}', '--text=a')),
    'probe': ('bert', ('--init_from={}', f'--data={_TEXTS}', '--text=layer', '--label=length')),
    'train': (
        'gpt2',
        (
            f'--config={_QUICKSTART}', '--workdir=run', '--config.init_from={}', '--config.inherit=model',
            '--config.steps=3', '--config.data.path=text.txt', *_TRAINING,
        ),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Battery:
    """Attributes: folder for all; a launcher, the kind of model that it is given, and its arguments."""

    folder: Path
    launcher: str
    kind: Kind
    arguments: tuple[str, ...]

    def run(self, place: str, spoil: Callable[[Victim], Any]) -> str:
        """Say how the launcher took a folder that was spoilt."""
        here = self.folder / str(len(os.listdir(self.folder)))
        victim = Victim(self.kind, here / place)
        spoil(victim)
        (here / 'text.txt').write_text(400 * 'the model reads a token and writes another ')
        outputs = [here / name for name in ('out', 'err')]
        command = [str(TESTS.parent / f'launch/{self.launcher}.py'), *(each.format(place) for each in self.arguments)]
        try:
            status = _LAUNCH.forked.run(
                command, here, {**os.environ, 'SACCADE_CACHE': str(self.folder / 'cache')}, outputs
            )
        except TimeoutError:
            return 'hang'
        return 'executed' if victim.sentinel.exists() else _taken(place, status, outputs[1].read_text())


def _taken(place: str, status: int, said: str) -> str:
    if status == 0:
        return 'accepted'
    if 'Traceback' in said or status < 0:
        return 'traceback'
    is_line = status == 2 and said.startswith('error: ') and said.count('\n') == 1 and '\x1b' not in said
    names_it = in_one_line(place) in said or 'tokenizer' in said
    return 'clear' if is_line and names_it and len(said) < 1500 else 'unclear'


@pytest.mark.long
@pytest.mark.parametrize('launcher', LAUNCHERS)
def test_every_folder_is_refused_in_one_line_and_none_is_executed(tmp_path, capsys, launcher):
    kind, arguments = LAUNCHERS[launcher]
    battery = Battery(tmp_path, launcher, KINDS[kind], arguments)
    spoilt = REFUSED if launcher == 'params' else REFUSED | TOKENIZERS
    found = {
        name: battery.run(_FOLDERS[number % len(_FOLDERS)], spoil)
        for number, (name, spoil) in enumerate(spoilt.items())
    }
    opened = {name: battery.run(place, spoil) for place, (name, spoil) in zip(_FOLDERS, OPENED.items(), strict=False)}
    counts = Counter(found.values())
    with capsys.disabled():
        print(f'\n{launcher:10} {len(found)} hostile folders: {dict(counts)}; {len(opened)} to be opened: {opened}')
    assert {name: how for name, how in found.items() if how != 'clear'} == {}
    assert set(opened.values()) == {'accepted'}
