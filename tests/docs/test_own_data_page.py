# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The data sets in the guide: a reader's files with them train by the page's commands."""

import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest

from saccade.train.config import load_config
from saccade.train.loop import Options, train
from saccade.types import IGNORED, UserError

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / 'docs/guides/own_data.md').read_text()
GENERATOR, DATA, _ = re.findall(r'```python\n(.*?)```', PAGE, re.S)
SMALL = '--config.batch_size=4', '--config.steps=2', '--config.schedule.warmup=0', '--config.eval_batches=2'
NARROW = '--config.model.width=16', '--config.model.layers=1', '--config.model.block.mixer.heads=2'
TOKENS = np.random.default_rng(0).integers(0, 50, 400).astype(np.uint16)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The folder that a reader runs in, with the files of the page, and token ids."""
    (tmp_path / 'my_generator.py').write_text(GENERATOR)
    (tmp_path / 'my_data.py').write_text(DATA)
    (tmp_path / 'FOLDER').mkdir()
    for file, tokens in {'train.bin': TOKENS, 'val.bin': TOKENS[:150]}.items():
        tokens.tofile(tmp_path / 'FOLDER' / file)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for name in ('my_generator', 'my_data'):
        sys.modules.pop(name, None)


def trained(folder, name, *overrides):
    """The last evaluation of the command of a run, which is made small."""
    commands = PAGE.replace('\\\n', ' ').splitlines()
    (command,) = (line for line in commands if line.startswith('python launch/train.py') and f'runs/{name} ' in line)
    _, _, config, _, *own = shlex.split(command)
    resolved = load_config(str(ROOT / config.removeprefix('--config=')), [*own, *SMALL, *NARROW, *overrides])
    return train(resolved, str(folder / name), Options(quiet=True))


@pytest.mark.long
def test_the_generator_trains(folder):
    assert trained(folder, 'largest', '--config.data.validation=8')['targets'] == 8


def test_the_answers_of_the_generator_are_the_largest_numbers(folder):
    from my_generator import LargestSoFar

    example = LargestSoFar(numbers=8, unanswered=3).example(np.random.default_rng(0).random, 20)
    assert example.targets.tolist() == [IGNORED] * 3 + [max(example.tokens[: n + 1]) for n in range(3, 20)]


@pytest.mark.long
def test_the_token_files_train_and_a_run_refuses_other_tokens(folder):
    vocabulary = '--config.model.vocabulary=50', '--config.data.vocabulary=50'
    final = trained(folder, 'ids', *vocabulary)
    assert (final['step'], final['targets']) == (2, 149)
    (folder / 'FOLDER/train.bin').write_bytes(TOKENS[1:].tobytes())
    with pytest.raises(UserError, match='differ'):
        trained(folder, 'ids', *vocabulary)


def test_the_token_files_refuse_what_does_not_fit(folder):
    with pytest.raises(UserError, match=r'config\.model\.vocabulary: must be at least 50257'):
        trained(folder, 'ids', '--config.model.vocabulary=50')
    with pytest.raises(
        UserError, match=r'baseline.ngram:bigram_nats needs .* the data have no tokenizer; set --config.b'
    ):
        trained(folder, 'ids', "--config.baseline={'use': 'baseline.ngram:bigram_nats'}")
    (folder / 'FOLDER/val.bin').unlink()
    with pytest.raises(UserError, match=r'config\.data\.path: .*val\.bin'):
        trained(folder, 'ids')
