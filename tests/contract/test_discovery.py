# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Discovery misses nothing, and what each file says of itself."""

import ast
import inspect
import re

import flax.linen as nn
import pytest
from discovery import PROTOCOLS, classes, find, modules, satisfies

from saccade.types import Block, FeedForward, Kernel, Mixer, Norm, PairPosition, Router, TokenPosition

LONGEST_DOCSTRING = 12  # lines

FILES = {module.__name__: (family, module) for family in PROTOCOLS for module in modules(family)}
VARIANTS = {
    name: module
    for name, (family, module) in FILES.items()
    if any(satisfies(part, protocol) for part in classes(module) for protocol in PROTOCOLS[family])
}


@pytest.mark.parametrize(
    ('family', 'protocol', 'names'),
    [
        ('norm', Norm, {'LayerNorm', 'RMSNorm'}),
        ('position', TokenPosition, {'NoPosition', 'Learned', 'Sinusoid'}),
        ('position', PairPosition, {'NoPosition', 'Rotary', 'RelativeBias'}),
        ('feedforward', FeedForward, {'MLP', 'Gated', 'Mixture'}),
        ('feedforward', Router, {'TokenChoice', 'LossFree', 'ExpertChoice'}),
        ('attention', Kernel, {'Plain', 'Blockwise', 'Linear', 'Performer', 'Linformer'}),
        ('attention', Mixer, {'MultiHead', 'Retention', 'Delta'}),
        ('block', Block, {'PreNorm', 'PostNorm'}),
    ],
)
def test_known_parts_are_found(family, protocol, names):
    assert names <= {part.__name__ for part in find(family, protocol)}


@pytest.mark.parametrize('name', FILES)
def test_every_module_of_a_family_is_one_of_its_parts(name):
    family, module = FILES[name]
    strays = [
        part
        for part in classes(module)
        if issubclass(part, nn.Module)
        and not part.__name__.startswith('_')
        and not any(satisfies(part, protocol) for protocol in PROTOCOLS[family])
    ]
    assert strays == []


def test_a_class_with_other_arguments_is_no_part():
    class Odd:
        def __call__(self, x, strength):
            return x

    class Norma(Odd):
        def __call__(self, x, strength=1.0):
            return x

    assert not satisfies(Odd, Norm)
    assert satisfies(Norma, Norm)
    assert not satisfies(Norma, FeedForward)


@pytest.mark.parametrize('name', VARIANTS)
def test_a_variant_names_its_source_in_a_short_docstring(name):
    docstring = ast.get_docstring(ast.parse(inspect.getsource(VARIANTS[name])))
    assert re.search(r'https?://\S+', docstring)
    assert re.search(r'\b(19|20)\d\d\b', docstring)
    assert len(docstring.splitlines()) <= LONGEST_DOCSTRING


def test_a_kernel_declares_what_it_can_do():
    for kernel in find('attention', Kernel):
        assert kernel.can.time
        assert kernel.can.memory
