# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""launch/inside.py on a trained run: attention, lens, ablation, patching; every mistake in one line."""

import csv
import json

import numpy as np
import pytest

import saccade

pytestmark = pytest.mark.long

WORDS = 'the cat'
TEXT = f'--text={WORDS}'


def test_attention_is_that_of_the_model(runner, finished, tmp_path):
    done = runner.run('inside', 'attention', f'--workdir={finished}', TEXT, f'--out={tmp_path / "a.npz"}')
    assert done.returncode == 0, done.stderr
    _, found = saccade.load(str(finished)).run_with_cache(WORDS, names='*.pattern')
    with np.load(tmp_path / 'a.npz') as kept:
        weights = [kept[name] for name in kept.files if kept[name].ndim == 3]
    for given, expected in zip(weights, found.values(), strict=True):
        np.testing.assert_allclose(given, expected[0], atol=1e-6)


def test_a_page_and_a_picture_are_written(runner, finished, tmp_path):
    for name, more in (('a.html', ()), ('a.png', ('--layer=layers.0', '--head=1'))):
        done = runner.run('inside', 'attention', f'--workdir={finished}', TEXT, f'--out={tmp_path / name}', *more)
        assert done.returncode == 0, done.stderr
    assert WORDS in (tmp_path / 'a.html').read_text()
    assert (tmp_path / 'a.png').read_bytes().startswith(b'\x89PNG')


def test_the_lens_ends_with_the_prediction(runner, finished):
    done = runner.run('inside', 'lens', f'--workdir={finished}', TEXT, '--json')
    assert done.returncode == 0, done.stderr
    (grid,) = json.loads(done.stdout)['grids']
    logits, _ = saccade.load(str(finished)).run_with_cache(WORDS, names=())
    shares = np.exp(logits[0] - np.logaddexp.reduce(logits[0], axis=-1, keepdims=True))
    np.testing.assert_allclose(grid['values'][-1], shares.max(axis=-1), atol=1e-5)


def test_the_tuned_lens_is_nearer_than_the_logit_lens(runner, finished):
    done = runner.run('inside', 'lens', f'--workdir={finished}', TEXT, '--tuned', '--steps=200', '--json')
    assert done.returncode == 0, done.stderr
    tuned, compared = json.loads(done.stdout)['grids']
    assert (tuned['title'], compared['columns']) == ('Tuned lens', ['logit lens', 'tuned lens'])
    logit, own = np.transpose(compared['values'])
    assert (own <= logit).all(), compared
    assert (own[:-1] < logit[:-1]).all(), compared
    np.testing.assert_allclose(own[-1], 0, atol=1e-6)


def test_a_lens_of_masked_tokens_is_tuned(runner, encoder, tmp_path):
    out = tmp_path / 'lens.html'
    done = runner.run('inside', 'lens', f'--workdir={encoder}', TEXT, '--tuned', '--steps=5', f'--out={out}')
    assert done.returncode == 0, done.stderr
    assert 'KL divergence' in out.read_text()


@pytest.mark.parametrize('replace', ['zero', 'mean'])
def test_the_loss_without_each_head(runner, finished, tmp_path, replace):
    out = tmp_path / 'heads.csv'
    done = runner.run(
        'inside', 'ablate', f'--workdir={finished}', '--batches=1', f'--replace={replace}', f'--out={out}'
    )
    assert done.returncode == 0, done.stderr
    rows = [*csv.DictReader(out.read_text().splitlines())]
    config = saccade.load(str(finished)).config['model']
    assert len(rows) == config['layers'] * config['block']['mixer']['heads']
    assert any(float(row['value']) != 0 for row in rows)


def test_a_loss_of_several_terms_is_their_sum(runner, encoder):
    done = runner.run('inside', 'ablate', f'--workdir={encoder}', '--batches=2', '--json')
    assert done.returncode == 0, done.stderr
    (grid,) = json.loads(done.stdout)['grids']
    assert np.isfinite(grid['values']).all()


def test_patching_writes_a_page(runner, finished, tmp_path):
    out = tmp_path / 'patch.html'
    texts = '--clean=the cat', '--corrupted=the cab', '--answers=m,c'
    done = runner.run('inside', 'patch', f'--workdir={finished}', *texts, f'--out={out}')
    assert done.returncode == 0, done.stderr
    assert 'Residual stream, by token' in out.read_text()


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        (('atention', '--workdir={run}', TEXT), "there is no command 'atention', but attention, lens, ablate, patch"),
        (('attention', '--workdir={run}'), 'give either a text or an image'),
        (('attention', '--workdir={run}', TEXT, '--out=a.gif'), '.html, .pdf, .png, .svg, .npz'),
        (('attention', '--workdir={run}', TEXT, '--out=a.html', '--layer=layers.9'), "'layers.9'"),
        (('attention', '--workdir={run}', '--text=' + 99 * 'the cat ', '--out=a.html'), 'the model reads at most'),
        (('attention', '--workdir={run}', TEXT, '--target=x', '--out=a.html'), '--target has no use'),
        (('attention', '--workdir={run}', '--image=a.png', '--out=a.html'), 'reads no patches of images'),
        (('lens', '--workdir={run}', TEXT, '--head=1'), '--head has no effect'),
        (('lens', '--workdir={run}', TEXT, '--steps=9'), '--steps has no effect without --tuned'),
        (('lens', '--workdir={run}', TEXT, '--batches=9'), '--batches has no effect without --tuned'),
        (('lens', '--init_from={run}', TEXT, '--tuned'), '--init_from has no effect with --tuned: give --workdir'),
        (('attention', '--workdir={run}', TEXT, '--tuned'), '--tuned has no effect with attention'),
        (('ablate', '--workdir={run}', TEXT), '--text has no effect'),
        (('patch', '--workdir={run}', '--clean=the cat', '--corrupted=the'), 'the same number of tokens'),
        (('--workdir={run}', TEXT), 'write attention, lens, ablate or patch first'),
    ],
)
def test_mistakes_are_answered_in_one_line(runner, finished, arguments, words):
    done = runner.run('inside', *(argument.format(run=finished) for argument in arguments))
    assert done.returncode == 2, done.stdout
    (line,) = done.stderr.strip().splitlines()
    assert words in line
