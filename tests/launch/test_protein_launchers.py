# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Proteins of a user's own from the command line: pretrained, resumed, embedded, classified; and what is refused."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from saccade.train.log.log import read

EXPERIMENTS = Path(__file__).parents[2] / 'experiments' / 'protein'
BRIEF = (
    '--config.steps=4',
    '--config.log_every=1',
    '--config.eval_every=2',
    '--config.checkpoint_every=2',
    '--config.batch_size=4',
    '--config.schedule.warmup=1',
)
SMALL = (*BRIEF, '--config.model.width=16', '--config.model.layers=1', '--config.model.context_length=24')

pytestmark = pytest.mark.long


def written(folder, **changes):
    """Proteins of two classes, one of which begins with M; a line may be changed."""
    lines = {}
    for number in range(20):
        lines |= {2 * number: f'>p{number} {"ab"[number % 2]}', 2 * number + 1: 'MK'[number % 2] + number * 'lvW' + 'Q'}
    path = folder / 'proteins.fasta'
    path.write_text('\n'.join((lines | {int(name[1:]): text for name, text in changes.items()}).values()))
    return path


def steps(workdir):
    return {line['step']: line['loss'] for line in read(workdir / 'metrics.jsonl') if line['split'] == 'train'}


def test_a_run_on_a_fasta_file_resumes_is_evaluated_embeds_and_gives_a_classifier_its_encoder(runner, tmp_path):
    path, workdir = written(tmp_path), tmp_path / 'run'
    command = f'--config={EXPERIMENTS}/fasta.py', *SMALL, f'--config.data.path={path}', f'--workdir={workdir}'
    done = runner.run('train', *command)
    assert done.returncode == 0, done.stderr
    assert "launch/fill_mask.py '--text=MALWMRLLPLL[MASK]LLALWGPD'" in done.stdout
    assert 'launch/embed.py --text=MALWMRLLPLLALLALWGPD --text=MALWTRLRPLLALLALWPPP' in done.stdout
    wanted = steps(workdir)
    assert list(wanted) == [1, 2, 3, 4]
    shutil.rmtree(workdir / 'checkpoints/4')
    again = runner.run('train', *command)
    assert 'resume' in again.stdout, again.stderr
    assert steps(workdir) == wanted
    assert 'masked_accuracy' in json.loads(runner.run('evaluate', f'--workdir={workdir}', '--json').stdout)
    vectors = tmp_path / 'vectors.npy'
    texts = '--text=MKVwq', '--text=MKVWQ', f'--text={20 * "MKV"}'
    embedded = runner.run('embed', f'--workdir={workdir}', *texts, f'--out={vectors}', '--json')
    assert embedded.returncode == 0, embedded.stderr
    lower, upper, other = np.load(vectors)
    np.testing.assert_array_equal(lower, upper)
    assert not np.allclose(upper, other)
    assert json.loads(embedded.stdout)['texts'][0]['tokens'] == ['[CLS]', *'MKVWQ', '[SEP]']
    refused = runner.run('embed', f'--workdir={workdir}', '--text=MK-V')
    assert (refused.returncode, refused.stderr.count('\n')) == (2, 1)
    assert "the tokenizer cannot encode '-'" in refused.stderr
    columns = '--config.data.label=description', f'--config.data.path={path}'
    source = f'--config={EXPERIMENTS}/order.py', f'--config.init_from={workdir}', *columns, *BRIEF
    done = runner.run('train', *source, '--config.data.context_length=24', f'--workdir={tmp_path / "classes"}')
    assert done.returncode == 0, done.stderr
    found = json.loads(runner.run('predict', f'--workdir={tmp_path / "classes"}', '--text=MLVWQ', '--json').stdout)
    assert found['label'] in ('a', 'b')


def test_a_bad_protein_is_refused_with_its_line_before_anything_is_written(runner, tmp_path):
    path, workdir = written(tmp_path, _5='MK1V'), tmp_path / 'run'
    command = f'--config={EXPERIMENTS}/fasta.py', *SMALL, f'--config.data.path={path}', f'--workdir={workdir}'
    refused = runner.run('train', *command)
    assert refused.returncode == 2
    assert f"{path}, line 6: '1' is not an amino acid; the codes are" in refused.stderr
    assert not list(workdir.glob('checkpoints/*'))
