# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Equations of docstrings as TeX: every one is translated, with balanced braces and nothing but what TeX knows."""

import ast
import re

import pytest

from saccade.analysis.equations import is_equation, terms, tex
from saccade.parts import parts, sources

BLOCK = re.compile(r'(?:^ {4}.*\n?|^\n(?= {4}))+', re.M)
COMMANDS = {
    *('alpha', 'beta', 'cdot', 'dots', 'epsilon', 'gamma', 'ge', 'lambda', 'le', 'leftarrow', 'max', 'mu'),
    *('operatorname', 'phi', 'pi', 'prod', 'sigma', 'sim', 'sqrt', 'sum', 'tau', 'text', 'theta', 'tilde', 'to'),
}  # fmt: skip


def equations():
    """Lines of equations of the modules of parts, by module."""
    for module in parts():
        words = ast.get_docstring(ast.parse(sources()[f'saccade.{module}'])) or ''
        for block in filter(is_equation, BLOCK.findall(words)):
            yield from ((module, line) for line in block.strip('\n').splitlines())


@pytest.mark.parametrize(
    ('term', 'expected'),
    [
        ('S_(t-1) + k_t v_t^T', r'S_{t-1} + k_{t}\,v_{t}^{T}'),
        ('q_i.k_j <= 0.5', r'q_{i}\cdot k_{j} \le  0.5'),
        ('softmax(scale Q K^T) V', r'\operatorname{softmax}(\text{scale}\ Q\,K^{T})\,V'),
        ('x Wq / sqrt(H)', r'x\,W_{q} / \sqrt{H}'),
        ('c_gj Uk_n', r'c_{gj}\,U_{k,n}'),
        ('W1 x over all j', r'W_{1}\,x\ \text{over}\ \text{all}\ j'),
        ('sum_j p_j, alpha K~^T', r'\sum _{j}\,p_{j}, \alpha  \tilde{K}^{T}'),
        ('mean = scale x', r'\text{mean} = \text{scale}\ x'),
        ('1 - 2^(-5-n)', '1 - 2^{-5-n}'),
        ("|a'| [S_max] p_{t+1}", r"|a'| [S_{\max}]\,p_{t+1}"),
        ('as `attention.delta:Delta_2`', r'\text{as}\ \text{attention.delta:Delta\_2}'),
    ],
)
def test_a_term_is_translated_token_by_token(term, expected):
    assert tex(term) == expected


def test_a_line_is_split_where_spaces_are_wide_except_at_an_equals_sign():
    assert terms('    y  =  a,   b = c      over all j') == ['y = a,', 'b = c', r'\text{over}\ \text{all}\ j']


@pytest.mark.parametrize(
    'block',
    [
        "    --config.adapt=\"{'use': 'train.init.partial:body'}\"",
        "    config.optimizer.projection = dict(use='train.unit_vectors:UnitVectors')",
        '    a b c >      the answers at the first three positions are a b c',
        '    x = a b,  source = a <0>',
    ],
)
def test_commands_and_data_are_no_equations(block):
    assert not is_equation(block)


def test_every_equation_is_tex_with_balanced_braces_and_known_commands():
    found = [(module, line, ' '.join(terms(line))) for module, line in equations()]
    assert len(found) > 200
    for module, line, made in found:
        bare = made.replace(r'\{', '').replace(r'\}', '')
        assert bare.count('{') == bare.count('}'), (module, line, made)
        assert {*re.findall(r'\\([A-Za-z]+)', made)} <= COMMANDS, (module, line, made)
        # Outside of text, MathJax reads every letter as a variable.
        assert not re.search(r'[a-z]{5,}', re.sub(r'\\(?:text|operatorname)\{[^}]*\}|\\[a-z]+', '', made)), (
            module,
            made,
        )
