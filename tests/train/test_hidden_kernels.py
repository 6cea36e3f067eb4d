# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Which parameters of whole models are the matrices of Muon and of LoRA: by their axes, and no other."""

from pathlib import Path

import jax
import pytest
from flax.traverse_util import flatten_dict

from saccade.axes import KernelAxes
from saccade.build import build
from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.initial import kept
from saccade.train.optimizer import path_of

EXPERIMENTS = Path(__file__).parents[2] / 'experiments'
ATTENTION, MLP = ('key', 'output', 'query', 'value'), ('feedforward/down', 'feedforward/up')
GATED = (*MLP, 'feedforward/gate')
EXPERT, SHARED = (
    tuple(f'feedforward/{kind}/{name}' for name in ('down', 'gate', 'up')) for kind in ('expert', 'shared')
)
MIXER, CROSS = (tuple(f'{branch}/{name}' for name in ATTENTION) for branch in ('mixer', 'cross'))


def in_layers(*names, tower=''):
    return {f'{tower}layers/pattern_0/{name}' for name in names}


HIDDEN = {
    'causal_lm/quickstart.py': in_layers(*MIXER, *GATED),
    'causal_lm/mixtral_tiny.py': in_layers(*MIXER, *EXPERT),
    'causal_lm/deepseek_tiny.py': in_layers(
        *MIXER,
        *(f'mixer/{name}' for name in ('latent', 'query_latent', 'rotated_key')),
        *EXPERT,
        *SHARED,
    ),
    'masked_lm/electra_small.py': {
        *in_layers(*MIXER, *MLP, tower='generator/'),
        *in_layers(*MIXER, *MLP, tower='discriminator/'),
        *(f'{model}/embedding_output' for model in ('generator', 'discriminator')),
        'generator/masked_head/hidden',
        'discriminator/tokens_head/hidden',
    },
    'finetune/tag.py': in_layers(*MIXER, *MLP),
    'translation/dates.py': {
        *in_layers(*MIXER, *MLP, tower='encoder/'),
        *in_layers(*MIXER, *CROSS, *MLP, tower='decoder/'),
    },
    'translation/attention_only.py': {
        *in_layers('mixer/output', *MLP, tower='encoder/'),
        *in_layers('mixer/output', *CROSS, *MLP, tower='decoder/'),
    },
    'translation/dates_recurrent.py': {
        *(f'decoder/look/score/{name}' for name in ('key', 'query')),
        'decoder/readout/kernel',
    },
    'embedding/skip_gram.py': set(),
}


@pytest.mark.parametrize('name', HIDDEN)
def test_hidden_kernels_are_these_whatever_they_are_called(name):
    _, axes = kept(Experiment.of(load_config(str(EXPERIMENTS / name))))
    kernels = {path: KernelAxes.of(given) for path, given in axes.items()}
    assert {path for path, kernel in kernels.items() if kernel and kernel.is_hidden} == HIDDEN[name]


@pytest.mark.parametrize('name', ['causal_lm/deepseek_tiny.py', 'finetune/tag.py'])
def test_of_a_whole_model_muon_orthogonalises_them_and_lora_updates_those_of_its_branches(name):
    rank = "--config.low_rank={'use': 'train.low_rank:LowRank', 'rank': 2, 'alpha': 4.0}"
    updated = kept(Experiment.of(load_config(str(EXPERIMENTS / name), [rank])))[0]['low_rank']
    assert {path.rpartition('/')[0] for path in flatten_dict(updated, sep='/')} == HIDDEN[name]
    params, axes = kept(Experiment.of(load_config(str(EXPERIMENTS / name))))
    muon = build({'use': 'train.optimizer:muon', 'others': {'use': 'optax:identity'}})().of(axes)
    moments = {path_of(path) for path, _ in jax.tree_util.tree_leaves_with_path(jax.eval_shape(muon.init, params))}
    held = {path for path in flatten_dict(params, sep='/') if any(moment.endswith(f'/{path}') for moment in moments)}
    assert held == HIDDEN[name]
