# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Exports from the command line: the folder is the model, and nothing is half-written."""

import fcntl
import json
import shutil

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file

from saccade.train.exporting import export_adapter_of
from saccade.train.log.log import read

FILES = {
    'README.md', 'config.json', 'generation_config.json', 'model.safetensors', 'tokenizer.json',
    'tokenizer_config.json',
}  # fmt: skip

LORA = "--config.low_rank={'use': 'train.low_rank:LowRank', 'rank': 2, 'alpha': 4.0}"


def continued(runner, *where):
    done = runner.run('generate', *where, '--prompt=the model ', '--greedy', '--max_tokens=5', '--json')
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)['samples']


@pytest.mark.long
def test_the_folder_of_a_decoder_writes_what_the_run_writes(runner, finished, tmp_path):
    out = tmp_path / 'out'
    done = runner.run('export', f'--workdir={finished}', f'--out={out}')
    assert done.returncode == 0, done.stderr
    assert 'LlamaForCausalLM (llama)' in done.stdout
    assert {path.name for path in out.iterdir()} == FILES
    assert [path.name for path in tmp_path.iterdir()] == ['out']
    assert continued(runner, f'--init_from={out}') == continued(runner, f'--workdir={finished}')
    card = (out / 'README.md').read_text()
    assert 'task.causal_lm:CausalLM' in card
    assert '| validation | 20 | loss |' in card


@pytest.mark.long
def test_an_encoder_that_no_family_holds_is_refused_by_the_field(runner, encoder, tmp_path):
    done = runner.run('export', f'--workdir={encoder}', f'--out={tmp_path / "out"}')
    assert done.returncode == 2
    assert 'config.model.block' in done.stderr
    assert 'PreNorm' in done.stderr
    assert 'Traceback' not in done.stderr
    assert not any(tmp_path.iterdir())


@pytest.mark.long
def test_shards_types_and_checkpoints(runner, finished, tmp_path):
    arguments = ('--checkpoint=best', '--dtype=bfloat16', '--shard_size=1MB', '--json')
    done = runner.run('export', f'--workdir={finished}', f'--out={tmp_path / "out"}', *arguments)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found['family'], found['step']) == ('llama', 20)
    with safe_open(tmp_path / 'out' / 'model.safetensors', 'numpy') as file:
        assert {file.get_slice(name).get_dtype() for name in file.keys()} == {'BF16'}  # noqa: SIM118


@pytest.mark.long
@pytest.mark.parametrize(
    ('flags', 'words'),
    [
        ((), '--out=FOLDER'),
        (('--out={out}', '--shard_size=2'), '--shard_size=2: write a whole number of MB or GB, as 2GB'),
        (('--out={out}', '--dtype=int8'), 'float32, bfloat16, float16'),
        (('--out={out}', '--family=bort'), 'bort'),
        (('--out={finished}',), 'exists and is not an empty folder'),
        (('--out={out}', '--config.steps=3'), 'exported with the config it was trained with'),
    ],
)
def test_wrong_flags_are_refused_in_one_line(runner, finished, tmp_path, flags, words):
    given = (flag.format(out=tmp_path / 'out', finished=finished) for flag in flags)
    done = runner.run('export', f'--workdir={finished}', *given)
    assert done.returncode == 2
    assert words in done.stderr
    assert 'Traceback' not in done.stderr
    assert not any(tmp_path.iterdir())


@pytest.mark.long
def test_a_run_in_training_is_refused(runner, finished, tmp_path):
    with (finished / '.lock').open('ab') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = runner.run('export', f'--workdir={finished}', f'--out={tmp_path / "out"}')
    assert done.returncode == 2
    assert 'is being trained by process' in done.stderr
    assert not any(tmp_path.iterdir())


@pytest.fixture(scope='module')
def base(runner, finished, tmp_path_factory):
    """The folder of a decoder of ours."""
    out = tmp_path_factory.mktemp('exported') / 'base'
    done = runner.run('export', f'--workdir={finished}', f'--out={out}')
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture(scope='module')
def tuned(runner, base, tmp_path_factory):
    """The folder of a LoRA run that began with a Hugging Face directory."""
    workdir = tmp_path_factory.mktemp('runs') / 'tuned'
    done = runner.train(workdir, f'--config.init_from={base}', LORA, '--config.steps=4', '--config.eval_every=0')
    assert done.returncode == 0, done.stderr
    return workdir


@pytest.mark.long
def test_an_adapter_on_its_base_is_the_merged_model(runner, base, tuned, tmp_path):
    done = runner.run('export', f'--workdir={tuned}', f'--out={tmp_path / "adapter"}', '--adapter', '--json')
    assert done.returncode == 0, done.stderr
    merged = runner.run('export', f'--workdir={tuned}', f'--out={tmp_path / "merged"}')
    assert merged.returncode == 0, merged.stderr
    assert {path.name for path in (tmp_path / 'adapter').iterdir()} == {
        'README.md', 'adapter_config.json', 'adapter_model.safetensors'
    }  # fmt: skip
    config = json.loads((tmp_path / 'adapter/adapter_config.json').read_text())
    assert config['base_model_name_or_path'] == str(base)
    assert f'base_model: "{base}"' in (tmp_path / 'adapter/README.md').read_text()
    factors = load_file(tmp_path / 'adapter/adapter_model.safetensors')
    assert json.loads(done.stdout)['parameters'] == sum(array.size for array in factors.values())
    before, after = (load_file(folder / 'model.safetensors') for folder in (base, tmp_path / 'merged'))
    assert len(config['target_modules']) == 2 * 7  # four of attention and three of the network, in two layers
    for name, array in before.items():
        if (module := name.removesuffix('.weight')) in config['target_modules']:
            A, B = (factors[f'base_model.model.{module}.lora_{side}.weight'] for side in 'AB')
            assert np.abs(B).max() > 0
            array = array + config['lora_alpha'] / config['r'] * B @ A
        np.testing.assert_allclose(array, after[name], atol=1e-6, err_msg=name)


@pytest.mark.long
def test_an_adapter_of_a_model_by_name_has_its_repository_and_its_revision(base, tuned, tmp_path, monkeypatch):
    shutil.copytree(tuned, tmp_path / 'run')
    config = (tmp_path / 'run/config.json').read_text()
    (tmp_path / 'run/config.json').write_text(config.replace(str(base), 'hf:lab/base@v1'))
    monkeypatch.setattr('saccade.hub.download._downloaded', {'hf:lab/base@v1': str(base)}.get)
    export_adapter_of(str(tmp_path / 'run'), tmp_path / 'adapter')
    config = json.loads((tmp_path / 'adapter/adapter_config.json').read_text())
    assert (config['base_model_name_or_path'], config['revision']) == ('lab/base', 'v1')
    assert 'base_model: "lab/base"\n' in (tmp_path / 'adapter/README.md').read_text()


@pytest.mark.long
def test_the_ends_and_the_chat_template_of_the_first_folder_are_carried(runner, base, tmp_path):
    first = tmp_path / 'first'
    shutil.copytree(base, first)
    ids = json.loads((first / 'generation_config.json').read_text())
    ends = [5, ids['eos_token_id'], 6]
    (first / 'generation_config.json').write_text(json.dumps({**ids, 'eos_token_id': ends}))
    (first / 'chat_template.jinja').write_text('{{ messages }}')
    before = first
    for name in ('once', 'twice'):
        done = runner.train(
            tmp_path / name, f'--config.init_from={before}', '--config.steps=4', '--config.eval_every=0'
        )
        assert done.returncode == 0, done.stderr
        before = tmp_path / name
        done = runner.run('export', f'--workdir={before}', f'--out={tmp_path / name}_out')
        assert done.returncode == 0, done.stderr
        written = json.loads((tmp_path / f'{name}_out/generation_config.json').read_text())
        assert written == {**ids, 'eos_token_id': [ids['eos_token_id'], 5, 6]}
        assert (tmp_path / f'{name}_out/chat_template.jinja').read_text() == '{{ messages }}'
    shutil.rmtree(first)
    done = runner.run('export', f'--workdir={before}', f'--out={tmp_path / "late"}')
    assert done.returncode == 0, done.stderr
    assert 'a chat template and further end tokens there are not exported' in done.stderr
    assert not (tmp_path / 'late/chat_template.jinja').exists()


@pytest.mark.long
@pytest.mark.parametrize(
    ('which', 'flags', 'words'),
    [
        ('finished', (), 'config.low_rank is not set: the run trained all weights'),
        ('of_a_run', (), 'must be a Hugging Face directory or hf:ORG/NAME'),
        ('tuned', ('--family=llama', '--shard_size=1GB'), '--family and --shard_size have no effect with --adapter'),
    ],
)
def test_an_adapter_that_cannot_be_is_one_line(runner, finished, tuned, tmp_path, which, flags, words):
    folder = {'finished': finished, 'tuned': tuned, 'of_a_run': tmp_path / 'run'}[which]
    if which == 'of_a_run':
        done = runner.train(folder, f'--config.init_from={finished}', LORA, '--config.steps=3')
        assert done.returncode == 0, done.stderr
    done = runner.run('export', f'--workdir={folder}', f'--out={tmp_path / "out"}', '--adapter', *flags)
    assert done.returncode == 2
    assert words in done.stderr
    assert 'Traceback' not in done.stderr
    assert not (tmp_path / 'out').exists()


@pytest.mark.long
def test_a_run_that_begins_with_a_folder_is_the_same_on_a_mesh_of_eight_devices(runner, base, tmp_path):
    losses = {}
    for devices, mesh in ((1, ()), (8, ('--config.mesh.data=2', '--config.mesh.fsdp=2', '--config.mesh.tensor=2'))):
        workdir = tmp_path / str(devices)
        begun = (f'--config.init_from={base}', '--config.steps=3', '--config.eval_every=0')
        done = runner.train(workdir, *begun, *mesh, devices=devices)
        assert done.returncode == 0, done.stderr
        losses[devices] = [line['loss'] for line in read(workdir / 'metrics.jsonl') if line['split'] == 'train']
    assert len(losses[1]) == 3
    np.testing.assert_allclose(losses[8], losses[1], rtol=1e-5)
