# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The log: what stands in the files after a run, a resume and a kill, and what people see."""

import errno
import io
import json
import math
import re
import struct

import jax
import numpy as np
import pytest
from rich.console import Console
from tensorboardX.proto.event_pb2 import Event, SessionLog

from saccade.train import log
from saccade.train.log import Log, read
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


def open_log(folder, start=0, terminal=False, steps=100, sinks=(), config=None):
    console = Console(file=io.StringIO(), force_terminal=terminal, width=120, _environ={})
    return Log(folder, steps, start=start, console=console, sinks=sinks, config=config), console.file


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


@pytest.mark.parametrize('line', ['{"step": 1', '[]', '{"split": "train"}'])
def test_damage_elsewhere_is_refused_and_named(tmp_path, line):
    path = tmp_path / 'metrics.jsonl'
    path.write_text(f'{{"step": 1}}\n{line}\n{{"step": 3}}\n')
    with pytest.raises(UserError, match=r'metrics\.jsonl: line 2 is damaged'):
        open_log(tmp_path, start=3)
    assert path.read_text().splitlines()[1] == line


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


def test_a_terminal_gets_a_bar_that_starts_where_the_run_does(tmp_path):
    opened, shown = open_log(tmp_path, start=40, terminal=True)
    with opened:
        opened.write(50, 'train', {'loss': 2.31257, 'gradient_norm': 7.0, 'tokens_per_second': 12345.6, 'mfu': 0.4321})
        opened.write(50, 'validation', {'loss': 2.5})
        opened.sample(50, 'To be')
    text = re.sub(r'\x1b\[[\d;?]*[a-zA-Z]', '', shown.getvalue())
    assert ' 40/100' in text
    assert ' 50/100 loss 2.3126  tokens/s 12,346  MFU 43.2%' in text
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


def test_a_sink_that_cannot_be_closed_costs_neither_the_files_nor_the_other_sinks(tmp_path):
    broken, sound = Recorder(fails='close'), Recorder()
    opened, shown = open_log(tmp_path, terminal=True, sinks=[broken, sound])
    opened.write(1, 'train', {'loss': 1.0})
    with pytest.raises(OSError, match='cannot close'):
        opened.close()
    assert sound.heard[-1] == ('close',)
    assert [value.tag for event in read_events(tmp_path / 'events') for value in event.summary.value] == ['train/loss']
    assert shown.getvalue().endswith('\x1b[?25h')  # the bar has given the cursor back


def test_a_sink_that_cannot_be_opened_leaves_the_files_alone_and_the_others_closed(tmp_path):
    write_steps(tmp_path, 10)
    broken, sound = Recorder(fails='open'), Recorder()
    with pytest.raises(OSError, match='cannot open'):
        open_log(tmp_path, terminal=True, sinks=[broken, sound])
    assert [words[0] for words in sound.heard] == ['open', 'close']
    assert [words[0] for words in broken.heard] == ['open']
    assert steps_in(tmp_path / 'metrics.jsonl') == [10]


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


def test_a_full_disk_is_one_line(tmp_path):
    class Full:
        def write(self, _):
            raise OSError(errno.ENOSPC, 'No space left on device')

        def close(self):
            pass

    opened, _ = open_log(tmp_path)
    with opened:
        (files,) = (sink for sink in opened._sinks if isinstance(sink, log._Files))
        files._metrics.close()
        files._metrics = Full()
        with pytest.raises(UserError, match=rf'^{tmp_path}: the disk is full'):
            opened.write(1, 'train', {'loss': 1.0})
