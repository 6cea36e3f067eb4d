# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Rows of ten minutes on one accelerator, in order of worth, each within its time, written as they come.

A row is measured in a worker process, so that one that fails or hangs takes no other with it, and peers get the whole
device. The record is one JSON file, whole after each row; the next start goes on where the last one ended: rows that
were never tried first, then those that failed.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from rich.console import Console

from benchmarks.kernels import CASES, KERNELS
from benchmarks.process import LateError, Worker, require
from benchmarks.size import DecodingSize, Size
from saccade.analysis.report.figures import Table
from saccade.train.config import PREFIX
from saccade.train.process.lock import locked
from saccade.train.process.terminal import say
from saccade.train.workdir import write_atomically
from saccade.types import UserError

CONFIG = 'experiments/causal_lm/gpt2_124m.py'
OURS, DEVICES = 'benchmarks.our_rows:Rows', 'devices'
THEIRS_TRAINING = 'benchmarks.torch_training:Training'
THEIRS_DECODING = 'benchmarks.torch_decoding:Decoding'
LEAST = 5.0  # seconds for which no row is begun
DONE, FAILED, LATE, LEFT_OUT = 'done', 'failed', 'too long', 'left out'
FUSED = {'gpu': ('cudnn',), 'tpu': ('splash',)}  # kernels of a platform's own, by JAX's name for it
TORCH_DEVICES = {'gpu': 'cuda', 'cpu': 'cpu'}  # a TPU is none of PyTorch's
HEAD_WIDTH = 64
# Biases of the model, which the peer in PyTorch does not have.
_BIASED = (
    'norm__bias',
    'block__norm__bias',
    'block__mixer__bias',
    'block__mixer__output_bias',
    'block__feedforward__bias',
)
BIASES = tuple(f'model__{field}' for field in _BIASED)
MOST_SCORED = 8192  # tokens whose scores are made as one array


@dataclass(frozen=True)
class Scale:
    """Sizes of all rows.

    Attributes:
        model: shape of the language model; rows is its batch of so many tokens each.
        matrix: rows of the square matrices of the matrix rate.
        agree, cases: tokens a row where kernels are compared, and what is asked of them, of `kernels.CASES`.
        lengths: where kernels are timed, calls so often.
        widths, batches: besides the model's own.
        rounds, steps: of a training row; decoding: rows at a time, prompt and new tokens.
        limit: seconds for a row.
    """

    model: Size
    matrix: int
    agree: int
    cases: tuple[str, ...]
    lengths: tuple[int, ...]
    calls: int
    widths: tuple[int, ...]
    batches: tuple[int, ...]
    rounds: int
    steps: int
    prompt: int
    new: int
    decoding: tuple[int, ...]
    limit: float


SCALES: Mapping[str, Scale] = {
    'full': Scale(
        model=Size(layers=12, heads=12, width=768, context_length=1024, batch=16, vocabulary=50257),
        matrix=8192,
        agree=300,
        cases=tuple(CASES),
        lengths=(2048, 8192, 32768),
        calls=5,
        widths=(512, 1024, 1280),
        batches=(8, 32, 64),
        rounds=3,
        steps=5,
        prompt=64,
        new=128,
        decoding=(1, 16),
        limit=240.0,
    ),
    # To see that everything works; its figures mean nothing.
    'tiny': Scale(
        model=Size(layers=1, heads=1, width=64, context_length=16, batch=2, vocabulary=61),
        matrix=64,
        agree=32,
        cases=('causal', 'causal, packed', 'softcap'),
        lengths=(64, 128),
        calls=1,
        widths=(128,),
        batches=(4,),
        rounds=1,
        steps=1,
        prompt=5,
        new=6,
        decoding=(1,),
        limit=600.0,
    ),
}


@dataclass(frozen=True)
class Row:
    """Row to measure.

    Attributes:
        name: in the record.
        target: class that measures it in a worker process, 'package.module:Class'; made, what it is made with.
        asks: methods of it in turn, with their arguments; the last one's value is the row's.
        packages: without which it is left out.
    """

    name: str
    target: str
    asks: tuple[tuple[str, Mapping[str, Any]], ...]
    made: Mapping[str, Any]
    packages: tuple[str, ...] = ()


class Device(Worker):
    """Worker process that has the device of this machine."""

    environment: ClassVar[Mapping[str, str]] = {'XLA_PYTHON_CLIENT_MEM_FRACTION': '0.9'}


def rows(scale: Scale, platform: str, trace: str) -> Iterator[Row]:
    """Yield the rows in order of worth, for a platform as JAX calls it.

    Args:
        trace: folder for the profiler's traces.
    """

    def ours(name: str, method: str, **arguments: Any) -> Row:
        return Row(name, OURS, ((method, arguments),), {})

    def train(name: str, model: Size = scale.model, **values: Any) -> Row:
        """A row of training; values are overrides of the config, two underscores for a point."""
        sizes = {
            'model__layers': model.layers,
            'model__width': model.width,
            'model__vocabulary': model.vocabulary,
            'model__context_length': model.context_length,
            'model__block__mixer__heads': model.heads,
            'batch_size': model.batch,
            'accumulate': 1,
        }
        given = {'model__block__mixer__kernel': {'use': 'attention.auto:Auto'}, **sizes, **values}
        flags = [f'{PREFIX}{field.replace("__", ".")}={value}' for field, value in given.items()]
        sampled = {'rounds': scale.rounds, 'steps': scale.steps, 'matrix': scale.matrix}
        return ours(f'train, {name}', 'train', config=CONFIG, overrides=flags, trace=f'{trace}/{name}', **sampled)

    def agree(kernel: str) -> Row:
        return ours(f'agree, {kernel}', 'agree', kernel=kernel, tokens=scale.agree, cases=scale.cases)

    own = FUSED.get(platform, ())
    yield ours('matrix rate', 'matrix_rate', rows=scale.matrix)
    yield from map(agree, own)
    yield train('automatic kernel')
    yield train('without biases, as the peer', **dict.fromkeys(BIASES, False))
    yield from _training_peers(scale, platform)
    for kernel in ('blockwise', 'plain'):  # the automatic one is the platform's own
        use = f'attention.{kernel}:{KERNELS[kernel].__name__}'
        yield train(f'{kernel} kernel', model__block__mixer__kernel={'use': use})
    for batch in scale.decoding:
        flags = list(_decoding_flags(scale.model))
        sizes = {'rows': batch, 'prompt': scale.prompt, 'new': scale.new}
        yield ours(f'decode, {batch} rows', 'decode', config=CONFIG, overrides=flags, **sizes)
    yield from _decoding_peers(scale, platform)
    for width in reversed(scale.widths):
        yield train(f'width {width}', replace(scale.model, width=width, heads=width // HEAD_WIDTH))
    for kernel in reversed(KERNELS):
        lengths = [n for n in scale.lengths if kernel != 'plain' or n <= MOST_SCORED]
        yield ours(f'attention, {kernel}', 'attention', kernel=kernel, lengths=lengths, calls=scale.calls)
    for batch in scale.batches:
        yield train(f'{batch} rows', replace(scale.model, batch=batch))
    yield train('logits in chunks', task__vocabulary_chunk=scale.model.context_length // 8)
    for run, remat in (
        ('Unrolled', 'dots_with_no_batch_dims_saveable'),
        ('Unrolled', 'nothing_saveable'),
        ('Scanned', 'dots_with_no_batch_dims_saveable'),
    ):
        yield train(f'{run}, {remat}', model__run={'use': f'model.stack:{run}', 'remat': remat})
    yield from map(agree, (kernel for kernel in reversed(KERNELS) if kernel not in own))


def _decoding_flags(model: Size) -> Iterator[str]:
    sizes = {'layers': model.layers, 'width': model.width, 'vocabulary': model.vocabulary}
    yield from (f'{PREFIX}model.{field}={value}' for field, value in sizes.items())
    yield f'{PREFIX}model.block.mixer.heads={model.heads}'
    # Room for prompt and new tokens, however short the rows of training.
    yield f'{PREFIX}model.context_length={max(model.context_length, 64)}'


def _training_peers(scale: Scale, platform: str) -> Iterator[Row]:
    """PyTorch with SDPA and compile, where it has the device."""
    if device := TORCH_DEVICES.get(platform):
        made = {'size': asdict(scale.model), 'compiled': True, 'device': device, 'bfloat16': True}
        asks = (('check', {}), ('step', {'count': scale.rounds * scale.steps}))
        yield Row('train, PyTorch', THEIRS_TRAINING, asks, made, ('torch',))


def _decoding_peers(scale: Scale, platform: str) -> Iterator[Row]:
    """`generate` of transformers with a static cache, where PyTorch has the device."""
    if device := TORCH_DEVICES.get(platform):
        model = scale.model
        shape = {'layers': model.layers, 'heads': model.heads, 'width': model.width, 'vocabulary': model.vocabulary}
        for batch in scale.decoding:
            size = DecodingSize(**shape, prompt=scale.prompt, new=scale.new, batches=(batch,))
            made = {'size': asdict(size), 'device': device, 'bfloat16': True, 'cache': 'static'}
            asks = (('step', {'count': 1, 'batch': batch}),) * 2  # the first compiles
            yield Row(f'decode, transformers, {batch} rows', THEIRS_DECODING, asks, made, ('torch', 'transformers'))


@dataclass(frozen=True)
class Record:
    """Record of the rows in a file. Attributes: file; size, the name of the scale; rows by name."""

    file: Path
    size: str
    rows: dict[str, dict[str, Any]]

    @classmethod
    def of(cls, file: Path, size: str) -> 'Record':
        """Read the file, if it is there.

        Raises:
            UserError: it holds no such record, or one of another size.
        """
        if not file.exists():
            return cls(file, size, {})
        try:
            found = json.loads(file.read_text())
            kept = cls(file, found['size'], found['rows'])
        except (ValueError, KeyError, TypeError):
            raise UserError(f'--output={file}: it holds no record of this command; name another file') from None
        if kept.size != size:
            raise UserError(f'--output={file}: it holds rows of --size={kept.size}, not {size}; name another file')
        return kept

    def add(self, name: str, status: str, seconds: float, figures: Mapping[str, Any]) -> None:
        """Add a row, or replace it, and write the file whole.

        Raises:
            UserError: it cannot be written.
        """
        self.rows[name] = {'status': status, 'took_seconds': seconds, **figures}
        write_atomically(self.file, self.json())

    def json(self) -> str:
        """The record as JSON."""
        return json.dumps({'what': 'accelerator', 'size': self.size, 'rows': self.rows}, indent=1) + '\n'

    def pending(self, every: Sequence[Row]) -> list[Row]:
        """Rows to measure: those that were never tried, then those that did not end well."""
        tried = [row for row in every if row.name in self.rows and self.rows[row.name]['status'] != DONE]
        return [row for row in every if row.name not in self.rows] + tried


@contextmanager
def recording(file: Path, size: str) -> Iterator[Record]:
    """Open the record of a file, of which one command at a time has the use.

    Raises:
        UserError: another has it, or it is none of this size.
    """

    def busy(holder: str) -> None:
        raise UserError(f'--output={file}: {holder} is measuring for it; wait, or name another file')

    with locked(file.with_suffix('.lock'), busy):
        yield Record.of(file, size)


def accelerate(record: Record, scale: Scale, minutes: float, trace: str, console: Console) -> list[Row]:
    """Measure rows until the time is over; return those that are left.

    Raises:
        UserError: the record is of another device, or JAX finds none.
    """
    end = time.monotonic() + 60 * minutes
    worker: Device | None = None
    try:
        worker = Device(OURS, OURS)
        every = list(rows(scale, _same_device(record, worker, scale.limit), trace))
        for row in record.pending(every):
            left = end - time.monotonic()
            if left < LEAST:
                break
            if missing := _missing(row):
                record.add(row.name, LEFT_OUT, 0.0, {'words': missing})
            else:
                worker = _measured(record, row, worker, min(left, scale.limit), left < scale.limit)
            if row.name in record.rows:
                found = record.rows[row.name]
                say(console, f'{row.name}: {found["status"]}, {found["words"]}')
    finally:
        if worker is not None:
            worker.close()
    return record.pending(every)


def _same_device(record: Record, worker: Device, limit: float) -> str:
    """Return the platform of the device, which the record is of.

    Raises:
        UserError: the record is of another, or the device does not answer within the limit, in seconds.
    """
    start = time.monotonic()
    found = worker.ask_within(limit, 'devices')
    known = record.rows.get(DEVICES)
    if known is not None and (known['kind'], known['count']) != (found['kind'], found['count']):
        raise UserError(
            f'--output={record.file}: it holds rows of {known["count"]} x {known["kind"]}, and here is '
            f'{found["count"]} x {found["kind"]}; name another file'
        )
    record.add(DEVICES, DONE, time.monotonic() - start, found)
    return found['platform']


def _missing(row: Row) -> str:
    try:
        require(*row.packages)
    except UserError as error:
        return str(error)
    return ''


def _measured(record: Record, row: Row, worker: Device | None, limit: float, last: bool) -> Device | None:
    """Measure a row and add it; return the worker that lives, if any.

    Args:
        worker: the one that lives, used again where it is of the row's target.
        last: whether the time of the whole command ends the row: then it is not added, as if never begun.
    """
    start = time.monotonic()
    try:
        if worker is None or worker.name != row.target or row.made:
            if worker is not None:
                worker.close()
            worker = None
            worker = Device(row.target, row.target, **row.made)
        for method, arguments in row.asks:
            value = worker.ask_within(limit - (time.monotonic() - start), method, **arguments)
    except UserError as error:
        if worker is not None:
            worker.close()
        if not (isinstance(error, LateError) and last):
            status = LATE if isinstance(error, LateError) else FAILED
            record.add(row.name, status, time.monotonic() - start, {'words': str(error)})
        return None
    figures = value if isinstance(value, dict) else _per_second(row, value)
    record.add(row.name, DONE, time.monotonic() - start, figures)
    return worker


def _per_second(row: Row, seconds: float) -> dict[str, Any]:
    """Figures of a peer, which returns the seconds of what was asked of it last."""
    _, asked = row.asks[-1]
    size = row.made['size']
    count = asked['count'] * (
        asked['batch'] * size['new'] if 'batch' in asked else size['batch'] * size['context_length']
    )
    rate = count / seconds
    return {'seconds': seconds, 'tokens_per_second': rate, 'words': f'{rate:,.0f} tokens/s'}


def table(record: Record) -> Table:
    """The rows of a record as a table."""
    found = [
        (name, row['status'], f'{row["took_seconds"]:,.0f}', row['words'].removeprefix(f'{OURS} failed: '))
        for name, row in record.rows.items()
    ]
    return Table('Rows, in the order in which they were measured', ('row', '', 's', 'found'), found)
