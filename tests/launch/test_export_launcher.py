# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Exports from the command line: the folder is the model, and nothing is half-written."""

import fcntl
import json

import pytest
from safetensors import safe_open

FILES = {
    'README.md', 'config.json', 'generation_config.json', 'model.safetensors', 'tokenizer.json',
    'tokenizer_config.json',
}  # fmt: skip


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
