# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The benchmark: its protocol, its turns and ratios, what it refuses, and that both sides train the same model."""

import importlib
import io
import json
import math
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from rich.console import Console

from benchmarks.compare import Comparison, alternate, choose
from benchmarks.corpora import corpora
from benchmarks.decoding import PROMPTS, TIE, assert_same_tokens, decoding
from benchmarks.memory import PATHS, exponent, memory
from benchmarks.our_corpora import PROCESSES, Corpora
from benchmarks.process import LateError, Worker, require
from benchmarks.products import flops as product_flops
from benchmarks.products import products
from benchmarks.samples import samples
from benchmarks.seq2seq import seq2seq
from benchmarks.size import DECODING_SIZES, MASKED_SIZES, SEQ2SEQ_SIZES, SIZES, rows
from benchmarks.sparse import MIXERS, sparse, work
from benchmarks.trace import costs, operation, source
from benchmarks.training import CAUSAL, MASKED, SAME_LOSS, assert_same, training
from benchmarks.utilisation import Options, utilisation
from benchmarks.vocabulary import temp_bytes
from benchmarks.worker import serve
from saccade.analysis.report.figures import MeasurementReport
from saccade.ops.flops import flops
from saccade.types import UserError

ROOT = Path(__file__).parents[2]

PARROT = """
import os, time
class Parrot:
    def __init__(self, word):
        print('noise while it is made')
        if not word: raise ValueError('no word\\nand more lines')
        self.word = word
    def say(self, times):
        print('noise')
        return times * self.word
    def sleep(self):
        time.sleep(60)
    def fall(self):
        raise RuntimeError('fell off\\nthe perch')
    def die(self):
        os.write(2, b'some\\nlast words\\n')
        os._exit(3)
"""


class Timed:
    """A variant that takes the seconds it is told, and writes down its turns."""

    def __init__(self, name, seconds, turns):
        self.name, self.seconds, self.turns = name, iter(seconds), turns

    def ask(self, method, count):
        self.turns.append((self.name, method, count))
        return next(self.seconds)


class Decoded:
    """A variant that has decoded these tokens; all its logits are `gap` apart."""

    def __init__(self, tokens, gap=math.inf):
        self.tokens, self.gap, self.asked = tokens, gap, []

    def ask(self, method, **arguments):
        if method == 'tokens':
            return self.tokens
        self.asked.append(arguments)
        return self.gap


@pytest.fixture
def parrot(tmp_path, monkeypatch):
    (tmp_path / 'parrot.py').write_text(PARROT)
    monkeypatch.setenv('PYTHONPATH', f'{tmp_path}:{ROOT / "src"}')
    return 'parrot:Parrot'


@pytest.fixture
def comparison():
    # One round in which the whole machine was slow, and one in which a peer was.
    return Comparison(
        tokens=12,
        seconds={'ours': [1.0, 10.0, 1.0], 'a': [2.0, 20.0, 0.5], 'b': [1.5, 40.0, 3.0]},
        peers=('a', 'b'),
    )


def test_requests_are_answered_in_order():
    replies = io.StringIO()
    serve(lambda: [3, 1], ['["copy", {}]', '["__len__", {}]'], replies)
    assert [json.loads(line) for line in replies.getvalue().splitlines()] == [
        {'value': None},
        {'value': [3, 1]},
        {'value': 2},
    ]


def test_an_error_is_told_and_ends_the_worker():
    replies = io.StringIO()
    with pytest.raises(AttributeError):
        serve(list, ['["missing", {}]', '["copy", {}]'], replies)
    made, error = map(json.loads, replies.getvalue().splitlines())
    assert made == {'value': None}
    assert error['error'].startswith('AttributeError')


def test_a_process_answers_whatever_its_variant_prints(parrot):
    with Worker('parrot', parrot, word='ab') as worker:
        assert worker.ask('say', times=2) == 'abab'
        assert worker.ask('say', times=1) == 'ab'


def test_a_failure_is_one_line_that_names_the_variant(parrot):
    with pytest.raises(UserError, match=r'^grey parrot failed: ValueError: no word$'):
        Worker('grey parrot', parrot, word='')
    with Worker('grey parrot', parrot, word='ab') as worker:
        with pytest.raises(UserError, match=r'^grey parrot failed: RuntimeError: fell off$'):
            worker.ask('fall')
        with pytest.raises(UserError, match='ended with status 1'):
            worker.ask('say', times=1)


def test_a_death_is_told_with_the_last_words(parrot):
    with (
        Worker('parrot', parrot, word='ab') as worker,
        pytest.raises(UserError, match=r'^parrot: its process ended with status 3: last words$'),
    ):
        worker.ask('die')


def test_a_process_that_takes_too_long_is_ended(parrot):
    with Worker('parrot', parrot, word='ab') as worker:
        assert worker.ask_within(60.0, 'say', times=2) == 'abab'
        with pytest.raises(LateError, match=r'^parrot: sleep took more than 0 s$'):
            worker.ask_within(0.2, 'sleep')
        with pytest.raises(UserError, match='ended with status -9'):
            worker.ask('say', times=1)


def test_a_missing_package_is_told_with_the_extra():
    with pytest.raises(UserError, match=r'no_such_package is not installed.*pip install -e \.\[benchmark\]'):
        require('json', 'no_such_package')


def test_variants_take_turns_and_the_first_round_does_not_count():
    turns = []
    variants = {'A': Timed('A', [90.0, 2.0, 4.0], turns), 'B': Timed('B', [90.0, 6.0, 8.0], turns)}
    assert alternate(variants, rounds=2, steps=2) == {'A': [1.0, 2.0], 'B': [3.0, 4.0]}
    assert turns == 3 * [('A', 'step', 2), ('B', 'step', 2)]


@pytest.mark.parametrize(('rounds', 'steps', 'words'), [(0, 1, '--rounds=0'), (1, 0, '--steps=0')])
def test_no_rounds_and_no_steps_are_refused(rounds, steps, words):
    with pytest.raises(UserError, match=f'{words}: must be at least 1'):
        alternate({}, rounds, steps)


def test_a_ratio_is_of_one_round_and_above_one_where_we_are_faster(comparison):
    assert comparison.ratios('ours', 'a') == [2.0, 2.0, 0.5]
    figures = comparison.data()
    assert figures['ratios']['ours']['a']['median'] == 2.0
    # The ratio of the medians would be 3.
    assert figures['ratios']['ours']['b']['median'] == 3.0
    assert comparison.ratios('ours', 'b') == [1.5, 4.0, 3.0]


def test_the_better_peer_is_the_one_of_each_round(comparison):
    assert comparison.against_best('ours') == 1.5


def test_tokens_per_second_are_the_median_of_the_rounds(comparison):
    assert comparison.tokens_per_second('ours') == 12.0
    assert comparison.tokens_per_second('a') == 6.0


def test_tables_hold_every_variant_and_ratio(comparison):
    console = Console(file=io.StringIO(), width=100)
    tables = comparison.speeds('Speed'), comparison.table('Ratio')
    MeasurementReport('training', comparison.data(), tables, ('a [note]',)).show(console)
    printed = console.file.getvalue()
    words = ('Speed', 'ours', '2.000', '3.000', '1.500 to 4.000', 'the faster', 'a [note]', 'cores')
    assert all(word in printed for word in words)


def test_a_size_is_chosen_by_name_and_tuned():
    assert choose(SIZES, None) is SIZES['A']
    tuned = choose(SIZES, 'deep').tuned(2, ['scanned'])
    assert (tuned.chunks, tuned.runs) == (2, ('scanned',))
    assert SIZES['deep'].tuned(None, None) == SIZES['deep']
    with pytest.raises(UserError, match='--size=C: there is no such size; there are A, B, deep'):
        choose(SIZES, 'C')


def test_batches_are_a_function_of_their_number():
    size = SIZES['tiny']
    assert np.array_equal(rows(size, 3), rows(size, 3))
    assert not np.array_equal(rows(size, 3), rows(size, 4))
    assert rows(size, 3).shape == (size.batch, size.context_length + 1)


@pytest.mark.parametrize(
    ('found', 'words'),
    [
        ({'parameters': 11, 'losses': [2.0, 1.0]}, 'a has 10 parameters, b 11'),
        ({'parameters': 10, 'losses': [2.0 + 2 * SAME_LOSS, 1.0]}, 'after 0 updates'),
        ({'parameters': 10, 'losses': [2.0, 1.0 - 2 * SAME_LOSS]}, 'after 1 updates'),
        ({'parameters': 10, 'losses': [2.0, math.nan]}, 'after 1 updates'),
    ],
)
def test_two_different_models_are_not_compared(found, words):
    with pytest.raises(UserError, match=f'not the same model: {words}'):
        assert_same({'a': {'parameters': 10, 'losses': [2.0, 1.0]}, 'b': found})


def test_the_same_model_is():
    near = {'parameters': 10, 'losses': [2.0 + SAME_LOSS / 2, 1.0]}
    assert_same({'a': {'parameters': 10, 'losses': [2.0, 1.0]}, 'b': near})


def test_equal_tokens_need_no_look_at_the_logits():
    ours = Decoded([[1, 2], [3, 4]])
    assert assert_same_tokens(ours, Decoded([[1, 2], [3, 4]]), [[7], [8]]) == 0
    assert ours.asked == []


def test_tokens_may_part_at_a_tie_only():
    peer = Decoded([[1, 2], [3, 5]])
    ours = Decoded([[1, 2], [3, 4]], gap=TIE / 2)
    assert assert_same_tokens(ours, peer, [[7], [8]]) == 1
    assert ours.asked == [{'prefix': [8, 3], 'first': 4, 'second': 5}]
    with pytest.raises(UserError, match='row 1 of 2: new token 1 is 4 with us and 5'):
        assert_same_tokens(Decoded([[1, 2], [3, 4]], gap=2 * TIE), peer, [[7], [8]])


def test_a_row_cut_short_is_no_tie():
    with pytest.raises(UserError, match='row 0 of 1: we decode 1 tokens'):
        assert_same_tokens(Decoded([[1]], gap=0.0), Decoded([[1, 2]]), [[7]])


def test_the_exponent_is_the_slope_of_the_logarithms():
    assert exponent([1, 2, 4], [5, 20, 80]) == pytest.approx(2.0)


@pytest.mark.long
def test_memory_grows_with_the_square_of_the_length_unless_it_is_blockwise():
    figures = memory((1024, 2048)).figures
    assert figures['temp_bytes'].keys() == PATHS.keys()
    for name, grown in figures['exponents'].items():
        assert grown < 1.1 if 'blockwise' in name else 1.8 < grown < 2.2, name


@pytest.mark.long
@pytest.mark.parametrize(
    ('mixer', 'low', 'high'), [*((name, 0.98, 1.02) for name in MIXERS if name != 'full'), ('full', 1.5, 2.0)]
)
def test_work_of_sparse_mixers_grows_with_the_length_without_the_choice(mixer, low, high):
    lengths = (4096, 8192, 16384)
    others = [work(MIXERS[mixer], length) - MIXERS[mixer].choice(length) for length in lengths]
    assert low < exponent(lengths, others) < high


def test_sparse_mixers_need_two_lengths_of_a_block_or_more():
    for lengths, message in (((1024,), 'needs two lengths'), ((256, 1024), '256 is shorter than a block of 512')):
        with pytest.raises(UserError, match=message):
            sparse(lengths, 1)


@pytest.mark.long
def test_logits_in_chunks_take_less_memory_with_every_head(monkeypatch):
    monkeypatch.setattr('benchmarks.vocabulary.LENGTH', 128)
    monkeypatch.setattr('benchmarks.vocabulary.WIDTH', 8)
    for tied in (True, False):
        whole, chunked = (temp_bytes(4096, tied, chunk) for chunk in (None, 8))
        assert chunked < whole / 8


def test_one_length_has_no_exponent():
    with pytest.raises(UserError, match='--length: an exponent needs two lengths or more'):
        memory((64, 64))


def test_utilisation_refuses_a_cpu():
    with pytest.raises(UserError, match='is for a GPU or TPU, and JAX finds only a CPU; --force'):
        utilisation('unread.py', (), Options(1, 1, 64, 'unwritten'))


@pytest.mark.long
def test_utilisation_measures_traces_and_reads_the_trace(tmp_path):
    small = {'layers': 1, 'width': 32, 'block.mixer.heads': 2, 'vocabulary': 31}
    overrides = [f'--config.model.{field}={value}' for field, value in small.items()]
    overrides += ['--config.data.context_length=16', '--config.batch_size=4', '--config.accumulate=1']
    options = Options(rounds=2, steps=1, matrix=64, trace=str(tmp_path), force=True)
    figures = utilisation(str(ROOT / 'experiments/causal_lm/gpt2_124m.py'), overrides, options).figures
    assert figures['tokens_per_step'] == 64
    assert len(figures['rounds']['matrix_utilisation']) == 2
    assert figures['matrix_utilisation'] > 0
    # Chowdhery et al. 2022, appendix B: 6 P + 12 L N H T a token, where P counts matrices, and the embedding once.
    D, V, T = 32, 31, 16
    assert figures['model_flops_per_step'] == 64 * (6 * (12 * D * D + V * D) + 12 * D * T)
    # Blockwise attention at this length is one block, computed once more in the backward pass.
    assert figures['hardware_flops_per_step'] > figures['model_flops_per_step']
    assert len(figures['costs']) == 3
    assert 0 < sum(cost['share'] for cost in figures['costs']) < 1


def test_a_folder_without_a_trace_is_refused(tmp_path):
    with pytest.raises(UserError, match='the profiler has left no trace'):
        costs(tmp_path, '')


def test_a_kernel_in_a_cuda_graph_goes_by_its_own_name():
    def event(name, **stats):
        return SimpleNamespace(name=name, stats=stats.items())

    assert operation(event('loop_add_fusion_12', hlo_op='loop_add_fusion.12'), 'Stream #14') == 'loop_add_fusion.12'
    assert operation(event('loop_add_fusion_12', hlo_op='command_buffer_7'), 'Stream #14') == 'loop_add_fusion_12'
    assert source('loop_add_fusion_12') == 'loop_add_fusion'


def test_an_operation_goes_by_its_source():
    assert source('fusion.12') == 'fusion'
    assert (
        source('jit(train_step)/while/body/closed_call/jvp(A)/A._around/mixer/dot_general')
        == 'jvp(A)/mixer/dot_general'
    )
    layers = 'A.forward/layers.mix/layers._whole/PreNorm.mix/mixer.mix/mixer.attend/kernel'
    assert source(f'jit(f)/transpose(jvp(A))/{layers}/exp.3') == 'transpose(jvp(A))/layers/PreNorm/mixer/kernel/exp'


@pytest.mark.oracle
@pytest.mark.parametrize('run', ['unrolled', 'scanned'])
def test_ours_is_nanogpts_model_with_large_weights(tmp_path, run):
    torch = pytest.importorskip('torch')
    from benchmarks import our_training

    torch_training = importlib.import_module('benchmarks.torch_training')
    size = asdict(replace(SIZES['tiny'], heads=4, context_length=13, batch=3, chunks=3))
    peer = torch_training.Training(size, compiled=False)
    with torch.no_grad():
        for parameter in peer._model.parameters():
            parameter.mul_(10).add_(0.3 * torch.randn_like(parameter))
    peer.save(str(tmp_path))
    ours = our_training.Training(size, run)
    ours.load(str(tmp_path))
    checks = {'peer': peer.check(), 'ours': ours.check()}
    assert_same(checks)
    before, after = checks['peer']['losses']
    assert before - after > 100 * SAME_LOSS


@pytest.mark.oracle
@pytest.mark.parametrize(('sides', 'sizes'), [(CAUSAL, SIZES), (MASKED, MASKED_SIZES)], ids=['causal', 'masked'])
def test_training_beside_torch(sides, sizes):
    pytest.importorskip('transformers')
    figures = training(sides, sizes['tiny'], ['eager'], rounds=2, steps=1).figures
    assert figures['variants'].keys() == {'saccade unrolled', 'saccade scanned', 'torch eager'}
    assert all(len(found['seconds']) == 2 for found in figures['variants'].values())
    assert figures['ratios']['saccade scanned']['torch eager']['median'] > 0
    assert figures['products'].keys() == {'saccade unrolled', 'torch eager'}
    assert all(found['products'] > 0 for found in figures['products'].values())


def test_products_are_counted_by_their_sizes_as_often_as_they_run():
    def step(x, weights):  # [2 3 4], [5 4 4]
        x, _ = jax.lax.scan(lambda x, weight: (x @ weight, None), x, weights)
        return jnp.einsum('btd,bsd->bts', x, x)

    arrays = jnp.ones((2, 3, 4)), jnp.ones((5, 4, 4))
    found = products(jax.make_jaxpr(step)(*arrays))
    assert found == {(1, 6, 4, 4): 5, (2, 3, 4, 3): 1}
    assert sum(times * product_flops(each) for each, times in found.items()) == flops(step, *arrays)


@pytest.mark.oracle
def test_samples_with_pages_beside_transformers():
    pytest.importorskip('transformers')
    figures = samples(DECODING_SIZES['tiny'], page_size=4, rounds=1, steps=1).figures
    assert figures['samples'].keys() == {'1', '3'}
    for count, found in figures['samples'].items():
        held = found['bytes']
        # 4 tokens of the prompt and 6 new ones: a page that is shared, and 2 of each row; 2 layers of 2 x 16 numbers.
        pages, numbers = 1 + 2 * int(count), 2 * 2 * 16
        assert held['saccade, pages'] == pages * 4 * (4 * (numbers + 2 * 2) + 2) + int(count) * 4 * 3
        assert held['transformers'] == int(count) * (5 + 6 - 1) * 4 * numbers
        assert held['saccade, plain'] > held['transformers']
        assert {*found['variants']} == {'saccade, pages', 'saccade, plain', 'transformers'}


@pytest.mark.oracle
def test_decoding_beside_transformers():
    pytest.importorskip('transformers')
    figures = decoding(PROMPTS, DECODING_SIZES['tiny'], rounds=2, steps=1).figures
    assert figures['batches'].keys() == {'1', '3'}
    assert all(found['ratios']['saccade']['transformers']['median'] > 0 for found in figures['batches'].values())


@pytest.mark.oracle
@pytest.mark.parametrize('size', ['tiny', 'tiny_t5'])
def test_reading_and_writing_beside_transformers(size):
    """The losses of training, before and after an update, and the tokens that are written are the same."""
    pytest.importorskip('transformers')
    figures = seq2seq(SEQ2SEQ_SIZES[size], ['eager'], rounds=1, steps=1).figures
    trained, written = figures['training'], figures['decoding']
    assert trained['ratios']['saccade unrolled']['torch eager']['median'] > 0
    assert all(found['ties'] == 0 for found in written['batches'].values())
    assert all(found['ratios']['saccade']['transformers']['median'] > 0 for found in written['batches'].values())


@pytest.mark.long
def test_our_side_of_corpora_mixes_and_resumes(tmp_path):
    for name in 'ab':
        lines = (f'{{"text": "{name} {number} def test(): return"}}\n' for number in range(3000))
        (tmp_path / f'{name}.jsonl').write_text(''.join(lines))
    first, second = (Corpora(str(tmp_path), {'a': 3.0, 'b': 1.0}) for _ in range(2))
    first.make_tokenizer(300)
    assert first.prepare() > 0
    assert first.read(batches=40)['pieces in a row'] > 10
    assert second.prepare() > 0
    assert all(second.resumed(batch=30, process=process) for process in range(PROCESSES))
    assert not second.resumed(batch=27, process=0)
    peaks = first.memory()
    assert 0 < peaks['own_peak'] <= peaks['peak']


@pytest.mark.long
def test_corpora_beside_datasets():
    pytest.importorskip('datasets')
    found = corpora(0.003).figures
    assert all(found['read'][f'resumed equal, process {process}'] for process in range(PROCESSES))
    assert found['prepared'].keys() == {'saccade', 'datasets'}
