# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The catalogue misses no part, names what a part is, and says what keeps another from being one."""

import inspect

import flax.linen as nn
import pytest

from saccade.analysis.catalogue.catalogue import (
    BLOCK,
    FEEDFORWARD,
    KERNEL,
    KINDS,
    MASK,
    MIXER,
    MULTI_HEAD,
    NORM,
    PAIR_POSITION,
    ROUTER,
    SOFTMAX,
    TERM,
    TOKEN_POSITION,
    Catalogue,
    can,
    kinds_of,
)
from saccade.attention.multi_head import MultiHead
from saccade.build import all_modules, build, load
from saccade.ops.causality import require_causal
from saccade.ops.mask import Window
from saccade.parts import parts_in
from saccade.types import Capabilities, Mask, Part, UserError

FAMILIES = sorted({place for kind in KINDS for place in kind.places if place != 'ops'})


class Odd:
    def __call__(self, x, strength):
        return x


class Norma(nn.Module):
    strength: float = 1.0

    def __call__(self, x, real=None, more=1.0):
        return x


class Hungry(nn.Module):
    strength: float

    def __call__(self, x, real=None):
        return x


class Undeclared(nn.Module):
    """A kernel that does not say what it can do."""

    def __call__(self, q, k, v, scoring, train):
        return q

    def init_state(self, k, v, features, capacity):
        return k

    def step(self, q, k, v, scoring, state, context):
        return q, state


@pytest.mark.parametrize(
    ('kind', 'names'),
    [
        (NORM, {'LayerNorm', 'RMSNorm'}),
        (TOKEN_POSITION, {'NoPosition', 'Learned', 'Sinusoid'}),
        (PAIR_POSITION, {'NoPosition', 'Rotary', 'RelativeBias'}),
        (FEEDFORWARD, {'MLP', 'Gated', 'Mixture'}),
        (ROUTER, {'TokenChoice', 'LossFree', 'ExpertChoice'}),
        (KERNEL, {'Plain', 'Blockwise', 'Linear', 'Performer', 'Linformer'}),
        (MIXER, {'MultiHead', 'Differential', 'Latent', 'Retention', 'Delta'}),
        (SOFTMAX, {'Softmax', 'TopK'}),
        (MASK, {'Causal', 'Full', 'Window', 'RandomBlocks', 'all_of', 'big_bird'}),
        (TERM, {'Cosine', 'SquaredDistance', 'Softcap', 'LinearBias'}),
        (BLOCK, {'PreNorm', 'PostNorm', 'HyperConnections'}),
    ],
    ids=lambda value: value.name if hasattr(value, 'name') else '',
)
def test_known_parts_are_found(kind, names):
    assert names <= Catalogue.ours().specs(kind).keys()


def test_what_needs_arrays_and_what_is_for_others_to_inherit_is_no_variant():
    masks, terms = (Catalogue.ours().specs(kind).keys() for kind in (MASK, TERM))
    assert not masks & {'MaskBase', 'Anchored', 'Both', 'SameSegment', 'Given'}
    assert not terms & {'TermBase', 'DistanceTable', 'RelativeKeys'}


@pytest.mark.parametrize('family', FAMILIES)
def test_every_part_of_a_family_is_of_one_of_its_kinds(family):
    known = [Part(part).name for kind in KINDS if family in kind.places for part in Catalogue.ours().parts[kind]]
    assert {*parts_in(family)} <= {*known}


@pytest.mark.parametrize('family', FAMILIES)
def test_no_module_that_is_a_part_of_a_family_is_left_out_of_its_list(family):
    kinds = [kind for kind in KINDS if family in kind.places]
    strays = [
        Part(value).name
        for file in all_modules(family)
        if not file.__name__.endswith('base')  # which hold what parts inherit
        for value in vars(file).values()
        if inspect.isclass(value) and issubclass(value, nn.Module) and value.__module__ == file.__name__
        if not value.__name__.startswith('_') and any(kind.has(value) for kind in kinds)
        if Part(value).name not in parts_in(family)
    ]
    assert strays == []


@pytest.mark.parametrize('kind', KINDS, ids=lambda kind: kind.name)
def test_every_spec_builds(kind):
    for given in Catalogue.ours().specs(kind).values():
        build(given)()


@pytest.mark.parametrize(
    ('use', 'kinds'),
    [
        ('position.none:NoPosition', [PAIR_POSITION, TOKEN_POSITION]),
        ('score.cosine:Cosine', [TERM]),
        ('block.pre_norm:PreNorm', [BLOCK]),
        ('attention.multi_head:MultiHead', [MIXER]),
        ('ops.pattern:big_bird', [MASK]),
    ],
)
def test_a_part_is_of_the_kinds_whose_methods_it_has(use, kinds):
    assert kinds_of(load(use)) == kinds


def test_a_class_with_other_arguments_is_no_part():
    assert kinds_of(Odd) == []
    assert kinds_of(Norma) == [NORM]


def here(name):
    return f'{__name__}:{name}'


def test_one_part_makes_a_catalogue_of_its_own():
    found = Catalogue.of(here('Norma'), '--variant')
    assert found.specs(NORM) == {'Norma': {'use': here('Norma')}}
    assert not found.mixers()


class Sized(nn.Module):
    """A norm with defaults for fields that the package's parts have by the same names, and without one for `count`."""

    count: int
    size: int = 16
    activation: str = 'mine'
    heads: int = 8

    def __call__(self, x, real=None):
        return x


class Exemplary(Sized):
    example = {'size': 8, 'count': 5}  # noqa: RUF012, as a reader would write it


def test_defaults_of_a_part_from_elsewhere_are_its_own():
    assert Catalogue.of(here('Sized'), '--variant').specs(NORM) == {'Sized': {'use': here('Sized'), 'count': 2}}
    assert Catalogue.of(here('Exemplary'), '--variant').specs(NORM) == {
        'Exemplary': {'use': here('Exemplary'), 'size': 8, 'count': 5}
    }


@pytest.mark.parametrize(
    ('name', 'words'),
    [
        ('Odd', r'--variant: .*Odd is no part with contract tests: as .* it has no __call__\('),
        ('Hungry', "no value is known to try its field 'strength' with.*example = dict"),
        ('Undeclared', "no part with contract tests: as kernel it has no 'capabilities'"),
        ('Norm', "did you mean 'Norma'"),
    ],
)
def test_what_is_no_part_is_refused_in_one_line(name, words):
    with pytest.raises(UserError, match=words) as refused:
        Catalogue.of(here(name), '--variant')
    assert '\n' not in str(refused.value)


def test_what_a_mixer_can_do_is_what_all_of_it_can():
    assert can({**MULTI_HEAD, 'kernel': {'use': 'attention.linear:Linear'}}) == Capabilities(
        terms=False, sums=True, time='B T N R H', memory='B T N H', state='K R H'
    )
    assert not can({**MULTI_HEAD, 'position': {'use': 'position.alibi:ALiBi'}}).equivariant
    assert can({'use': 'norm.layer:LayerNorm'}) == Capabilities()


class Inherits(MultiHead):
    """A mixer of somebody's own with the conventions of ours."""


class Windowed(MultiHead):
    """A mixer of somebody's own with a mask of its own."""

    mask: Part[Mask] = Part(Window, (('left', 3),))


def test_a_part_of_ones_own_is_tried_with_the_values_for_inherited_conventions_and_keeps_its_own():
    ours = MIXER.spec(MultiHead)
    assert {name: MIXER.spec(Inherits)[name] for name in ('mask', 'kernel', 'position')} == {
        name: ours[name] for name in ('mask', 'kernel', 'position')
    }
    assert 'mask' not in MIXER.spec(Windowed)


def test_a_mixer_that_is_never_causal_is_refused_by_causal_models():
    mixers = Catalogue.ours().specs(MIXER).values()
    never = [spec for spec in mixers if not can(spec).causal]
    assert {'Fourier', 'Induced'} <= {spec['use'].rpartition(':')[2] for spec in never}
    for spec in never:
        with pytest.raises(UserError, match=rf'does not support {spec["use"]}, where a token depends on later ones'):
            require_causal('model.decoder:Decoder', build(spec))
