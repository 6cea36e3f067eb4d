# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The tables of the variants: what they say, and that the README says the same; and the README's own variant."""

import io
import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from rich.console import Console

from saccade.analysis.catalogue import matrix, readme
from saccade.analysis.catalogue.catalogue import KINDS, Catalogue
from saccade.types import UserError

ROOT = Path(__file__).parents[2]
README = ROOT / 'README.md'
OURS = Catalogue.ours()


def said(kind, use):
    return matrix.as_json(OURS)['variants'][kind][use]


@pytest.mark.long
def test_attention_says_what_it_can_do():
    linear, latent = said('kernel', 'attention.linear:Linear'), said('mixer', 'attention.latent:Latent')
    assert (linear['causal'], linear['score terms'], linear['state']) == ('yes', '-', 'K R H')
    assert (latent['score terms'], latent['state']) == ('by position', 'S (R + H)')
    assert said('kernel', 'attention.linformer:Linformer')['decodes'] == '-'


@pytest.mark.long
def test_other_kinds_say_what_makes_sense_of_them():
    assert said('softmax variant', 'softmax.top_k:TopK')['block by block'] == '-'
    assert said('mask', 'ops.mask:Causal')['causal'] == 'yes'
    assert said('pairwise position', 'position.shaw:Shaw')['scores changed'] == 'by content'
    assert said('router', 'feedforward.expert_choice:ExpertChoice')['later tokens matter'] == 'yes'
    assert said('block', 'block.pre_norm:PreNorm')['identity without branches'] == 'yes'


@pytest.mark.long
def test_every_part_has_a_row():
    for kind, table in zip(KINDS, matrix.tables(OURS), strict=True):
        assert len(table.rows) == len(OURS.parts[kind]) > 0
        assert {len(row) for row in table.rows} == {len(table.columns)}


@pytest.mark.long
@pytest.mark.parametrize('width', [60, 80, 120, 200])
def test_no_name_is_broken_however_wide_the_terminal_is(width):
    console = Console(width=width, file=io.StringIO())
    matrix.show(OURS, console)
    printed = console.file.getvalue()
    words = set(re.split(r'[\s│┃,;]+', printed))
    for table in matrix.tables(OURS):
        assert table.title in printed
        for use, *said in table.rows:
            assert use in words
            assert words.issuperset(word for value in said for word in re.split(r'[\s,;]+', value) if value != '-')
    longest = max(len(row[0]) for table in matrix.tables(OURS) for row in table.rows)
    assert max(map(len, printed.splitlines())) <= max(width, longest)
    assert words.issuperset(re.split(r'[\s,]+', matrix.counts(OURS)))


@pytest.mark.long
def test_a_narrow_terminal_gets_a_list_of_what_each_can_do():
    console = Console(width=80, file=io.StringIO())
    matrix.show(OURS, console)
    assert (
        'attention.latent:Latent\n'
        '    causal, full, cross, packed, equivariant, decodes\n'
        '    score terms by position; state S (R + H); time B N T S; memory B N T S\n'
    ) in console.file.getvalue()


def test_the_readme_says_what_there_is():
    _, written, _ = readme.parted(README)
    assert written == readme.section(OURS), 'README.md is out of date: run python launch/variants.py --write'


def test_the_readme_is_changed_between_two_comments_alone(tmp_path):
    file = tmp_path / 'README.md'
    file.write_text(f'before\n{readme.START}\nold\n{readme.END}\nafter\n')
    readme.write(file, OURS)
    before, written, after = readme.parted(file)
    assert (before, written, after) == ('before\n', readme.section(OURS), '\nafter\n')


def test_a_readme_without_a_place_is_refused(tmp_path):
    (tmp_path / 'README.md').write_text('nothing')
    with pytest.raises(UserError, match='no place for the variants'):
        readme.write(tmp_path / 'README.md', OURS)


def run(folder, *arguments):
    """Run Python in a folder, as a user would."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith('PYTEST')}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=600
    )


@pytest.mark.long
def test_the_launcher_prints_one_json_object(tmp_path):
    done = run(tmp_path, str(ROOT / 'launch/variants.py'), '--json')
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == matrix.as_json(OURS)


@pytest.fixture
def variant(tmp_path):
    """The folder of a user who has copied the variant out of the README."""
    block = re.search(r'## Add a variant.*?```python\n(.*?)```', README.read_text(), re.DOTALL)[1]
    assert len(block.splitlines()) < 30
    (tmp_path / 'my_attention.py').write_text(textwrap.dedent(block))
    return tmp_path


CONTRACT = (str(ROOT / 'tests/contract'), '-q', '-p', 'no:cacheprovider', '--variant')


@pytest.mark.long
def test_the_variant_of_the_readme_keeps_its_contract_and_trains(variant):
    done = run(variant, '-m', 'pytest', *CONTRACT, 'my_attention:Mine')
    assert done.returncode == 0, done.stdout
    assert re.search(r'\b[34]\d passed', done.stdout)
    config = str(ROOT / 'experiments/causal_lm/quickstart.py')
    swap = re.search(r'`(--config\.model\.block\.mixer\.use=.*?)`', README.read_text())[1]
    small = [f'--config.{field}' for field in ('steps=2', 'model.layers=1', 'batch_size=2', 'eval_batches=1')]
    arguments = (f'--config={config}', '--workdir=run', swap, *small)
    done = run(variant, str(ROOT / 'launch/train.py'), *arguments)
    assert done.returncode == 0, done.stderr
    assert 'my_attention:Mine' in (variant / 'run/config.json').read_text()
    assert '"step": 2' in (variant / 'run/metrics.jsonl').read_text()


@pytest.mark.long
def test_a_variant_that_leaks_the_future_is_found_out(variant):
    file = variant / 'my_attention.py'
    leak = 'retain(q + x.mean(axis=1, keepdims=True)[..., None, :4], '
    file.write_text(file.read_text().replace('retain(q, ', leak))
    done = run(variant, '-m', 'pytest', *CONTRACT, 'my_attention:Mine', '-k', 'jacobian')
    assert done.returncode == 1, done.stdout


@pytest.mark.long
@pytest.mark.parametrize(
    ('use', 'words'),
    [
        ('my_attention:jnp', 'is no part with contract tests: it is no class'),
        ('my_attention:Min', "did you mean 'Mine'"),
    ],
)
def test_what_is_no_variant_is_refused_in_one_line(variant, use, words):
    done = run(variant, '-m', 'pytest', *CONTRACT, use)
    assert done.returncode == 4
    assert done.stderr.count('\n') <= 2
    assert words in done.stderr
