# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The reference of the documentation: it has every part, flag and experiment, and says of each what the code says."""

import functools
import re
from pathlib import Path
from typing import Annotated, Literal

import pytest

from saccade.analysis import reference
from saccade.analysis.catalogue.catalogue import Catalogue
from saccade.build import load
from saccade.parts import parts
from saccade.types import Count, Norm, Part, Range

ROOT = Path(__file__).parents[2]
LISTED = {f'{module}:{name}' for module, names in parts().items() for name in names}


@functools.cache
def sections():
    """What stands under each config name, in all pages."""
    found = {}
    for module in parts():
        page = reference.module_page(f'saccade.{module}')
        for name, text in re.findall(r'^`([\w.]+:\w+)`\n(.*?)(?=^## |\Z)', page, re.M | re.S):
            assert name not in found
            found[name] = text
    return found


def section(name):
    return reference.part_section(load(name))


@pytest.mark.long
def test_it_has_every_part_and_nothing_else():
    assert {*sections()} == LISTED


def test_every_part_that_a_field_holds_is_listed():
    assert {Part(part).name for found in Catalogue.ours().parts.values() for part in found} <= LISTED
    assert {'norm.rms:RMSNorm', 'ops.activation:quick_gelu', 'data.tokenizer.byte:Byte', 'gain:Gain'} <= LISTED


def test_all_that_the_experiments_name_exists():
    text = '\n'.join(file.read_text() for file in (ROOT / 'experiments').rglob('*.py'))
    named = {name for name in re.findall(r"'([\w.]+:\w+)'", text) if not name.startswith(('jax', 'optax'))}
    assert {'model.encoder:Encoder', 'ops.pool:first', 'task.causal_lm:CausalLM'} <= named
    assert named <= LISTED


@pytest.mark.long
def test_a_part_has_its_equation_its_source_its_fields_and_its_capabilities():
    text = reference.module_page('saccade.score.cosine')
    assert r'{math}`s[n, i, j] = \text{gain}[n]\,q[n, i]\cdot k[g, j]' in text
    assert '<https://arxiv.org/abs/2111.09883>' in text
    assert '| `gain` | float, above 0 | `10` | the initial gain, 10 in the authors' in text
    assert '**Declares.** Yes: equivariant. No: reads the input. scores changed: by content.' in text


def test_a_field_has_its_type_its_default_and_its_meaning():
    text = section('attention.multi_head:MultiHead')
    assert '| `heads` | int, at least 1 | required | number of query heads (N). |' in text
    assert (
        '| `key_value_heads` | int, at least 1 or None | `None` | number of key/value heads (K); None for N. |' in text
    )
    assert "`{'use': 'jax.nn.initializers:lecun_normal'}`" in text


def test_a_field_is_described_where_its_base_or_a_sentence_tells_of_it():
    assert '| `chunk` | int, at least 1 | `64` | tokens processed at once' in section('attention.retention:Retention')
    assert '| factors of the hidden features |' in section('feedforward.rescaled_gated:RescaledGated')


def test_a_part_has_its_public_methods_with_their_arguments_and_meaning():
    said, delta = section('attention.multi_head:MultiHead'), section('attention.delta:Delta')
    assert '| method | meaning |' in said
    assert '| `project(x, context, made)` | Return queries of x, and keys and values' in said
    assert '`_attention' not in said
    assert '| `__call__(x, real=None)` |  |' in section('norm.rms:RMSNorm')  # Python's own words are left out
    assert '| `write_shares(x, copies=1)` | Return b, `copies` per head' in delta
    assert 'From `attention.memory_base:FixedState`: `head_counts`, `init_state`, `mix`.' in delta
    assert '| method |' not in section('ops.pattern:big_bird')


def test_a_page_ends_with_the_methods_of_base_classes():
    rooms = {room: reference.room_page(room) for room in ('attention', 'task')}
    bases = rooms['attention'].partition('## Base classes')[2]
    assert '### `attention.memory_base:FixedState`\n\n| method' in bases
    assert '| `update_state(x, q, k, v, context, state)` | Return each head' in bases
    assert '### `attention.multi_head:MultiHead`' not in bases
    assert '| `init(model, key, batch)` | Initialise the model' in rooms['task']


def test_what_a_caller_gives_is_no_field():
    assert '`heads`' in section('train.init.partial:body')
    assert '`params`' not in section('train.init.partial:body')
    assert 'It has no fields.' in section('ops.masking:choose_words')


def test_a_function_says_what_it_does_after_its_module():
    page = reference.module_page('saccade.ops.similarity')
    assert 'Similarity of vectors; for vectors of norm 1' in page
    assert 'Return an initialiser of uniformly distributed unit vectors along an axis' in page


@pytest.mark.long
def test_a_room_lists_its_parts_by_kind_with_links_to_their_pages(tmp_path):
    page = reference.room_page('position')
    assert page.startswith('# Position encodings\n\nPosition encodings, one per file')
    pairwise, tokens = (
        page.partition(f'## {kind} position')[2].partition('\n## ')[0] for kind in ('Pairwise', 'Token')
    )
    assert '| [`position.rotary:Rotary`](position/rotary.md) | Rotary position embedding (RoPE)' in pairwise
    assert '[`position.sinusoid:Sinusoid`](position/sinusoid.md)' in tokens
    reference.write(ROOT, tmp_path)
    for file in tmp_path.rglob('*.md'):
        text = file.read_text()
        docs = ROOT / 'docs/reference' / file.relative_to(tmp_path)  # pages that are not generated are there
        for link in re.findall(r'\]\(([\w./]+\.md)\)', text):
            assert (file.parent / link).is_file() or (docs.parent / link).resolve().is_file(), (file, link)
        assert file.parent == tmp_path or text.startswith('---\norphan: true\n---\n')
    assert (tmp_path / 'gain.md').read_text() == reference.module_page('saccade.gain')


@pytest.mark.parametrize(
    ('hint', 'words'),
    [
        (Count, 'int, at least 1'),
        (Annotated[float, Range(above=0, most=1)] | None, 'float, above 0 and at most 1 or None'),
        (Part[Norm], 'part (Norm)'),
        (tuple[Part[Norm], ...], 'list of part (Norm)'),
        (tuple[tuple[str, Part[Norm]], ...], 'dict of part (Norm)'),
        (Literal['jit', 'pmap'], "'jit' or 'pmap'"),
    ],
)
def test_a_type_is_written_as_a_config_takes_it(hint, words):
    assert reference.type_words(hint) == words


def test_a_default_part_is_written_as_a_spec():
    part = Part(load('norm.rms:RMSNorm'), (('epsilon', 1e-5),))
    assert reference.value_words(part) == "{'use': 'norm.rms:RMSNorm', 'epsilon': 1e-05}"


def test_prose_keeps_code_and_addresses_writes_equations_as_tex_and_escapes_the_rest():
    text = 'A *b* of `c_d` at https://e.org/f_g.\n\n    y = x * W_1,   x [T D]\n    b = 0\n\nHere, https://e.org\nEnd.'
    assert reference.prose(text).split('\n') == [
        r'A \*b\* of `c_d` at <https://e.org/f_g>.',
        '', '', '```{container} equations', r'{math}`y = x * W_{1},` {math}`x\,[T\,D]`', '', '{math}`b = 0`', '```',
        '', '', 'Here, <https://e.org>\\', 'End.',
    ]  # fmt: skip
    assert reference.prose('    make docs\n') == '```text\nmake docs\n```'


@pytest.mark.long
def test_every_flag_of_every_launcher_has_its_default_and_its_help():
    page = reference.launchers_page(ROOT / 'launch')
    for file in (ROOT / 'launch').glob('[a-z]*.py'):
        flags = reference.launcher_flags(file)
        assert len(flags) == file.read_text().count('flags.DEFINE_') > 0
        assert all(flag.help for flag in flags)
        assert f'## launch/{reference.escaped(file.name)}\n' in page
    assert "| `--checkpoint` | one: latest, best, average | `'latest'` |" in page
    assert '| `--temperature` | float | `0.8` | Logits are divided by it; 0 is greedy. |' in page


@pytest.mark.long
def test_the_page_of_metrics_has_what_is_declared():
    page = reference.metrics_page()
    assert re.search(r'^\| `accuracy` \| highest \| from 0 to 1 \|  \|  \| .*`task.causal_lm:CausalLM`', page, re.M)
    assert '| `accuracy` | highest | from 0 to 1 |  | batch_size | `task.contrastive:Contrastive`' in page
    assert '| `bleu` | highest | from 0 to 100 |  |  | `metric.translation:BLEU` |' in page
    assert '| `learning_rate` | neither | from 0 |  |  | `train.learner:Learner` |' in page
    assert '| `rouge_l` | highest | from 0 to 1 |' in page
    assert '| `cross_entropy` | lowest | from 0 | nats |' in page
    assert '| `image_to_text_mrr` | highest | from 0 to 1 |  | the whole split |' in page


def test_the_page_of_protocols_has_the_methods_of_each():
    page = reference.protocols_page()
    assert 'def prepare(self, cache: Path, processor: Processor | None = None) -> Prepared:' in page
    for name in ('Mixer', 'Norm', 'FeedForward', 'ScoreTerm', 'Task', 'TextMetric', 'Data', 'Sink'):
        section = page.partition(f'\n## {name}\n')[2].partition('\n## ')[0]
        assert 'def ' in section, name


def test_every_experiment_has_its_docstring():
    page = reference.experiments_page(ROOT / 'experiments')
    files = [file for file in (ROOT / 'experiments').rglob('*.py') if 'def get_' in file.read_text()]
    assert {str(file.relative_to(ROOT)) for file in files} == set(re.findall(r'^`(experiments/.*)`$', page, re.M))
    assert 'A small language model of the Python documentation on this machine' in page


@pytest.mark.long
def test_every_page_is_in_the_contents(tmp_path):
    reference.write(ROOT, tmp_path)
    listed = re.search(r'```{toctree}\n:maxdepth: 1\n\n(.*?)```', (tmp_path / 'index.md').read_text(), re.S)[1]
    assert {*listed.split(), 'index'} == {file.stem for file in tmp_path.glob('*.md')}
