# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Measure speed and memory, compared with a peer library in the same run.

python -m benchmarks --what=training --size=A     # next to nanoGPT's model in PyTorch
python -m benchmarks --what=masked --peer=eager   # next to BertForMaskedLM of transformers
python -m benchmarks --what=seq2seq --size=marian # next to MarianMTModel, or t5, in training and in decoding
python -m benchmarks --what=decoding              # next to `generate` of transformers
python -m benchmarks --what=samples               # of one prompt, with a cache in pages, next to transformers
python -m benchmarks --what=patching              # of activations, next to TransformerLens
python -m benchmarks --what=memory                # of attention, by length
python -m benchmarks --what=sparse                # mixers next to full attention, by length
python -m benchmarks --what=costs                 # of one layer of each mixer and kernel, by length
python -m benchmarks --what=kernels               # what each serves, its memory here or for --topology=v5e:2x2
python -m benchmarks --what=vocabulary            # memory of the loss, by size of the vocabulary
python -m benchmarks --what=search                # of a bi-encoder next to a cross-encoder, by number of texts
python -m benchmarks --what=corpora --gigabytes=10 # of text, prepared and mixed, next to datasets
python -m benchmarks --what=utilisation           # of a config, on a GPU or TPU
"""

from pathlib import Path
from typing import TYPE_CHECKING

from absl import flags

from benchmarks.size import CROSSED, DECODING_SIZES, MASKED_SIZES, PEERS, SEARCHED, SEQ2SEQ_SIZES, SIZES
from saccade.train.process.given import path_of, refuse_given
from saccade.train.process.main import run_main
from saccade.train.process.output import require_file, require_folder
from saccade.types import UserError

if TYPE_CHECKING:
    from saccade.analysis.report.figures import MeasurementReport

SIZE = flags.DEFINE_string('size', None, f'For training {", ".join(SIZES)}; for decoding {", ".join(DECODING_SIZES)}.')
CHUNKS = flags.DEFINE_integer(
    'chunks', None, 'query_chunks of our kernel in training; the default depends on the size.', 1
)
RUN = flags.DEFINE_multi_enum(
    'run', None, ['unrolled', 'scanned'], 'Execution of our layers; each choice is a variant.'
)
PEER = flags.DEFINE_multi_enum('peer', list(PEERS), list(PEERS), 'Peers to compare with.')
ROUNDS = flags.DEFINE_integer('rounds', 10, 'Rounds; every variant runs once per round.', 1)
STEPS = flags.DEFINE_integer('steps', 1, 'Training steps, or whole generations, per round.', 1)
PAGE_SIZE = flags.DEFINE_integer('page_size', 64, 'Tokens of a page of the cache for samples.', 1)
LENGTH = flags.DEFINE_multi_integer(
    'length', None, 'Sequence lengths for memory, sparse, costs and kernels, in tokens.', 1
)
COUNTS = flags.DEFINE_bool('counts', False, 'Count the FLOPs and bytes of costs, without seconds.')
RECORDS = flags.DEFINE_string(
    'records', None, 'CSV file with a row for each layer and length of costs; it is continued.'
)
OUT = flags.DEFINE_string('out', None, 'File for the report as a page in Markdown.')
TOPOLOGY = flags.DEFINE_string(
    'topology', None, 'TPU slice to compile kernels for, such as v5e:2x2; default: local devices.'
)
TEXTS = flags.DEFINE_multi_integer('texts', SEARCHED, 'Numbers of texts for search.', 2)
MOST = flags.DEFINE_integer('crossed', CROSSED, 'Maximum number of texts whose pairs the cross-encoder reads.', 2)
GIGABYTES = flags.DEFINE_float('gigabytes', 0.1, 'Size of the text that is drawn for corpora, in GB.', 0.003)
CONFIG = flags.DEFINE_string('config', 'experiments/causal_lm/gpt2_124m.py', 'Experiment whose utilisation to measure.')
MATRIX = flags.DEFINE_integer('matrix', 8192, 'Rows of the square matrices whose product defines the peak rate.', 1)
TRACE = flags.DEFINE_string('trace', 'runs/trace', "Folder for the profiler's trace of utilisation.")
WITH_DATASETS = flags.DEFINE_bool('datasets', True, 'Prepare corpora with datasets too, which takes as long.')
FORCE = flags.DEFINE_bool('force', False, 'Measure utilisation even on a CPU.')
# Flags that each benchmark reads.
_READ = {
    'training': (SIZE, CHUNKS, RUN, PEER, ROUNDS, STEPS),
    'masked': (SIZE, RUN, PEER, ROUNDS, STEPS),
    'seq2seq': (SIZE, PEER, ROUNDS, STEPS),
    'decoding': (SIZE, ROUNDS, STEPS),
    'samples': (SIZE, PAGE_SIZE, ROUNDS, STEPS),
    'patching': (SIZE, ROUNDS, STEPS),
    'memory': (LENGTH,),
    'sparse': (LENGTH, ROUNDS),
    'costs': (LENGTH, ROUNDS, COUNTS, RECORDS),
    'kernels': (LENGTH, TOPOLOGY),
    'vocabulary': (),
    'search': (TEXTS, MOST),
    'corpora': (GIGABYTES, WITH_DATASETS),
    'utilisation': (CONFIG, ROUNDS, STEPS, MATRIX, TRACE, FORCE),
}
WHAT = flags.DEFINE_enum('what', None, list(_READ), 'What to measure.')
JSON = flags.DEFINE_bool('json', False, 'Print one JSON object.')


def main(overrides: list[str]) -> None:
    """Run the benchmark named by --what, and print its report.

    Raises:
        UserError: overrides are given for a benchmark other than 'utilisation', or a flag has an invalid value or no
            effect.
    """
    import jax
    from rich.console import Console

    if overrides and WHAT.value != 'utilisation':
        raise UserError(f"'{overrides[0]}': only --what=utilisation measures a config")
    if WHAT.value is None:
        *names, last = _READ
        raise UserError(f'give --what={", ".join(names)} or {last}')
    read = [flag.name for flag in _READ[WHAT.value]]
    unread = {flag.name: flag for each in _READ.values() for flag in each if flag.name not in read}
    refuse_given(f'with --what={WHAT.value}', *unread.values())
    if WHAT.value == 'utilisation':
        require_folder('trace', TRACE.value)
    if COUNTS.value:
        refuse_given('with --counts', ROUNDS)
    for flag in (OUT, RECORDS):
        if flag.value:
            require_file(flag.name, flag.value)
    if TOPOLOGY.value:
        jax.config.update('jax_platforms', 'cpu')  # for this process; libtpu only compiles
    report = measure(overrides)
    if OUT.value:
        Path(OUT.value).write_text(report.markdown(), encoding='utf-8')
    print(report.json()) if JSON.value else report.show(Console())


def measure(overrides: list[str]) -> 'MeasurementReport':
    """Return the report of the benchmark named by --what.

    Raises:
        UserError: a flag has an invalid value.
    """
    from benchmarks.compare import choose
    from benchmarks.corpora import corpora
    from benchmarks.cost_page import report
    from benchmarks.costs import LENGTHS as COST_LENGTHS
    from benchmarks.costs import measured
    from benchmarks.decoding import PROMPTS, decoding
    from benchmarks.kernels import LENGTHS as KERNEL_LENGTHS
    from benchmarks.kernels import kernels
    from benchmarks.memory import LENGTHS, memory
    from benchmarks.patching import patching
    from benchmarks.samples import samples
    from benchmarks.search import search
    from benchmarks.seq2seq import seq2seq
    from benchmarks.sparse import LENGTHS as SPARSE_LENGTHS
    from benchmarks.sparse import sparse
    from benchmarks.training import CAUSAL, MASKED, training
    from benchmarks.utilisation import Options, utilisation
    from benchmarks.vocabulary import vocabulary
    from saccade.analysis.preflight.chips import Chips

    if WHAT.value == 'training':
        size = choose(SIZES, SIZE.value).tuned(CHUNKS.value, RUN.value)
        return training(CAUSAL, size, PEER.value, ROUNDS.value, STEPS.value)
    if WHAT.value == 'masked':
        size = choose(MASKED_SIZES, SIZE.value).tuned(None, RUN.value)
        return training(MASKED, size, PEER.value, ROUNDS.value, STEPS.value)
    if WHAT.value == 'seq2seq':
        return seq2seq(choose(SEQ2SEQ_SIZES, SIZE.value), PEER.value, ROUNDS.value, STEPS.value)
    if WHAT.value == 'decoding':
        return decoding(PROMPTS, choose(DECODING_SIZES, SIZE.value), ROUNDS.value, STEPS.value)
    if WHAT.value == 'samples':
        return samples(choose(DECODING_SIZES, SIZE.value), PAGE_SIZE.value, ROUNDS.value, STEPS.value)
    if WHAT.value == 'patching':
        return patching(choose(DECODING_SIZES, SIZE.value), ROUNDS.value, STEPS.value)
    if WHAT.value == 'memory':
        return memory(LENGTH.value or LENGTHS)
    if WHAT.value == 'sparse':
        return sparse(LENGTH.value or SPARSE_LENGTHS, ROUNDS.value)
    if WHAT.value == 'costs':
        records = path_of('records', RECORDS.value) if RECORDS.value else None
        return report(measured(LENGTH.value or COST_LENGTHS, 0 if COUNTS.value else ROUNDS.value, records))
    if WHAT.value == 'kernels':
        chips = Chips.of_slice(TOPOLOGY.value) if TOPOLOGY.value else Chips.here()
        return kernels(LENGTH.value or KERNEL_LENGTHS, chips.devices[0], chips.name)
    if WHAT.value == 'vocabulary':
        return vocabulary()
    if WHAT.value == 'search':
        return search(TEXTS.value, MOST.value)
    if WHAT.value == 'corpora':
        return corpora(GIGABYTES.value, WITH_DATASETS.value)
    options = Options(ROUNDS.value, STEPS.value, MATRIX.value, TRACE.value, FORCE.value)
    return utilisation(CONFIG.value, overrides, options)


if __name__ == '__main__':
    run_main(main)
