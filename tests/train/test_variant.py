# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The plan of a run names the variant that it trains."""

from pathlib import Path

import pytest

from saccade.build import build
from saccade.train.config import load_config
from saccade.train.variant import variant_lines

EXPERIMENTS = Path(__file__).parents[2] / 'experiments'
QUICKSTART = 'causal_lm/quickstart.py'
SHIPPED = sorted(
    str(file.relative_to(EXPERIMENTS))
    for file in EXPERIMENTS.glob('*/*.py')
    if 'def get_config(' in file.read_text() and file.stem != 'distil'  # whose teacher is yet to be named
)
LABEL = 12


def described(name, *overrides):
    config = load_config(str(EXPERIMENTS / name), [f'--config.model.{each}' for each in overrides])
    return list(variant_lines(build(config['model'])))


def test_a_decoder_is_named_with_its_heads_kernel_mask_position_and_norms():
    assert described(QUICKSTART) == [
        'model       Decoder, 4 layers of width 192; position NoPosition',
        'block       PreNorm, norms RMSNorm',
        'mixer       MultiHead, 6 heads of 32; kernel Plain; mask Causal; position Rotary',
        'feedforward Gated; activation silu',
    ]


@pytest.mark.parametrize(
    ('override', 'words'),
    [
        ('block.mixer.key_value_heads=2', '6 heads of 32, 2 key/value heads;'),
        ('block.mixer.key_value_heads=1', '1 key/value head;'),
        ('block.mixer.head_width=16', '6 heads of 16;'),
        ("block.mixer.mask={'use': 'ops.mask:Window', 'left': 7}", 'mask Window(left=7)'),
        ("block.mixer.kernel={'use': 'attention.blockwise:Blockwise'}", 'kernel Blockwise'),
        ("block.mixer.position={'use': 'position.alibi:ALiBi'}", 'position ALiBi'),
        ("block.mixer.terms=[{'use': 'ops.term:Softcap', 'cap': 50.0}]", 'terms Softcap(cap=50)'),
        ("block.mixer.head_norm={'use': 'norm.rms:RMSNorm'}", 'head_norm RMSNorm'),
        ("block.norm={'use': 'norm.layer:LayerNorm'}", 'norms LayerNorm, RMSNorm last'),
        ("block.norms={'mixer': {'use': 'norm.none:NoNorm'}}", 'PreNorm, norms RMSNorm, mixer NoNorm'),
        ('block.feedforward=None', 'PreNorm(feedforward=None), norms RMSNorm'),
    ],
)
def test_what_was_changed_is_named(override, words):
    assert sum(words in line for line in described(QUICKSTART, override)) == 1


def test_both_sides_of_an_encoder_decoder_are_named_and_cross_attention():
    lines = described('translation/dates.py')
    assert [line.split()[0] for line in lines] == [
        'encoder', 'block', 'mixer', 'feedforward', 'decoder', 'block', 'mixer', 'feedforward', 'cross',
    ]  # fmt: skip


def test_alike_blocks_of_a_pattern_are_described_once():
    lines = described('causal_lm/hybrid.py')
    assert [line for line in lines if line.startswith('block')] == [
        'block       layers 1, 2, 3 of every 4: PreNorm, norms RMSNorm(epsilon=1e-05)',
        'block       layers 4 of every 4: PreNorm, norms RMSNorm(epsilon=1e-05)',
    ]


def test_a_recurrent_model_is_named_by_its_encoder_and_decoder():
    lines = described('translation/dates_recurrent.py')
    assert 'decoder     Bahdanau(layers=1); cell LSTM(width=128); attention Soft(score=Additive(width=128))' in lines


@pytest.mark.parametrize('name', SHIPPED)
def test_every_experiment_is_described(name):
    assert all(len(line) > LABEL for line in described(name))


def test_first_and_last_blocks_are_told_apart_from_the_pattern():
    lines = described('causal_lm/gemma3_tiny.py')
    blocks = [line.split(': ')[0] for line in lines if line.startswith('block')]
    assert blocks == [
        'block       layers 1, 2, 3, 4, 5 of every 6', 'block       layers 6 of every 6', 'block       last 2 layers'
    ]  # fmt: skip
