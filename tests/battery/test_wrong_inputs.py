# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Wrong inputs to every launcher: flags, overrides, config files, sweep files, data, run folders.

Each is answered by one line on standard error that names what is wrong, and exit status 2. A case is a launcher, its
arguments, and words of that line.
"""

import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pytest

TESTS = Path(__file__).parents[1]
sys.path.append(str(TESTS / 'launch'))
import forked  # noqa: E402

pytestmark = pytest.mark.long

ROOT = TESTS.parent
LANGUAGE, MASKED = (f'{ROOT}/experiments/{name}/quickstart.py' for name in ('causal_lm', 'masked_lm'))
PAIRS = f'{ROOT}/experiments/translation/dates.py'
TEXTS = f'{ROOT}/docs/results/costs.csv'  # any file with columns
# Launchers with the flags that each needs; {run} is a finished run, {new} a folder that is not there.
READ_RUNS = {
    'predict': ('--text=x',),
    'probe': (f'--data={TEXTS}', '--text=layer', '--label=length'),
    'decompose': (),
    'embed': ('--text=a token',),
    'evaluate': (),
    'export': ('--out={new}',),
    'fill_mask': ('--text=a [MASK]',),
    'generate': (),
    'inside': (),
    'params': (),
    'search': (f'--corpus={ROOT}/README.md', '--query=a token', '--index={new}'),
    'translate': ('--text=a token',),
    'zero_shot': ('--split=validation',),
}
READ_CONFIGS = {
    'fields': (),
    'inside': (),
    'params': (),
    'preflight': (),
    'scaling': (),
    'slurm': ('--workdir={new}', '--slurm=time=5'),
    'sweep': ('--workdir={new}', f'--sweep={ROOT}/experiments/sweeps/heads.py'),
    'tpu': ('--workdir={new}', '--slice=v5litepod-16', '--zone=a', '--dry_run'),
    'train': ('--workdir={new}',),
}
WITHOUT_EITHER = {
    'claims': ('--what=gradient',),
    'five_steps': (),
    'report': ('--workdir={new}',),
    'suite': ('--workdir={new}', f'--suite={ROOT}/experiments/suites/standing.py', '--dry_run'),
    'variants': (),
}
# Launchers that ask what kind of model {run} has before they look for anything else, and what they say of it.
OTHER_KIND = {'predict': r'it is for \S*launch/generate\.py', 'decompose': 'not a sequence-to-sequence model'}
LAUNCHERS = {**READ_RUNS, **READ_CONFIGS, **WITHOUT_EITHER}
# So narrow that what is found after tracing is found soon.
SMALL = ('layers=1', 'width=32', 'block.mixer.heads=2', 'vocabulary=300')
FIELDS = (
    'data.context_length=16',
    'batch_size=4',
    'steps=2',
    'schedule.warmup=1',
    'eval_batches=1',
    'checkpoint_every=1',
    'sample.tokens=4',
)
DAMAGED = ('without_checkpoints', 'checkpoint_is_a_file', 'metrics_is_a_folder')
MIXER, RULE = 'model.block.mixer', 'optimizer.rule'


class Case(NamedTuple):
    """Attributes: launcher; arguments, in which names in braces stand for paths; words of the message."""

    launcher: str
    arguments: tuple[str, ...]
    words: str


def flags_of(launcher: str) -> Iterator[tuple[str, str, str]]:
    """The kind, the name and the rest of the definition of each flag."""
    yield from re.findall(r"flags\.DEFINE_(\w+)\(\s*'(\w+)'(.*)", (ROOT / f'launch/{launcher}.py').read_text())


def flag_cases() -> Iterator[Case]:
    for launcher, needed in LAUNCHERS.items():
        yield Case(launcher, ('--nonsense=1',), '--nonsense')
        yield Case(launcher, (*needed, 'hello'), "'hello'")
        for kind, name, rest in flags_of(launcher):
            if kind in ('integer', 'float', 'bool', 'enum', 'multi_integer', 'multi_enum'):
                yield Case(launcher, (f'--{name}=nonsense',), name)
            bound = re.search(r"', (\d+)(?:, .*)?\)|lower_bound=(\d+)\)", rest)
            if kind == 'integer' and bound:
                yield Case(launcher, (f'--{name}={int(bound[1] or bound[2]) - 1}',), name)
    for launcher in sorted(READ_RUNS.keys() | {'report', 'five_steps', 'variants', 'claims'} - READ_CONFIGS.keys()):
        if launcher not in READ_CONFIGS:
            yield Case(launcher, (*LAUNCHERS[launcher], '--config.model.width=3'), 'config.model.width')
    for launcher in sorted(set(LAUNCHERS) - {'five_steps', 'variants'}):
        yield Case(launcher, (), 'give ')


LONG = 'x' * 300  # longer than the name of any file


def path_cases() -> Iterator[Case]:
    """A name that no file can have, for each flag whose description speaks of a file or a folder."""
    for launcher, needed in LAUNCHERS.items():
        given = {**dict.fromkeys(READ_RUNS, '--workdir={run}'), **dict.fromkeys(READ_CONFIGS, f'--config={LANGUAGE}')}
        text = (ROOT / f'launch/{launcher}.py').read_text()
        for name, meaning in re.findall(r"flags\.DEFINE_\w*string\(\s*'(\w+)',\s*[^,]+,\s*(.*)", text):
            if re.search(r'[Ff]ile|[Ff]older|directory or', meaning):
                others = (given[launcher],) if launcher in given and name not in ('workdir', 'init_from') else ()
                words = f'--{name}|xxx|{OTHER_KIND.get(launcher, "xxx")}'
                yield Case(launcher, (*others, *needed, f'--{name}={LONG}'), words)


CONFIG_FILES: Mapping[str, tuple[str | bytes, str]] = {
    'empty.py': ('', 'defines no get_config'),
    'syntax.py': ('def get_config(:', 'line 1'),
    'returns_none.py': ('def get_config(): pass', 'not None'),
    'returns_text.py': ('def get_config(): return "model"', "not 'model'"),
    'needs.py': ('def get_config(size): return {}', 'needs size'),
    'cyclic.py': ('def get_config():\n    config = {}\n    config["a"] = config\n    return config', 'contains itself'),
    'deep.py': (
        'def get_config():\n    config = []\n    for _ in range(5000): config = [config]\n    return {"a": config}',
        'nested',
    ),
    'numbers.py': ('def get_config(): return {"model": {1: 2}}', 'text, not 1'),
    'brackets.py': (f'x = {"[" * 3000}', 'brackets.py'),
    'binary.py': (bytes(range(128, 256)) * 8, 'binary.py'),
    'nul.py': (b'def get_config():\0 pass', 'null bytes'),
    'imports.py': ('import not_installed_anywhere', 'not_installed_anywhere'),
    'number.py': ('get_config = 3', 'defines no get_config'),
    'exits.py': ('import sys\nsys.exit(0)', 'exits the program'),
    'exits_later.py': ('import sys\ndef get_config(): sys.exit(0)', 'exits the program'),
    'lacks.py': ('def get_config(): return {"seed": 0}', 'missing'),
    'inherits_a_number.py': ('def get_config(): return {"inherit": 3}', 'config.inherit: must be text, not 3'),
    'from_a_number.py': (
        'def get_config(): return {"inherit": "model", "init_from": 3}',
        'config.init_from: must be text, not 3',
    ),
    'config.json': ('{"seed": ', 'not JSON'),
    'lacks.json': ('{"seed": 0}', 'missing'),
    'null.json': ('{"seed": null}', 'config.seed'),
    'list.yaml': ('- seed', 'it must hold the fields of a config'),
    'open.yaml': ('seed: [1', 'not YAML'),
}


def config_cases() -> Iterator[Case]:
    for name, (_, words) in CONFIG_FILES.items():
        yield Case('train', (f'--config={{files}}/{name}', '--workdir={new}'), words)
    for path in ('{files}/not_there.py', '{files}', '{files}/empty.py/x.py', 'x' * 253, '/proc/self/mem', '\udcff.py'):
        yield Case('train', (f'--config={path}', '--workdir={new}'), '--config=')
    for launcher, needed in READ_CONFIGS.items():
        for name in ('not_there.py', 'config.json', 'returns_none.py', 'syntax.py', 'cyclic.py', 'lacks.py'):
            if (launcher, name) != ('fields', 'lacks.py'):  # which only shows it
                yield Case(
                    launcher,
                    (*needed, f'--config={{files}}/{name}'),
                    name if name != 'lacks.py' else 'missing|no field',
                )


# Fields of the language model's config, with values that they do not have; and words of the refusal.
OF_EXPERIMENT = {
    'seed': ['-1', '2.5', str(2**64), 'x', '9' * 6000],
    'steps': ['0', '-3', 'many', '1e9', '9' * 400, '[1]'],
    'batch_size': ['0', '-1', 'x', '1.5'],
    'log_every': ['-1', 'x'],
    'eval_every': ['-1'],
    'checkpoint_every': ['-1'],
    'eval_batches': ['-1'],
    'keep_last': ['0'],
    'keep_best': ['-1'],
    'accumulate': ['0', '3'],
    'ema': ['1.0', '-0.1', '1e999', 'x'],
    'backend': ['tpu', '3'],
    'dtype': ['float16', 'int8'],
    'eval_lengths': ['[0]', '[-1]', "['x']", '3'],
    'mesh': ['3', "{'data': 'x'}", '[' * 5000],
    'task': ['3', '{}', "{'use': 'task.causal_lm:Nothing'}", "{'use': 'nowhere:X'}", "{'use': 3}"],
    'model': ['3', "{'use': 'norm.rms:RMSNorm'}", "{'use': 'model.decoder'}"],
    'data': ['3', "{'use': 'model.decoder:Decoder'}"],
    'optimizer': ['3', "{'use': 'optax:scale_by_adam'}"],
    'schedule': ['3', "{'use': 'optax:constant_schedule', 'value': 1.0}"],
    'logging': ["[{'use': 'os:system', 'command': 'touch executed'}]", "[{'use': 'norm.rms:RMSNorm'}]", '3'],
    'low_rank': ["{'use': 'train.low_rank:LowRank', 'rank': 0, 'alpha': 1.0}", "{'use': 'optax:adam'}"],
    'adapt': ["{'use': 'train.init.partial:body'}", '3'],
    'init_from': ['{files}/not_there', '{files}'],
    'inherit': ['nowhere.x'],
    'init_part': ['teacher'],
    'nonsense': ['3'],
    'task.label_smoothing': ['1.0', '-0.1', 'x'],
    'task.nonsense': ['3'],
    'model.layers': ['0', '-1', '1.5', 'x', str(2**40)],
    'model.width': ['0', '-8', '33', 'None'],
    'model.vocabulary': ['0', '2', 'x'],
    'model.passes': ['0'],
    'model.dropout': ['1.0', '-0.5', 'x'],
    'model.embedding_scale': ['0', '-1'],
    'model.logit_scale': ['0'],
    'model.logit_cap': ['0.0', '-1'],
    'model.block': ['3', '[]', "{'use': 'norm.rms:RMSNorm'}", "{'use': " * 3000],
    'model.nonsense': ['3'],
    'model.norm': ["{'use': 'norm.group:GroupNorm', 'groups': 0}", "{'use': 'norm.group:GroupNorm', 'groups': 5}"],
    'model.embedding_init': ["{'use': 'jax.nn:gelu'}", "{'use': 'jax.nn:nothing'}", '3'],
    f'{MIXER}.heads': ['0', '-2', '5', 'x'],
    f'{MIXER}.key_value_heads': ['0', '3'],
    f'{MIXER}.head_width': ['0', '-1'],
    f'{MIXER}.scale': ['0', '-1', 'x'],
    f'{MIXER}.mask': ["{'use': 'ops.mask:Window', 'left': -3}", "{'use': 'ops.mask:Full'}", '3'],
    f'{MIXER}.terms': [
        "[{'use': 'ops.term:Softcap', 'cap': 0}]",
        "[{'use': 'ops.term:LinearBias', 'slopes': [0.1]}]",
        '3',
    ],
    f'{MIXER}.kernel': [
        "{'use': 'attention.plain:Plain', 'dropout': 1.0}",
        "{'use': 'attention.plain:Plain', 'query_chunks': 0}",
        "{'use': 'attention.blockwise:Blockwise', 'key_block': 0}",
        "{'use': 'attention.linear:Linear', 'feature': 'nothing'}",
        "{'use': 'attention.plain:Nothing'}",
    ],
    f'{MIXER}.position': [
        "{'use': 'position.rotary:Rotary', 'scaling': {'use': 'ops.rotary:linear'}}",
        "{'use': 'position.rotary:Rotary', 'scaling': {'use': 'ops.rotary:linear', 'factor': -1}}",
        "{'use': 'position.rotary:Rotary', 'scaling': {'use': 'ops.rotary:yarn', 'truncate': True}}",
        "{'use': 'position.rotary:Rotary', 'share': 2.0}",
        "{'use': 'position.rotary:Rotary', 'base': 0}",
    ],
    'model.block.feedforward.activation': ["{'use': 'os:getcwd'}", "{'use': 'jax.nn:nothing'}", '3'],
    'model.block.feedforward.activation.x': ['2'],
    'model.block.feedforward.ratio': ['0', '-1', '0.001'],
    'model.block.feedforward.dropout': ['1.0'],
    'optimizer.weight_decay': ['-0.1', 'x', '1e999'],
    'optimizer.clip_norm': ['0', '-1'],
    'optimizer.no_decay': ['('],
    'optimizer.rates': [
        "{'use': 'train.rates:LayerWise', 'decay': 1.5}",
        "{'use': 'train.rates:Frozen', 'match': '('}",
    ],
    f'{RULE}.b1': ['2.0', '1.0', '-0.1'],
    f'{RULE}.b2': ['-1', '1.5'],
    f'{RULE}.eps': ['-1e-8'],
    RULE: [
        "{'use': 'train.optimizer:muon', 'momentum': 1.5}",
        "{'use': 'optax:sgd'}",
        "{'use': 'optax:cosine_decay_schedule', 'init_value': 1.0, 'decay_steps': 3}",
        "{'use': 'optax:scale_by_nothing'}",
    ],
    'schedule.peak': ['0', '-1', 'x', '1e999'],
    'schedule.floor': ['-1', '1.0'],
    'schedule.warmup': ['-1', '100000'],
    'data.context_length': ['0', '-1', 'x'],
    'data.path': ['{files}/not_there.txt'],
    'data.tokenizer': ['3', "{'use': 'data.tokenizer.tokenizer:Nothing'}"],
    'data.nonsense': ['3'],
}


def override_cases() -> Iterator[Case]:
    small = ('data.path={text}', *(f'model.{size}' for size in SMALL))
    train = ('--workdir={new}', f'--config={LANGUAGE}', *(f'--config.{override}' for override in small))
    for field, values in OF_EXPERIMENT.items():
        for value in values:
            # Of a part that is swapped the message may name what is wrong in it.
            named = re.findall(r"(?:'(?:[\w.]*:)?|{files}/)(\w+)", value)
            words = '|'.join({field.rpartition('.')[2], *named} - {'use'})
            yield Case('train', (*train, f'--config.{field}={value}'), words)
    for arguments, words in (
        (('--config.steps', '10'), r'write --config\.steps=10'),
        (('--config.steps',), r'--config\.field=value'),
        (('--config.=3',), 'field'),
        (('--config.model..width=3',), 'width'),
        (('--steps=3',), '--steps'),
        (('--wrokdir=x',), "'--workdir'"),
        (('--profile=3',), '10:20'),
        (('--profile=5:2',), '10:20'),
        (('--profile=\u00b2:3',), '10:20'),
        (('--profile=3:90000',), 'the run ends at step'),
        (('--coordinator=localhost:abc', '--processes=2', '--process=0'), 'HOST:PORT'),
        (('--config.model.block.use=block.deep_norm:DeepNorm',), 'config.model.block.alpha: missing'),
        (('--config.model.block.use=norm.rms:RMSNorm',), 'is not a Block'),
        (('--config.model.block.use=block.post_norm:Nothing',), 'block.post_norm'),
        (('--workdir=nothing://bucket/run',), 'Protocol not known: nothing'),
        (('--config.batch_size=4000000',), r'[\d,.]+ GiB per device, .* has [\d,.]+ GiB; batch_size=\d+ fits'),
        (('--workdir=~nosuchuser/x',), 'no home folder ~nosuchuser'),
    ):
        yield Case('train', (*train, *arguments), words)
    masked = ('--workdir={new}', f'--config={MASKED}')
    for override, words in {
        'task.share=0': 'share',
        'task.share=1.0': 'share',
        'task.hidden=1.5': 'hidden',
        'task.noise=0.5': 'noise',
        "task={'use': 'task.causal_lm:CausalLM'}": 'needs a decoder',
        "task={'use': 'task.classification:Classification'}": 'reads example from a batch',
        "task={'use': 'task.span_qa:SpanQA'}": 'reads',
        "task={'use': 'task.replaced_token:ReplacedToken'}": 'needs a generator',
        'model.heads={}': "reads the head 'masked'",
        'model.types=-1': 'types',
    }.items():
        yield Case('train', (*masked, f'--config.{override}'), words)
    for task, words in {
        'task.masked_lm:MaskedLM': 'needs an encoder; config.model, model.decoder:Decoder, is not one',
        'task.classification:Classification': 'needs an encoder',
        'task.regression:Regression': 'needs an encoder',
        'task.skip_gram:SkipGram': 'needs word vectors',
        'task.distillation:Distillation': 'needs a student',
    }.items():
        yield Case('train', (*train, f"--config.task={{'use': '{task}'}}"), words)
    pairs = ('--workdir={new}', f'--config={PAIRS}')
    for override, words in {
        "task={'use': 'task.causal_lm:CausalLM'}": 'needs a decoder',
        "task.search={'use': 'decode.beam:Beam', 'beams': 0}": 'beams',
        "task.search={'use': 'decode.greedy:Greedy', 'max_tokens': -1}": 'max_tokens',
        'task.metrics=3': 'metrics',
    }.items():
        yield Case('train', (*pairs, f'--config.{override}'), words)


SWEEPS: Mapping[str, tuple[str, str]] = {
    'none': ('None', r'get_sweep\(\) must return'),
    'text': ('"x"', r'get_sweep\(\) must return'),
    'no_runs': ('{}', r'get_sweep\(\) must return'),
    'unknown': ('dict(runs=dict(grid={"seed": [1]}), sedes=3)', 'seeds'),
    'no_space': ('dict(runs=3)', 'space'),
    'empty': ('dict(runs=dict(grid={}))', 'empty'),
    'empty_field': ('dict(runs=dict(grid={"steps": []}))', 'steps'),
    'no_list': ('dict(runs=dict(grid={"steps": 3}))', 'steps'),
    'number': ('dict(runs=dict(grid={3: [3]}))', 'not 3'),
    'uneven': ('dict(runs=dict(zip={"steps": [1], "batch_size": [1, 2]}))', 'equally many'),
    'points': ('dict(runs=dict(list=[3]))', 'point'),
    'name': ('dict(runs=dict(list=[{"name": 3}]))', 'name'),
    'draw': ('dict(runs=dict(random={"steps": 3}, number=2))', 'steps'),
    'no_number': ('dict(runs=dict(random={"steps": dict(integer=[1, 2])}))', 'number'),
    'bounds': ('dict(runs=dict(random={"steps": dict(integer=[2, 1])}, number=2))', 'lower first'),
    'twice': ('dict(runs=dict(product=[dict(grid={"steps": [1]}), dict(grid={"steps": [2]})]))', 'steps'),
    'key': ('dict(runs=dict(grid={"steps": [1]}, nubmer=3))', 'nubmer'),
    'seeds': ('dict(runs=dict(grid={"steps": [3]}), seeds=0)', 'seeds'),
    'bad_seed': ('dict(runs=dict(grid={"steps": [3]}), seeds=[-1])', 'seeds'),
    'match': ('dict(runs=dict(grid={"steps": [3]}), match=3)', 'match'),
    'match_what': ('dict(runs=dict(grid={"steps": [3]}), match=dict(what="x", by={"steps": 1}))', 'match'),
    'field': ('dict(runs=dict(grid={"nonsense": [3]}))', 'nonsense'),
    'value': ('dict(runs=dict(grid={"model.layers": [0]}))', 'layers'),
    'type': ('dict(runs=dict(grid={"model.layers": ["x"]}))', 'layers'),
    'cyclic': ('(lambda space: space.update(chain=[space]) or dict(runs=space))({})', 'contains itself'),
    'deep': ('dict(runs=__import__("functools").reduce(lambda a, _: dict(chain=[a]), range(5000), {}))', 'nested'),
}


def sweep_cases() -> Iterator[Case]:
    given = (f'--config={LANGUAGE}', '--workdir={new}', '--dry_run')
    for name, (_, words) in SWEEPS.items():
        yield Case('sweep', (*given, f'--sweep={{files}}/sweep_{name}.py'), words)
    for path in ('{files}/not_there.py', '{files}', '{files}/config.json', '{files}/empty.py', '{files}/nul.py'):
        yield Case('sweep', (*given, f'--sweep={path}'), '--sweep=')
    heads = f'--sweep={ROOT}/experiments/sweeps/heads.py'
    for flag in ('--jobs=0', '--jobs=-1', '--jobs=100000'):
        yield Case('sweep', (*given, heads, flag), 'jobs')
    yield Case('sweep', (*given, heads, '--engine=slurm', '--slurm=time'), 'KEY=VALUE|slurm')
    yield Case('sweep', (*given, heads, '--slurm=time=5'), '--slurm has no effect')
    yield Case('slurm', (f'--config={LANGUAGE}', '--workdir={new}', '--slurm=nonsense'), 'slurm')
    yield Case('slurm', (f'--config={LANGUAGE}', '--workdir={new}', '--slurm=time=5', f'--config.{RULE}.b1=2.0'), 'b1')


FOLDERS: Mapping[str, Mapping[str, str | bytes]] = {
    'no_run': {'notes.txt': 'x'},
    'empty_config': {'config.json': ''},
    'list_config': {'config.json': '[]'},
    'binary_config': {'config.json': bytes(range(128, 256))},
    'half_config': {'config.json': '{"seed": 0, "steps": '},
    'lacks': {'config.json': '{"seed": 0}'},
    'deep_config': {'config.json': '[' * 100_000},
}


SPECIAL: Mapping[str, Callable[[Path], None]] = {
    'pipe_config': lambda path: os.mkfifo(path),
    'endless_config': lambda path: path.symlink_to('/dev/zero'),
}
NOBODY = '~nobody-of-this-name/x'


def folder_cases() -> Iterator[Case]:
    for launcher, needed in READ_RUNS.items():
        for folder in ('{new}', '{files}/empty.py', *(f'{{files}}/{name}' for name in (*FOLDERS, *SPECIAL))):
            yield Case(
                launcher, (*needed, f'--workdir={folder}'), folder.rpartition('/')[2].strip('{}') + '|no such folder'
            )
        yield Case(launcher, (*needed, f'--workdir={NOBODY}'), 'there is no home folder ~nobody-of-this-name')
        words = OTHER_KIND.get(launcher, 'checkpoint')
        yield Case(launcher, (*needed, '--workdir={without_checkpoints}'), words)
        yield Case(launcher, (*needed, f'--workdir={LONG}'), 'xxx')
    for path in ('{files}/empty.py/x', '/proc/x', f'{{files}}/{LONG}', '{files}/no_run', '{files}/empty.py'):
        yield Case('train', ('{again}', f'--workdir={path}'), 'empty.py|/proc|xxx|no_run')
    for name in ('checkpoint_is_a_file', 'metrics_is_a_folder'):
        yield Case('train', ('{again}', f'--workdir={{{name}}}'), 'checkpoints|metrics')
    for path in ('{new}', '{files}/empty.py', '{files}/no_run', '/proc/x', LONG):
        yield Case('report', (f'--workdir={path}',), 'no such|no run|empty.py|/proc|xxx')


OF_RUNS: Mapping[str, Sequence[tuple[str, str]]] = {
    'generate': (
        ('--temperature=-1', 'temperature'),
        ('--temperature=nan', 'temperature'),
        ('--top_k=-1', 'top_k'),
        ('--top_p=0', 'top_p'),
        ('--top_p=2', 'top_p'),
        ('--top_p=nan', 'top_p'),
        ('--min_p=2', 'min_p'),
        ('--min_p=nan', 'min_p'),
        ('--max_tokens=100000', 'max_tokens|context'),
        ('--prompt=' + 'word ' * 3000, r'a prompt of \d+ tokens leaves no room in the context of 16'),
        ('--prompt=\udcff', 'udcff'),
        ('--chat --json', '--chat'),
        ('--alpha=0.5', '--alpha has no effect'),
        ('--beams=2 --top_k=3', '--top_k has no effect'),
        ('--greedy --top_p=0.5', '--top_p has no effect'),
        ('--temperature=0 --seed=3', '--seed has no effect'),
        ('--chat --max_tokens=100000', 'max_tokens|context'),
        ('--init_from={run}', '--workdir'),
    ),
    'evaluate': (
        ('--split=nothing', 'nothing'),
        ('--length=-1', 'length'),
        ('--windows=-1', 'windows'),
        ('--split=test', 'test'),
    ),
    'embed': (
        ('--text=x --layer=99', 'layer'),
        ('--text=x --overlap=-1', 'overlap'),
        ('--text=x --word=nowhere', 'nowhere'),
        ('--nearest=notatokenatall', 'notatokenatall'),
        ('--text=x --part=teacher', 'part'),
        ('--text=', '--text is empty'),
        ('--text=x --word=', '--word is empty'),
        ('--text=x --count=3', '--count has no effect'),
        ('--text=\udcff', 'udcff'),
    ),
    'probe': (
        ('', 'give --data=FILE'),
        ('--data={files}/not_there', 'not_there'),
        ('--data={files}/empty.py', 'empty.py'),
        (f'--data={TEXTS} --text=nowhere --label=length', 'nowhere'),
        (f'--data={TEXTS} --text=layer --label=nowhere', 'nowhere'),
        (f'--data={TEXTS} --text=layer --label=jax', 'one class; a probe needs two'),
        (f'--data={TEXTS} --text=layer --label=flops', 'is not a class of the training split'),
        (f'--data={TEXTS} --text=layer --task=swapped', 'no train text fits the task'),
        (f'--data={TEXTS} --text=layer --task=length --label=length', '--label has no effect'),
        (f'--data={TEXTS} --text=layer --label=length --part=teacher', 'part'),
        (f'--data={TEXTS} --validation=2', 'validation'),
        ('--task=colour', 'task'),
    ),
    'search': (
        (f'--corpus={ROOT}/README.md --query= ', '--query is empty'),
        ('--corpus={files}/not_there', 'not_there'),
        ('--index={files}', 'give --corpus'),
        ('--pairs={files}/empty.py', 'give --corpus'),
        (f'--corpus={ROOT}/README.md --pairs={{files}}/empty.py', 'empty.py'),
        ('--top=0', 'top'),
        ('--part=teacher', 'give --corpus'),
        (f'--corpus={ROOT}/README.md --part=teacher', 'part'),
    ),
    'fill_mask': (
        ('--text=x', 'Encoder|encoder|mask'),
        ('--text=[MASK] --part=student', 'part'),
        ('--text=', '--text is empty'),
    ),
    'predict': (
        ('--text=x', 'CausalLM|generate'),
        ('--file={files}/not_there', 'CausalLM|generate|not_there'),
        ('--batch=0 --text=x', 'batch'),
        ('--text=', '--text is empty'),
        ('--file=', '--file is empty'),
        ('--text=x --columns=y', '--columns has no effect'),
        ('--init_from={files}/not_there --text=x', 'give either --workdir'),
    ),
    'decompose': (('', 'source|Seq2Seq|attention|reads'), ('--out=x.txt', '.html')),
    'translate': (
        ('--text=x', 'Seq2Seq|source|translat'),
        ('--alignment=x.foo --text=x', '.png|ends'),
        ('--alignment=x.png', '--text'),
        ('--file={files}/not_there', 'not_there'),
        ('--text=x --file={files}/empty.py', '--text|--file'),
        ('--alpha=nan --text=x', 'alpha'),
        ('--text=', '--text is empty'),
        ('--text=x --alpha=1', '--alpha has no effect'),
        ('--text=x --layer=1', '--layer has no effect'),
        ('--text=x --head=1', '--head has no effect'),
    ),
    'inside': (
        (f'--config={LANGUAGE}', 'either'),
        ('--out=x.png', 'write attention, lens, ablate or patch first'),
        ('--config.model.width=3', 'config.model.width'),
    ),
    'params': ((f'--config={LANGUAGE}', 'one of'),),
    'report': (
        ('--metric=nothing', 'nothing|this is one run'),
        ('--split=nothing', 'nothing|this is one run'),
        ('--best=worst', 'best'),
    ),
}
PLAIN: Sequence[tuple[str, str, str]] = (
    ('five_steps', '--text=\udcff', 'text'),
    ('five_steps', '--text=', 'text'),
    ('five_steps', '--seed=-1', 'seed'),
    ('five_steps', f'--seed={2**64}', 'seed'),
    ('claims', '--what=gradient --length=1', 'length'),
    ('claims', '--what=conversation --turns=1', 'turns'),
    ('claims', '--what=gradient --turns=3', '--turns has no effect'),
    ('claims', '--what=gradient --out=x.txt', 'out|ends'),
    ('claims', '--what=gradient --out=/nonexistent/x.png', 'nonexistent'),
    ('preflight', f'--config={LANGUAGE} --topology=v5e:nonsense', 'nonsense'),
    ('preflight', f'--config={LANGUAGE} --topology=v5e:4x4 --measure', '--measure'),
    ('scaling', f'--config={LANGUAGE} --axis=nothing', 'nothing'),
    ('scaling', f'--config={LANGUAGE} --topologies=nothing', 'nothing'),
    ('train', f'--config={LANGUAGE} --workdir={{new}} --coordinator=nowhere', 'coordinator|processes'),
    ('train', f'--config={LANGUAGE} --workdir={{new}} --processes=2', 'coordinator|processes'),
    ('train', f'--config={LANGUAGE} --workdir={{new}}\udcff', 'workdir'),
    ('params', '--init_from={files}/not_there', 'not_there'),
    ('params', '--init_from={files}', 'files'),
    ('params', f'--init_from={NOBODY}', 'no home folder'),
    ('params', '--init_from={files}/pipe_config', 'not a regular file'),
    ('params', '--init_from={files}/endless_config', 'not a regular file'),
    ('train', f'--config={LANGUAGE} --workdir={{new}} --config.data.path={NOBODY}', 'no home folder'),
    ('train', f'--config={LANGUAGE} --workdir={NOBODY}', 'no home folder'),
    ('report', f'--workdir={NOBODY}', 'no home folder'),
    ('generate', '--init_from={files}/list_config', 'list_config'),
    ('generate', '--init_from={files}/deep_config', 'deep_config'),
)


def other_cases() -> Iterator[Case]:
    for launcher, cases in OF_RUNS.items():
        for flags, words in cases:
            yield Case(launcher, ('--workdir={run}', *split(flags)), words)
    yield from (Case(launcher, split(flags), words) for launcher, flags, words in PLAIN)


def split(flags: str) -> tuple[str, ...]:
    """Several flags that stand in one text."""
    return tuple(flag for flag in re.split(r' (?=--)', flags) if flag)


CASES = [
    *flag_cases(),
    *path_cases(),
    *config_cases(),
    *override_cases(),
    *sweep_cases(),
    *folder_cases(),
    *other_cases(),
]


@dataclass(frozen=True)
class Answer:
    """Attributes: status of the exit, None after the time limit; out and err, what was printed."""

    status: int | None
    out: str
    err: str

    def verdict(self, words: str) -> str:
        lines = self.err.splitlines()
        if self.status is None:
            return 'hang'
        if 'Traceback' in self.err:
            return 'traceback'
        if self.status == 0:
            return 'silent'
        one = self.status == 2 and len(lines) == 1 and lines[0].startswith('error: ')
        return 'clear' if one and len(lines[0]) < 1500 and re.search(words, lines[0]) else 'unclear'


@dataclass(frozen=True)
class Place:
    """Where a case runs: a name in braces stands for a file or a folder there, {text} for one next to it.

    Attributes: folder, which no other case uses.
    """

    folder: Path

    def answer(self, case: Case) -> Answer:
        arguments = [given for argument in case.arguments for given in self._filled(argument)]
        output = [self.folder / name for name in ('out', 'err')]
        for path in output:
            path.unlink(missing_ok=True)
        command = [str(ROOT / f'launch/{case.launcher}.py'), *arguments]
        environment = {**os.environ, 'SACCADE_CACHE': str(self.folder.parent / 'cache')}
        try:
            status = forked.run(command, self.folder, environment, output)
        except TimeoutError:
            status = None
        return Answer(status, *(path.read_text(errors='replace') if path.exists() else '' for path in output))

    @property
    def text(self) -> Path:
        return self.folder.with_name('small.txt')

    @property
    def again(self) -> tuple[str, ...]:
        """The arguments that {run} was trained with."""
        overrides = (*(f'model.{size}' for size in SMALL), *FIELDS, f'data.path={self.text}')
        return (f'--config={LANGUAGE}', *(f'--config.{override}' for override in overrides))

    def _filled(self, argument: str) -> tuple[str, ...]:
        if argument == '{again}':
            return self.again
        argument = argument.replace('{text}', str(self.text))
        return (re.sub(r'\{(\w+)\}', lambda name: str(self.folder / name[1]), argument),)


@pytest.fixture(scope='module')
def whole(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A folder with the wrong files, a finished run, and runs that were damaged."""
    place = Place(tmp_path_factory.mktemp('wrong') / 'whole')
    files, run = place.folder / 'files', place.folder / 'run'
    files.mkdir(parents=True)
    for name, (text, _) in CONFIG_FILES.items():
        (files / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    for name, (text, _) in SWEEPS.items():
        (files / f'sweep_{name}.py').write_text(f'def get_sweep(): return {text}')
    for name, contents in FOLDERS.items():
        (files / name).mkdir()
        for file, text in contents.items():
            (files / name / file).write_bytes(text if isinstance(text, bytes) else text.encode())
    for name, make in SPECIAL.items():
        (files / name).mkdir()
        make(files / name / 'config.json')
    words = random.Random(0).choices(['a', 'token', 'is', 'read', 'and', 'written'], k=4000)
    place.text.write_text(' '.join(words))
    made = place.answer(Case('train', ('{again}', '--workdir={run}'), ''))
    assert made.status == 0, made.err
    damaged = {name: run.with_name(name) for name in DAMAGED}
    for other in damaged.values():
        shutil.copytree(run, other)
    shutil.rmtree(damaged['without_checkpoints'] / 'checkpoints')
    for step in ('1', '2'):
        shutil.rmtree(damaged['checkpoint_is_a_file'] / 'checkpoints' / step)
        (damaged['checkpoint_is_a_file'] / 'checkpoints' / step).write_text('x')
    (damaged['metrics_is_a_folder'] / 'metrics.jsonl').unlink()
    (damaged['metrics_is_a_folder'] / 'metrics.jsonl').mkdir()
    return place


@pytest.fixture
def place(whole: Place) -> Iterator[Place]:
    """A copy of that folder, so that no case finds what another has left."""
    folder = whole.folder.with_name('case')
    subprocess.run(['cp', '--archive', whole.folder, folder], check=True)  # shutil copies no pipes
    yield Place(folder)
    shutil.rmtree(folder)


def test_there_are_wrong_inputs():
    assert len(CASES) >= 850
    assert LAUNCHERS.keys() == {file.stem for file in (ROOT / 'launch').glob('[a-z]*.py')}


@pytest.mark.parametrize('case', CASES, ids=[case.launcher for case in CASES])
def test_every_wrong_input_is_answered_in_one_clear_line(place, case):
    answer = place.answer(case)
    assert answer.verdict(case.words) == 'clear', f'{case}: {answer.status}: {answer.err}'
    assert not (place.folder / 'executed').exists()
