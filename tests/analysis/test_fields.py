# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Fields of parts and of experiments, as the terminal shows them."""

import io

import pytest
from rich.console import Console

from saccade.analysis.fields import of_config, of_part
from saccade.train.config import load_config
from saccade.types import UserError


def shown(described, width=100):
    console = Console(file=io.StringIO(), width=width, highlight=False)
    described.show(console)
    return console.file.getvalue()


def test_a_part_has_its_fields_with_types_defaults_and_meanings():
    said = shown(of_part('attention.multi_head:MultiHead'))
    assert '  heads = required    (int, at least 1)\n        number of query heads (N).\n' in said
    assert (
        '  key_value_heads = None    (int, at least 1 or None)\n        number of key/value heads (K); None for N.\n'
        in said
    )
    assert "  kernel = {'use': 'attention.plain:Plain'}    (part (Kernel))\n        how queries attend to keys" in said


def test_a_part_of_the_users_has_the_meanings_of_its_docstring(tmp_path, monkeypatch):
    (tmp_path / 'my_offsets.py').write_text(
        'from dataclasses import dataclass\n@dataclass\nclass Offset:\n'
        '    """Offset.\n\n    Attributes:\n        size: how far it moves.\n    """\n    size: int = 3\n'
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert '  size = 3    (int)\n        how far it moves.\n' in shown(of_part('my_offsets:Offset'))


def test_an_experiment_has_every_field_of_every_part_as_an_override():
    config = load_config('causal_lm/quickstart', ["--config.model.norm={'use': 'norm.layer:LayerNorm'}"])
    said = ''.join(map(shown, of_config(config)))
    assert '  --config.seed = 0    (int, at least 0 and at most 4294967295)\n' in said
    assert '  --config.model.block.mixer.heads = 6    (int, at least 1)\n' in said
    assert '  --config.model.norm = norm.layer:LayerNorm    (part (Norm))\n' in said
    assert '--config.optimizer.rule.b1 = 0.9' in said


def test_no_line_is_wider_than_the_terminal_where_words_can_break():
    for described in of_config(load_config('causal_lm/quickstart')):
        meanings = [line for line in shown(described, 60).splitlines() if line.startswith(8 * ' ')]
        assert all(len(line) <= 60 for line in meanings)


def test_a_part_that_is_none_is_refused():
    with pytest.raises(UserError, match="did you mean 'MultiHead'"):
        of_part('attention.multi_head:MultiHed')
