# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Configs from files and command lines."""

import json
import re
import sys
from pathlib import Path

import pytest
import yaml

from saccade.train.config import field_called, load_config, value_of
from saccade.train.experiment import Experiment
from saccade.train.workdir import Workdir
from saccade.types import UserError

QUICKSTART = str(Path(__file__).parents[2] / 'experiments/causal_lm/quickstart.py')
CONFIG = """
from ml_collections import ConfigDict, FieldReference
from ml_collections.config_dict import placeholder

def get_config():
    width = FieldReference(64)
    config = ConfigDict()
    config.rate = 0.5
    config.name = 'plain'
    config.path = placeholder(str)
    config.logging = []
    config.model = dict(width=width, hidden=4 * width, pattern=[dict(width=width, rate=0.5), dict(width=width)],
                        norm=dict(use='norm.layer:LayerNorm', epsilon=1e-5))
    return config
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    (tmp_path / 'config.py').write_text(CONFIG)
    return str(tmp_path / 'config.py')


def test_a_part_that_stands_in_two_places_is_overridden_in_one(tmp_path):
    again = ['config.model.last = config.model.norm', 'config.twice = [config.model.norm]', 'return config']
    shared = CONFIG.replace('    return config\n', ''.join(f'    {line}\n' for line in again))
    (tmp_path / 'shared.py').write_text(shared)
    found = load_config(str(tmp_path / 'shared.py'), ['--config.model.norm.epsilon=0.5', '--config.model.width=128'])
    assert found['model']['norm']['epsilon'] == 0.5
    assert found['model']['last']['epsilon'] == found['twice'][0]['epsilon'] == 1e-5
    assert found['model']['hidden'] == 512  # references are still shared


def test_derived_fields_follow_an_override(file):
    model = load_config(file, ['--config.model.width=128'])['model']
    assert model['hidden'] == 512
    assert model['pattern'] == [{'width': 128, 'rate': 0.5}, {'width': 128}]


def test_an_item_of_a_list_goes_by_its_number(file):
    model = load_config(file, ['--config.model.pattern.1.width=32', '--config.model.pattern.0.rate=1'])['model']
    assert model['width'] == 32
    assert model['pattern'] == [{'width': 32, 'rate': 1.0}, {'width': 32}]


def test_one_override_reaches_every_field_of_a_name(file):
    norm = "{'use': 'norm.rms:RMSNorm'}"
    model = load_config(QUICKSTART, [f'--config.model.**.norm={norm}'])['model']
    assert model['norm'] == model['block']['norm'] == {'use': 'norm.rms:RMSNorm'}
    found = load_config(file, ['--config.**.rate=0.25', '--config.model.**.epsilon=0.5', '--config.**.width=16'])
    assert found['rate'] == 0.25
    assert found['model']['pattern'] == [{'width': 16, 'rate': 0.25}, {'width': 16}]
    assert found['model']['hidden'] == 64
    assert found['model']['norm']['epsilon'] == 0.5
    assert load_config(file, ['--config.model.**.width=16'])['rate'] == 0.5


@pytest.mark.parametrize(
    ('field', 'meant'),
    [
        ('kv_heads', '--config.model.block.mixer.key_value_heads'),
        ('model.num_heads', '--config.model.block.mixer.heads'),
        ('model.hidden_size', "'width'"),
        ('model.n_layer', "'layers'"),
        ('model.qk_norm', '--config.model.block.mixer.head_norm'),
        ('model.activation', '--config.model.block.feedforward.activation'),
        ('optimizer.lr', '--config.schedule.peak'),
        ('model.block.mixer.keyvalueheads', "'key_value_heads'"),
    ],
)
def test_a_wrong_field_is_answered_in_the_words_of_the_field(field, meant):
    with pytest.raises(UserError, match=f'did you mean {re.escape(meant)}\\?$'):
        load_config(QUICKSTART, [f'--config.{field}=2'])


def test_a_name_that_no_field_has_anywhere_is_refused(file):
    with pytest.raises(UserError, match=r"--config\.model\.\*\*\.widht: no field .* did you mean 'width'"):
        load_config(file, ['--config.model.**.widht=3'])


def test_a_part_is_swapped_whole_and_then_changed_within(file):
    swap = '--config.model.norm={"use": "norm.rms:RMSNorm", "epsilon": 1e-6}'
    config = load_config(file, [swap, '--config.model.norm.epsilon=1e-3'])
    assert config['model']['norm'] == {'use': 'norm.rms:RMSNorm', 'epsilon': 1e-3}


def test_a_class_is_swapped_and_keeps_the_fields_that_both_classes_have():
    said = []
    whole = load_config(QUICKSTART)['model']['block']['mixer']
    swap = '--config.model.block.mixer.use=attention.retention:Retention'
    found = load_config(QUICKSTART, [swap, '--config.model.layers=9'], said.append)['model']['block']['mixer']
    assert found == {
        'use': 'attention.retention:Retention',
        'heads': 6,
        'position': whole['position'],
        'kernel_init': whole['kernel_init'],
        'output_init': {**whole['output_init'], 'stddev': pytest.approx(0.02 / (2 * 9) ** 0.5)},  # still follows layers
    }
    assert said == [
        'config.model.block.mixer.use=attention.retention:Retention keeps heads, kernel_init, output_init, position; '
        'drops kernel, mask'
    ]


def test_a_class_is_swapped_wherever_a_pattern_reaches_it():
    said = []
    model = load_config(QUICKSTART, ['--config.model.**.norm.use=norm.layer:LayerNorm'], said.append)['model']
    assert model['norm'] == model['block']['norm'] == {'use': 'norm.layer:LayerNorm'}
    assert said == [
        f'config.model.{name}.use=norm.layer:LayerNorm keeps no field; drops none' for name in ('block.norm', 'norm')
    ]


def test_values_take_the_type_of_the_field(file):
    config = load_config(file, ['--config.rate=1', '--config.name=3', '--config.path=12'])
    assert config['rate'] == 1.0
    assert isinstance(config['rate'], float)
    assert config['name'] == '3'
    assert config['path'] == '12'  # a placeholder of text


def quickstart(*fields):
    return load_config(QUICKSTART, [f'--config.{field}' for field in fields])


@pytest.mark.parametrize(
    ('fields', 'found'),
    [
        (['model.block.mixer.key_value_heads=2'], 2),
        (["model.block.mixer.head_norm={'use': 'norm.rms:RMSNorm'}"], {'use': 'norm.rms:RMSNorm'}),
        (["model.block.mixer.terms=[{'use': 'ops.term:Softcap'}]", 'model.block.mixer.terms.0.cap=5'], 5.0),
        (['model.logit_scale=2'], 2.0),
        (['model.logit_scale=2', 'model.logit_scale=None'], None),
        (
            ["model.block.mixer.position.scaling={'use': 'ops.rotary:linear'}",
             'model.block.mixer.position.scaling.factor=2'],
            2.0,
        ),
        (['model.block.mixer.kernel.query_chunks=2'], 2),
        (["model.block.mixer.kernel={'use': 'attention.blockwise:Blockwise'}",
          'model.block.mixer.kernel.dropout=0.5'], 0.5),
        (['data.validation=0.5'], 0.5),
        (['data.tokenizer.end=5'], '5'),  # text
        (['keep_last=3'], 3),
        (['inherit=model'], 'model'),
        (['eval_lengths=(64, 32)', 'eval_lengths.1=16'], 16),
        (["logging=[{'use': 'train.log.wandb:WandB'}]", 'logging.0.project=7'], '7'),
        (["model.block=[{'use': 'block.pre_norm:PreNorm'}]", 'model.block.0.cross=None'], None),
    ],
)  # fmt: skip
def test_a_field_that_the_file_leaves_at_its_default_is_overridden(fields, found):
    """Read as the type that its part declares."""
    node = quickstart(*fields)
    for name in fields[-1].partition('=')[0].split('.'):
        node = node[int(name) if isinstance(node, list) else name]
    assert (node, type(node)) == (found, type(found))


def test_a_part_that_is_there_by_default_is_changed_within():
    mixer = "model.block.mixer={'use': 'attention.retention:Retention', 'heads': 2}"
    found = quickstart(mixer, 'model.block.mixer.position.base=500', 'model.head_init.stddev=1')
    assert found['model']['block']['mixer']['position'] == {'use': 'position.rotary:Rotary', 'base': 500.0}
    assert found['model']['head_init'].pop('use').endswith(':normal')
    assert found['model']['head_init'] == {'stddev': 1.0}


def test_references_follow_a_field_that_was_absent():
    """No reference is lost because another field of the part is given first."""
    found = quickstart('model.block.mixer.key_value_heads=2', 'model.context_length=64', 'model.vocabulary=256')
    assert (found['data']['context_length'], found['data']['tokenizer']['vocabulary']) == (64, 256)


def test_a_field_has_a_value_by_default():
    found = quickstart()
    assert value_of(found, 'model.width') == 192
    assert value_of(found, 'model.logit_scale') == 1.0
    assert value_of(found, 'model.block.feedforward.bias') is False
    assert value_of(found, 'keep_last') == 2
    with pytest.raises(UserError, match="did you mean 'logit_scale'"):
        value_of(found, 'model.logit_scales')


def test_a_field_of_a_part_that_a_later_override_brings_is_refused_with_the_order():
    field = 'model.block.mixer.points=3'
    swap = 'model.block.mixer.use=attention.induced:Induced'
    other = 'model.block.norm.use=norm.layer:LayerNorm'
    with pytest.raises(
        UserError, match=r"has no field 'points'.*give --config\.model\.block\.mixer\.use=\.\.\. before it"
    ):
        quickstart(other, field, swap)
    with pytest.raises(UserError, match=r"has no field 'points'") as without:
        quickstart(field, other)
    assert 'in order' not in str(without.value)
    assert quickstart(swap, field)['model']['block']['mixer']['points'] == 3


@pytest.mark.parametrize(
    ('field', 'words'),
    [
        ('model.block.mixer.key_value_headz=2', "did you mean 'key_value_heads'?"),
        ('model.logit_scal=2', "did you mean 'logit_scale'?"),
        ('keep_lst=2', "did you mean 'keep_last'?"),
        ('model.block.mixer.key_value_heads=few', "'few' cannot be read as int"),
        ('model.block.mixer.terms=3', "'3' cannot be read as a list, as in [3]"),
        ('model.block.mixer.head_norm.epsilon=1', 'no fields below it'),
        ('model.block.mixer.head_norm=silu', "'silu' cannot be read as a dict, as in {'use': ...}"),
        ('model.tied=1', "'1' cannot be read as bool"),
        ('model.block.3.mixer.heads=2', "the config has no field '3'"),
        ('model.layers=0', '--config.model.layers must be at least 1, not 0'),
        ('seed=18446744073709551616', '--config.seed must be a number of at most 32 bits'),
        ('seed=-1', '--config.seed must be at least 0 and at most 4294967295, not -1'),
        ('model.dropout=1.0', '--config.model.dropout must be at least 0 and below 1, not 1.0'),
        ('ema=1e999', '--config.ema must be a finite number, not inf'),
        ('model.block.feedforward.activation.x=2', "has no field 'x'"),  # the caller gives it
        ('model.block=' + "{'use': " * 3000, '...'),
        ('mesh=' + '[' * 5000, '...'),
        (f'steps={"9" * 6000}', '...'),
        ("model.block={'use': {1: 2}}", 'the name of a field must be text, not 1'),
    ],
)
def test_a_wrong_override_of_any_field_is_refused_naming_it(field, words):
    with pytest.raises(UserError) as refusal:
        quickstart(field)
    assert words in str(refusal.value)
    assert '\n' not in str(refusal.value)
    assert len(str(refusal.value)) < 500


def test_a_field_that_cannot_be_worked_out_is_refused(tmp_path):
    (tmp_path / 'config.py').write_text(
        CONFIG.replace('config.name', 'config.share = 1.0 / config.get_ref("rate")\n    config.name')
    )
    with pytest.raises(UserError, match='cannot be computed: float division by zero'):
        load_config(str(tmp_path / 'config.py'), ['--config.rate=0'])


def test_a_field_of_what_is_no_part_is_refused():
    for use, words in (('model.stack:POLICIES', 'is no class or function'), ('norm.rms:RMSNrom', "mean 'RMSNorm'?")):
        with pytest.raises(UserError, match=rf'^config\.model\.norm\.use: .*{re.escape(words)}'):
            quickstart(f"model.norm={{'use': '{use}'}}", 'model.norm.epsilon=1')


@pytest.mark.parametrize(
    ('override', 'words'),
    [
        ('--config.model.widht=3', "--config.model.widht: the config has no field 'widht'; did you mean 'width'?"),
        ('--config.modle.width=3', "did you mean 'model'?"),
        ('--config.rate.x=3', 'no fields below it'),
        ('--config.model.norm.use=norm.rms:RMSNrom', "norm.rms has no 'RMSNrom'; did you mean 'RMSNorm'?"),
        ('--config.model.norm.use=RMSNorm', "'RMSNorm' names no class; did you mean 'norm.rms:RMSNorm'?"),
        ('--config.model.norm.use=schedule', "'train.schedule:Cosine' or 'train.schedule:InverseSqrt'?"),
        ('--config.model.norm.use=zzz', "'zzz' names no class; write 'module:Class', as in 'norm.rms:RMSNorm'"),
        ('--config.precision=bf16', "did you mean 'dtype'?"),
        ('--config.wandb=True', "did you mean 'logging'?"),
        ('--config.model.width=wide', "'wide' cannot be read as int"),
        ('--config.model.width=1.5', 'int'),
        ('--config.model.pattern.2.width=3', "the config has no field '2'; there are 0, 1"),
        ('--config.model.pattern.0.widht=3', "did you mean 'width'?"),
        ('--config.model.pattern.0.rate=fast', "'fast' cannot be read as float"),
        ('--config.model.norm=3', "'3' cannot be read as a dict, as in {'use': ...}"),
        ("--config.logging={'use': 'a:B'}", "cannot be read as a list, as in [{'use': 'a:B'}]"),
        ('--config.rate', 'write an override as --config.field=value'),
    ],
)
def test_a_wrong_override_is_refused_naming_the_field(file, override, words):
    with pytest.raises(UserError) as refusal:
        load_config(file, [override])
    assert words in str(refusal.value)
    assert '\n' not in str(refusal.value)


def test_a_flag_of_another_library_leads_to_the_field_of_a_config(file):
    found = {
        'steps': 'config.steps',
        'lr': 'config.schedule.peak',
        'init_from': 'config.init_from',
        'kv_heads': 'config.model.block.mixer.key_value_heads',
        'workdri': None,
    }
    assert {flag: field_called(flag, QUICKSTART) for flag in found} == found
    assert field_called('epsilon', file) == 'config.model.norm.epsilon'
    assert [field_called('steps', path) for path in (None, 'absent.py')] == ['config.steps', 'config.steps']


@pytest.mark.parametrize('length', [252, 253, 300])  # with .py, as that of a shipped experiment, 255 are possible
def test_a_name_that_no_file_can_have_is_refused(length):
    words = 'not a possible path: File name too long' if length == 300 else 'there is no such file'
    with pytest.raises(UserError, match=f'^--config=x+: {words}'):
        load_config(length * 'x')


def test_a_file_in_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv('HOME', str(tmp_path))
    (tmp_path / 'mine.py').write_text('def get_config(): return {"seed": 3}')
    assert load_config('~/mine.py') == {'seed': 3}
    with pytest.raises(UserError, match=r'^--config=~nobody-of-this-name/x: there is no home folder'):
        load_config('~nobody-of-this-name/x')


def test_a_file_that_is_no_config_is_refused(tmp_path):
    with pytest.raises(UserError, match='there is no such file'):
        load_config(str(tmp_path / 'absent.py'))
    (tmp_path / 'wrong.py').write_text('first = 1\ndef get_config(:')
    with pytest.raises(UserError, match=r'wrong\.py: line 2: '):
        load_config(str(tmp_path / 'wrong.py'))
    (tmp_path / 'empty.py').write_text('')
    with pytest.raises(UserError, match='get_config'):
        load_config(str(tmp_path / 'empty.py'))


@pytest.mark.parametrize(
    ('name', 'text', 'words'),
    [
        ('none.py', 'def get_config(): pass', r'get_config\(\) must return a ConfigDict, not None'),
        ('text.py', 'def get_config(): return "x"', "must return a ConfigDict, not 'x'"),
        ('needs.py', 'def get_config(size, *more): return {}', r'get_config\(\) needs size; write \S*needs\.py:SIZE$'),
        ('two.py', 'def get_config(size, more): return {}', r'must take at most one argument; it needs size, more$'),
        (
            'cyclic.py',
            'config = {}\nconfig["a"] = [config]\ndef get_config(): return config',
            r'\.a\[0\]: it contains itself',
        ),
        ('keys.py', 'def get_config(): return {"model": {1: 2}}', r'\.model: the name of a field must be text, not 1'),
        ('binary.py', bytes(range(128, 256)), r'binary\.py: not Python|binary\.py: line'),
        ('nul.py', b'def get_config():\0 pass', 'null bytes'),
        ('brackets.py', '[' * 3000, r'brackets\.py: '),
        ('cut.json', '{"seed": 1', r"cut\.json: not JSON: Expecting ',' delimiter: line 1"),
        ('list.json', '[1, 2]', r'it must hold the fields of a config, not \[1, 2\]'),
        ('deep.json', '[' * 100_000, 'not JSON: nested too deep'),
        ('foreign.json', '{"model": {"use": "os:getcwd"}}', r"model\.use: 'os:getcwd' is no part of Saccade"),
        ('mine.yaml', 'model: {use: "my_lab.attention:Mine"}', 'add --trust=my_lab.attention:Mine '),
        ('cut.yaml', 'seed: 1\nmodel: {', r'cut\.yaml: line 2: not YAML: expected'),
        ('object.yml', 'seed: !!python/object/apply:os.getcwd []', r'line 1: not YAML: could not determine a constr'),
        ('binary.yaml', bytes(range(128, 256)), 'not YAML: '),
        ('keys.yaml', 'model: {1: 2}', r'\.model: the name of a field must be text, not 1'),
        ('empty.yaml', '', 'it must hold the fields of a config, not None'),
    ],
)
def test_what_a_file_gives_that_is_no_config_is_refused(tmp_path, name, text, words):
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UserError, match=words) as refusal:
        load_config(str(tmp_path / name))
    assert '\n' not in str(refusal.value)


def test_a_plain_dict_is_a_config(tmp_path):
    (tmp_path / 'plain.py').write_text('def get_config(): return {"a": {"b": 1}}')
    assert load_config(str(tmp_path / 'plain.py'), ['--config.a.b=2']) == {'a': {'b': 2}}


def test_the_resolved_config_of_a_run_is_a_config_of_the_same_program(tmp_path):
    resolved = load_config(QUICKSTART, ['--config.model.width=96', '--config.schedule.peak=0.001'])
    (tmp_path / 'config.json').write_text(json.dumps(resolved))
    assert load_config(str(tmp_path / 'config.json')) == resolved
    changed = load_config(str(tmp_path / 'config.json'), ['--config.model.block.mixer.key_value_heads=2'])
    assert changed['model']['block']['mixer']['key_value_heads'] == 2
    assert Experiment.of(changed).tokens == 16 * 128


def test_a_config_in_yaml_is_the_same_tree_and_reads_exponents_without_a_point(tmp_path):
    resolved = load_config(QUICKSTART)
    text = yaml.safe_dump(resolved).replace('peak: 0.003', 'peak: 3e-3')
    assert '3e-3' in text
    (tmp_path / 'mine.yaml').write_text(text)
    assert load_config(str(tmp_path / 'mine.yaml')) == resolved
    (tmp_path / 'mine.yml').write_text('a: {b: 1}')
    assert load_config(str(tmp_path / 'mine.yml'), ['--config.a.b=2']) == {'a': {'b': 2}}


def test_text_after_a_colon_is_the_argument_of_get_config(tmp_path):
    (tmp_path / 'mine.py').write_text('def get_config(size="small"): return {"size": size}')
    assert load_config(str(tmp_path / 'mine.py')) == {'size': 'small'}
    assert load_config(f'{tmp_path}/mine.py:large') == {'size': 'large'}
    assert load_config(f'{tmp_path}/mine.py:a:b') == {'size': 'a:b'}
    (tmp_path / 'my:file.py').write_text('def get_config(): return {"size": 3}')
    assert load_config(f'{tmp_path}/my:file.py') == {'size': 3}
    with pytest.raises(UserError, match=r'quickstart:large: get_config\(\) takes no argument$'):
        load_config('causal_lm/quickstart:large')


def test_only_an_unresolved_config_inherits_the_model_of_its_initial_weights(tmp_path):
    Workdir.open(tmp_path / 'run', load_config(QUICKSTART, ['--config.model.width=96']))
    (tmp_path / 'run/checkpoints').mkdir()  # makes it a run that was trained
    written = dict(init_from=str(tmp_path / 'run'), inherit='model', model=dict(width=8))
    (tmp_path / 'config.json').write_text(json.dumps(written))
    (tmp_path / 'config.yaml').write_text(yaml.safe_dump(written))
    widths = [load_config(str(tmp_path / f'config{suffix}'))['model']['width'] for suffix in ('.json', '.yaml')]
    assert widths == [8, 96]
    again = load_config(str(tmp_path / 'config.json'), [f'--config.init_from={tmp_path / "run"}'])
    assert again['model']['width'] == 96


def two_folders(tmp_path: Path) -> list[Path]:
    """Configs that import a file beside them of one name, `beside`, of which each folder has its own."""
    for name in ('first', 'second'):
        folder = tmp_path / name
        folder.mkdir()
        (folder / 'beside.py').write_text(
            f'from ml_collections import ConfigDict\nbase = ConfigDict(dict(name={name!r}))'
        )
        (folder / 'config.py').write_text('from .beside import base\ndef get_config():\n    return base')
        (folder / 'late.py').write_text('def get_config():\n    from .beside import base\n    return base')
    return [tmp_path / name for name in ('first', 'second')]


def test_a_config_imports_the_files_beside_it_and_no_others(tmp_path, monkeypatch):
    first, second = two_folders(tmp_path)
    paths, modules = list(sys.path), set(sys.modules)
    for file in ('config.py', 'late.py'):
        assert load_config(str(first / file)) == {'name': 'first'}
        assert load_config(str(second / file)) == {'name': 'second'}
    monkeypatch.chdir(first)
    assert load_config('config.py', ['--config.name=changed']) == {'name': 'changed'}
    assert (sys.path, set(sys.modules)) == (paths, modules)


def test_a_shipped_config_may_be_copied_and_changed(tmp_path):
    shipped = Path(__file__).parents[2] / 'experiments/causal_lm/quickstart.py'
    (tmp_path / 'mine.py').write_text(shipped.read_text().replace('FieldReference(512)', 'FieldReference(300)'))
    before = list(sys.path)
    assert load_config(str(tmp_path / 'mine.py'))['model']['vocabulary'] == 300
    assert sys.path == before


def test_a_config_may_load_another(tmp_path):
    first, second = two_folders(tmp_path)
    (first / 'both.py').write_text(
        'from saccade.train.config import load_config\n'
        f'def get_config():\n    other = load_config({str(second / "late.py")!r})\n'
        '    from .beside import base\n    return {**base, "other": other["name"]}'
    )
    assert load_config(str(first / 'both.py')) == {'name': 'first', 'other': 'second'}


def test_what_a_config_imports_and_cannot_have_is_named(tmp_path):
    first, _ = two_folders(tmp_path)
    (first / 'beside.py').unlink()
    with pytest.raises(
        UserError,
        match=r"config\.py: No module named '\.beside'; it may import installed modules",
    ):
        load_config(str(first / 'config.py'))
    (first / 'beside.py').write_text('base = (')
    with pytest.raises(UserError, match=r'config\.py: beside\.py: line 1: '):
        load_config(str(first / 'config.py'))
