# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The log: what stands in the files after a run, a resume and a kill, and what people see."""

import errno
import io
import json
import math
import re
import struct
import sys
import threading
import time

import jax
import numpy as np
import pytest
from rich.console import Console
from tensorboardX.proto.event_pb2 import Event, SessionLog

from saccade.data.corpus.prepare import quiet
from saccade.train.log import background, log, tensorboard
from saccade.train.log.display import Display
from saccade.train.log.log import Log, RunConsole, read
from saccade.types import UserError

PLAN = {'parameters': 10**7, 'flops': 2**70, 'tokens': 2048, 'peak_bytes': 0}


class Recorder:
    """A sink of the user's: it keeps what it was told, or fails where it is told to."""

    def __init__(self, fails=''):
        self.heard, self.fails = [], fails

    def hear(self, *words):
        self.heard.append(words)
        if words[0] == self.fails:
            raise OSError(f'cannot {words[0]}')

    def open(self, folder, config, start):
        self.hear('open', folder, config, start)

    def write(self, step, split, metrics):
        self.hear('write', step, split, metrics)

    def sample(self, step, text):
        self.hear('sample', step, text)

    def close(self):
        self.hear('close')


def open_log(folder, start=0, terminal=False, steps=100, **options):
    console = Console(file=io.StringIO(), force_terminal=terminal, width=120, _environ={})
    return Log(folder, steps, start=start, display=Display(console), **options), console.file


def write_steps(folder, *steps, start=0):
    opened, _ = open_log(folder, start)
    with opened:
        for step in steps:
            opened.write(step, 'train', {'loss': step / 3})
            opened.sample(step, f'text {step}')


def steps_in(path):
    return [record['step'] for record in read(path)]


def read_events(folder):
    """TensorBoard's format: length, check, event, check."""
    for path in sorted(folder.iterdir()):
        data = path.read_bytes()
        while data:
            (length,) = struct.unpack('<Q', data[:8])
            yield Event.FromString(data[12 : 12 + length])
            data = data[16 + length :]


def test_losses_come_back_bit_for_bit(tmp_path):
    losses = [np.float32(value) for value in np.random.default_rng(0).normal(size=50)]
    opened, _ = open_log(tmp_path)
    with opened:
        for step, loss in enumerate(losses):
            opened.write(step, 'train', {'loss': jax.numpy.asarray(loss), 'rows': 3, 'rate': 0.1})
    records = read(tmp_path / 'metrics.jsonl')
    assert [np.float32(record['loss']).tobytes() for record in records] == [loss.tobytes() for loss in losses]
    first = (tmp_path / 'metrics.jsonl').read_text().splitlines()[0]
    assert first == f'{{"step": 0, "split": "train", "loss": {float(losses[0])!r}, "rows": 3, "rate": 0.1}}'


def test_a_line_is_in_the_file_at_once(tmp_path):
    opened, _ = open_log(tmp_path)
    with opened:
        opened.write(1, 'train', {'loss': 2.0})
        assert read(tmp_path / 'metrics.jsonl') == [{'step': 1, 'split': 'train', 'loss': 2.0}]


def test_numbers_that_are_not_finite_are_valid_json(tmp_path):
    opened, shown = open_log(tmp_path)
    with opened:
        opened.write(1, 'train', {'loss': math.nan, 'high': math.inf, 'low': -math.inf})

    def refuse(constant):
        raise AssertionError(constant)

    stored = json.loads((tmp_path / 'metrics.jsonl').read_text(), parse_constant=refuse)
    assert (stored['loss'], stored['high'], stored['low']) == ('NaN', 'Infinity', '-Infinity')
    [record] = read(tmp_path / 'metrics.jsonl')
    assert math.isnan(record['loss'])
    assert (record['high'], record['low']) == (math.inf, -math.inf)
    assert 'loss nan' in shown.getvalue()


def test_a_sample_that_reads_nan_stays_text(tmp_path):
    opened, _ = open_log(tmp_path)
    with opened:
        opened.sample(1, 'NaN')
    assert read(tmp_path / 'samples.jsonl') == [{'step': 1, 'text': 'NaN'}]


def test_a_resumed_run_has_each_step_once(tmp_path):
    write_steps(tmp_path, 0, 10, 20, 30)
    write_steps(tmp_path, 30, 40, start=20)
    assert steps_in(tmp_path / 'metrics.jsonl') == [0, 10, 20, 30, 40]
    assert steps_in(tmp_path / 'samples.jsonl') == [0, 10, 20, 30, 40]


def test_a_run_begun_anew_forgets_all(tmp_path):
    write_steps(tmp_path, 0, 10)
    write_steps(tmp_path, 0, start=0)
    assert steps_in(tmp_path / 'metrics.jsonl') == [0]


@pytest.mark.parametrize('cut', [1, 10, 25])
def test_a_last_line_cut_short_is_dropped(tmp_path, cut):
    write_steps(tmp_path, 10, 20)
    path = tmp_path / 'metrics.jsonl'
    path.write_bytes(path.read_bytes() + b'{"step": 20, "split": "train", "loss": 1.0}\n'[:cut])
    assert steps_in(path) == [10, 20]
    write_steps(tmp_path, 30, start=20)
    assert steps_in(path) == [10, 20, 30]


def test_a_last_line_without_its_end_is_kept_whole(tmp_path):
    write_steps(tmp_path, 10, 20)
    path = tmp_path / 'metrics.jsonl'
    path.write_bytes(path.read_bytes()[:-1])
    write_steps(tmp_path, 30, start=20)
    assert steps_in(path) == [10, 20, 30]


@pytest.mark.parametrize(
    ('line', 'words'),
    [
        ('{"step": 1', 'delimiter'),
        ('[]', "it has no 'step'"),
        ('{"split": "train"}', "it has no 'step'"),
        ('{"step": "2", "split": "train"}', "it has no 'step'"),
        (f'{{"step": 1{400 * "0"}, "split": "train"}}', "it has no 'step'"),
        ('{"step": 2}', "it has neither a 'split' nor a 'text'"),
        ('{"step": 2, "split": ["train"]}', "it has neither a 'split' nor a 'text'"),
        ('{"step": 2, "split": "train", "text": {}}', 'text is {}, not a text'),
        ('{"step": 2, "split": "train", "loss": [1, 2]}', 'loss is [1, 2], not a number'),
        ('{"step": 2, "split": "train", "loss": {"a": "[b]"}}', 'loss is {"a": "[b]"}, not a number'),
        ('{"step": 2, "split": "train", "loss": null}', 'loss is null, not a number'),
        ('{"step": 2, "split": "train", "loss": "low"}', 'loss is "low", not a number'),
        (f'{{"step": 2, "split": "train", "loss": 1{400 * "0"}}}', 'loss is 1000'),
        (f'{{"step": 2, "split": "train", "loss": {100_000 * "["}{100_000 * "]"}}}', 'recursion'),
    ],
)  # fmt: skip
def test_damage_elsewhere_is_refused_and_named(tmp_path, line, words):
    path = tmp_path / 'metrics.jsonl'
    whole = '{{"step": {}, "split": "train"}}\n'
    path.write_text(f'{whole.format(1)}{line}\n{whole.format(3)}')
    with pytest.raises(UserError, match=rf'^{path}: line 2 is damaged: .*; repair or remove the file$') as refusal:
        open_log(tmp_path, start=3)
    assert words in str(refusal.value)
    assert len(str(refusal.value)) < 300
    assert path.read_text().splitlines()[1] == line


def test_a_folder_in_place_of_the_file_is_refused(tmp_path):
    (tmp_path / 'metrics.jsonl').mkdir()
    with pytest.raises(UserError, match=r'metrics\.jsonl: cannot be read: Is a directory$'):
        read(tmp_path / 'metrics.jsonl')


@pytest.mark.parametrize('spoil', ['remove', 'empty', 'shorten'])
def test_lines_that_are_gone_are_said_and_training_goes_on(tmp_path, caplog, spoil):
    write_steps(tmp_path, 10, 20, 30)
    path = tmp_path / 'metrics.jsonl'
    lines = path.read_text().splitlines(keepends=True)
    left = {'remove': [], 'empty': [], 'shorten': lines[:1] + lines[2:]}[spoil]
    path.write_text(''.join(left))
    if spoil == 'remove':
        path.unlink()
    opened, _ = open_log(tmp_path, start=20, lines=2)
    with opened:
        opened.write(30, 'train', {'loss': 1.0})
        assert opened.lines == bool(left) + 1
    assert caplog.messages == [
        f'{path}: lines up to step 20 are missing: {int(bool(left))} of 2 are left; training continues'
    ]


def test_lines_after_the_restored_step_may_be_gone(tmp_path, caplog):
    write_steps(tmp_path, 10, 20)
    opened, _ = open_log(tmp_path, start=20, lines=2)
    opened.close()
    assert not caplog.records


def test_tensorboard_gets_the_scalars_and_purges_what_is_run_again(tmp_path):
    write_steps(tmp_path, 10, 20)
    write_steps(tmp_path, 20, start=10)
    events = list(read_events(tmp_path / 'events'))
    scalars = [(e.step, v.tag, v.simple_value) for e in events for v in e.summary.value if v.tag == 'train/loss']
    assert scalars == [(10, 'train/loss', np.float32(10 / 3)), *[(20, 'train/loss', np.float32(20 / 3))] * 2]
    purges = [event.step for event in events if event.session_log.status == SessionLog.START]
    assert purges == [0, 11]


def test_tensorboard_is_spared_what_it_cannot_draw(tmp_path):
    opened, _ = open_log(tmp_path)
    with opened:
        opened.write(1, 'train', {'loss': math.nan, 'rate': 0.5})
    tags = [value.tag for event in read_events(tmp_path / 'events') for value in event.summary.value]
    assert tags == ['train/rate']


def test_a_pipe_gets_plain_lines(tmp_path):
    opened, shown = open_log(tmp_path)
    with opened:
        opened.write(10, 'train', {'loss': 2.31257, 'tokens_per_second': 12345.6, 'mfu': 0.4321})
        opened.write(
            10, 'validation', {'loss': 2.5, 'a_metric_of_a_very_long_name': 1.0, **{f'm{i}': i for i in range(20)}}
        )
        opened.sample(10, 'To [b]be[/b]\x1b[2J\r\nor')
    lines = shown.getvalue().split('\n')
    assert lines[0] == 'step 10/100  train  loss 2.3126  tokens/s 12,346  MFU 43.2%'
    assert lines[1].startswith('step 10/100  validation  loss 2.5  a_metric_of_a_very_long_name 1  m0 0')
    assert lines[1].endswith('m19 19')
    assert lines[2:] == ['sample at step 10:', 'To [b]be[/b]\ufffd[2J\ufffd', 'or', '']


def test_a_figure_that_rounds_to_zero_has_no_sign(tmp_path):
    opened, shown = open_log(tmp_path)
    with opened:
        opened.write(10, 'train', {'loss': -0.0, 'gap': -1e-3})
    assert shown.getvalue() == 'step 10/100  train  loss 0  gap -0.001\n'


def test_a_terminal_gets_a_bar_that_starts_where_the_run_does(tmp_path):
    opened, shown = open_log(tmp_path, start=40, terminal=True)
    with opened:
        opened.step(50)
        opened.write(50, 'train', {'loss': 2.31257, 'gradient_norm': 7.0, 'tokens_per_second': 12345.6, 'mfu': 0.4321})
        opened.write(50, 'validation', {'loss': 2.5})
        opened.sample(50, 'To be')
    text = re.sub(r'\x1b\[[\d;?]*[a-zA-Z]', '', shown.getvalue())
    assert ' 40/100' in text
    assert ' 50/100  loss 2.3126  tokens/s 12,346  MFU 43.2%' in text
    assert 'gradient_norm' not in text
    assert 'step 50/100  validation  loss 2.5' in text
    assert 'sample at step 50:' in text


@pytest.mark.parametrize('terminal', [False, True])
def test_the_plan_is_the_first_record_and_is_not_shown(tmp_path, terminal):
    opened, shown = open_log(tmp_path, terminal=terminal)
    before = shown.getvalue()
    opened.plan(PLAN)
    assert shown.getvalue() == before
    with opened:
        opened.write(1, 'train', {'loss': 1.0})
    assert read(tmp_path / 'metrics.jsonl')[0] == {'step': 0, 'split': 'plan', **PLAN}
    tags = [(value.tag, event.step) for event in read_events(tmp_path / 'events') for value in event.summary.value]
    assert tags == [*((f'plan/{name}', 0) for name in PLAN), ('train/loss', 1)]


def test_a_resumed_run_keeps_its_plan(tmp_path):
    opened, _ = open_log(tmp_path)
    with opened:
        opened.plan(PLAN)
        opened.write(10, 'train', {'loss': 1.0})
    write_steps(tmp_path, 10, start=5)
    assert [(line['step'], line['split']) for line in read(tmp_path / 'metrics.jsonl')] == [(0, 'plan'), (10, 'train')]


def test_a_further_sink_hears_everything(tmp_path):
    sink, config = Recorder(), {'seed': 0}
    opened, _ = open_log(tmp_path, start=7, sinks=[sink], config=config)
    with opened:
        opened.plan(PLAN)
        opened.write(8, 'train', {'loss': np.float32(0.5), 'rows': 3})
        opened.sample(8, 'text')
    assert sink.heard == [
        ('open', tmp_path, config, 7),
        ('write', 0, 'plan', PLAN),
        ('write', 8, 'train', {'loss': 0.5, 'rows': 3}),
        ('sample', 8, 'text'),
        ('close',),
    ]


@pytest.mark.parametrize('method', ['open', 'write', 'sample', 'close'])
def test_a_sink_that_fails_is_said_once_and_left_out(tmp_path, caplog, method):
    broken, sound = Recorder(fails=method), Recorder()
    opened, shown = open_log(tmp_path, terminal=True, sinks=[broken, sound])
    with opened:
        for step in (1, 2):
            opened.write(step, 'train', {'loss': 1.0})
            opened.sample(step, 'text')
    assert caplog.messages == [
        f'Recorder receives no more of the log, and the run continues without it: OSError: cannot {method}'
    ]
    calls = ['open', 'write', 'sample', 'write', 'sample', 'close']
    assert [words[0] for words in sound.heard] == calls
    closed = [] if method in ('open', 'close') else ['close']
    assert [words[0] for words in broken.heard] == [*calls[: calls.index(method) + 1], *closed]
    assert steps_in(tmp_path / 'metrics.jsonl') == steps_in(tmp_path / 'samples.jsonl') == [1, 2]
    tags = [value.tag for event in read_events(tmp_path / 'events') for value in event.summary.value]
    assert tags.count('train/loss') == 2
    assert shown.getvalue().endswith('\x1b[?25h')  # the bar has given the cursor back


@pytest.mark.parametrize('method', ['open', 'write', 'close'])
def test_a_sink_that_blocks_holds_up_neither_training_nor_its_end(tmp_path, monkeypatch, caplog, method):
    free, end = threading.Event(), time.monotonic() + 60

    class Stuck(Recorder):
        def hear(self, *words):
            super().hear(*words)
            if words[0] == method:
                free.wait()

    monkeypatch.setattr(background, 'WAITING', 20)
    monkeypatch.setattr(background, 'CLOSE_SECONDS', 0.2)
    stuck, sound = Stuck(), Recorder()
    opened, _ = open_log(tmp_path, sinks=[stuck, sound])
    steps = 1 if method == 'close' else 60
    for step in range(steps):
        opened.write(step, 'train', {'loss': 1.0})
        time.sleep(0.005)  # the others keep up
    opened.close()
    assert time.monotonic() < end
    [message] = caplog.messages
    assert message.startswith('Stuck receives no more of the log')
    assert message.endswith('it has not finished within 0 seconds' if method == 'close' else '20 records wait for it')
    assert len(sound.heard) == 2 + steps
    assert len(read(tmp_path / 'metrics.jsonl')) == steps
    free.set()


def test_a_sink_is_told_whether_an_error_ends_the_run(tmp_path):
    seen = []

    class Watcher(Recorder):
        def close(self):
            seen.append(sys.exc_info()[0] is not None)

    def run(error):
        with open_log(tmp_path, sinks=[Watcher()])[0]:
            raise error

    open_log(tmp_path, sinks=[Watcher()])[0].close()
    with pytest.raises(UserError):
        run(UserError('it diverged'))
    assert seen == [False, True]


def test_tensorboard_on_a_full_disk_is_left_out(tmp_path, monkeypatch, caplog):
    def full(*_):
        raise OSError(errno.ENOSPC, 'No space left on device')

    opened, _ = open_log(tmp_path)
    with opened:
        opened.write(1, 'train', {'loss': 1.0})
        until = time.monotonic() + 60
        while not list(tmp_path.glob('events/*')) and time.monotonic() < until:
            time.sleep(0.01)
        monkeypatch.setattr(tensorboard.RecordWriter, 'write', full)
        for step in (2, 3):
            opened.write(step, 'train', {'loss': 1.0})
    [message] = caplog.messages
    assert message.startswith(
        f'TensorBoard receives no more of the log, and the run continues without it: {tmp_path}/events: the'
    )
    assert 'the disk is full' in message
    assert steps_in(tmp_path / 'metrics.jsonl') == [1, 2, 3]


def test_tensorboard_that_cannot_begin_leaves_no_file_open(tmp_path, monkeypatch):
    closed, close = [], tensorboard.RecordWriter.close

    def full(*_):
        raise OSError(errno.ENOSPC, 'No space left on device')

    monkeypatch.setattr(tensorboard.RecordWriter, 'write', full)
    monkeypatch.setattr(tensorboard.RecordWriter, 'close', lambda writer: closed.append(writer) or close(writer))
    with pytest.raises(UserError, match='the disk is full'):
        tensorboard.TensorBoard().open(tmp_path, {}, 0)
    assert len(closed) == 1


def test_standard_output_may_end_before_the_run(tmp_path, caplog):
    class Full(io.StringIO):
        def write(self, text):
            raise OSError(errno.ENOSPC, 'No space left on device')

    with Log(tmp_path, 10, display=Display(RunConsole(file=Full()))) as opened:
        for step in (1, 2):
            opened.write(step, 'train', {'loss': 1.0})
    assert len(caplog.messages) == 1
    assert 'standard output cannot be written to: [Errno 28] No space left' in caplog.messages[0]
    assert steps_in(tmp_path / 'metrics.jsonl') == [1, 2]


def test_a_run_is_seen_while_a_dataset_is_prepared(capsys):
    console = RunConsole()
    with quiet():
        print('Downloading and preparing dataset')
        console.print('preparing data')
    assert capsys.readouterr().out == 'preparing data\n'


def test_only_process_0_speaks(tmp_path, monkeypatch):
    monkeypatch.setattr(log.jax, 'process_index', lambda: 1)
    sink = Recorder()
    opened, shown = open_log(tmp_path / 'run', sinks=[sink])
    with opened:
        opened.plan(PLAN)
        opened.write(1, 'train', {'loss': 1.0})
        opened.sample(1, 'text')
    assert shown.getvalue() == ''
    assert sink.heard == []
    assert not (tmp_path / 'run').exists()


def test_a_metric_may_not_hide_the_step(tmp_path):
    opened, _ = open_log(tmp_path)
    with opened, pytest.raises(UserError, match="'step' or 'split'"):
        opened.write(1, 'train', {'step': 1.0})


@pytest.mark.parametrize(
    'value', [[1.0], '1.0', None, {}, np.zeros(2), jax.numpy.zeros((1,)), pytest.param(10**400, id='huge'), 1j]
)
def test_a_metric_that_is_no_number_is_one_line(tmp_path, value):
    opened, _ = open_log(tmp_path)
    with opened, pytest.raises(UserError, match=r'^validation: the metric odd is .*, not a number$') as refusal:
        opened.write(1, 'validation', {'odd': value})
    assert '\n' not in str(refusal.value)
    assert read(tmp_path / 'metrics.jsonl') == []


@pytest.mark.parametrize('taken', [0, 10])
def test_a_full_disk_is_one_line(tmp_path, taken):
    """It takes the beginning of a line, and then no more."""

    class Full:
        left = taken

        def write(self, line):
            if not self.left:
                raise OSError(errno.ENOSPC, 'No space left on device')
            self.left = 0
            return taken

        def close(self):
            pass

    opened, _ = open_log(tmp_path)
    with opened:
        opened._files._metrics.close()
        opened._files._metrics = Full()
        with pytest.raises(UserError, match=rf'^{tmp_path}: the disk is full'):
            opened.write(1, 'train', {'loss': 1.0})
