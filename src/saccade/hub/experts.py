# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of decoders with a mixture of experts.

Version 5 of transformers has the experts of a layer in one tensor, [E, 2 F, D] and [E, D, F], and by default writes a
tensor for each expert, as version 4 does. Both are read, the latter is written.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from saccade.hub.encoder import FEEDFORWARD
from saccade.hub.family import Weight
from saccade.hub.layer_kinds import Kinds, depth
from saccade.hub.setting import read
from saccade.hub.template import Activation, Both, Config, Free, InnerWidth, Setting

_LAYOUTS = {'gate': 'F D -> D F', 'up': 'F D -> D F', 'down': 'D F -> F D'}
NAMES = {name: f'{name}_proj' for name in _LAYOUTS}
NUMBERED = 'block_sparse_moe', {'gate': 'w1', 'up': 'w3', 'down': 'w2'}  # as in Mixtral


def sparse_or_dense(mixture: Mapping[str, Any]) -> Kinds:
    """Return templates of the feed-forward layer, 'dense' as in the model or 'sparse', with the kind of each layer."""

    def kinds(config: Config) -> list[str]:
        step, dense = read(config, 'decoder_sparse_step', int, 1), read(config, 'mlp_only_layers', list, [])
        numbers = range(depth(config))
        return ['dense' if number in dense or (number + 1) % step else 'sparse' for number in numbers]

    def only_dense(kinds: Sequence[str]) -> dict[str, Any]:
        return {'mlp_only_layers': [number for number, kind in enumerate(kinds) if kind == 'dense']}

    return {'sparse': mixture, 'dense': {}}, Both(kinds, only_dense)


def weights(place: str, names: Mapping[str, str] = NAMES) -> tuple[Weight, ...]:
    """Return the weights of the mixture.

    Args:
        place: their name of it, in a layer.
        names: their name of each map of an expert, by ours.
    """
    router, maps = (f'{FEEDFORWARD}/router/kernel',), {name: (f'{FEEDFORWARD}/expert/{name}',) for name in names}
    whole = 'layers.*.mlp.experts'
    return (
        Weight(f'{whole}.gate_up_proj', 'E (part F) D -> part E D F', maps['gate'] + maps['up'], read_only=True),
        Weight(f'{whole}.down_proj', 'E D F -> E F D', maps['down'], read_only=True),
        Weight('layers.*.mlp.gate.weight', 'E D -> D E', router, read_only=True),
        Weight(f'layers.*.{place}.gate.weight', 'E D -> D E', router),
        *(
            Weight(f'layers.*.{place}.experts.#.{theirs}.weight', _LAYOUTS[ours], maps[ours])
            for ours, theirs in names.items()
        ),
    )


def shared(place: str, name: str) -> tuple[Weight, ...]:
    """Return the weights of an expert of all tokens. Args: their names of the mixture and of the expert."""
    stem, ours = f'layers.*.{place}.{name}', f'{FEEDFORWARD}/shared'
    return tuple(Weight(f'{stem}.{NAMES[map]}.weight', layout, (f'{ours}/{map}',)) for map, layout in _LAYOUTS.items())


def mixture(experts: Any, inner: str, renormalised: Any) -> dict[str, Any]:
    """Template of a mixture-of-experts feed-forward layer.

    Args:
        experts: template of their number.
        inner: key of the width of an expert.
        renormalised: template of whether the gates of a token are divided by their sum.
    """
    return {
        'use': 'feedforward.mixture:Mixture',
        'experts': experts,
        'active': Setting('num_experts_per_tok', int),
        'expert': {
            'use': 'feedforward.gated:Gated',
            'activation': Activation('hidden_act', 'silu'),
            'width': InnerWidth(inner, 'hidden_size'),
            'dropout': Free(0.0),
        },
        'router': {
            'use': 'feedforward.token_choice:TokenChoice',
            'score': {'use': 'jax.nn:softmax'},
            'renormalised': renormalised,
            # Only in training.
            'capacity': Free(None),
            'balance': Free(0.001),
            'z': Free(0.0),
        },
        'block': Free(64),
        'dropout': Free(0.0),
    }
