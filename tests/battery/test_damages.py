# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Damages between a run's stop and its resume: of its checkpoints, tokenizer, data, cache and logs.

Each is announced, and the run goes on to the losses of one that was never stopped; or it is refused in one line. What
the run does not need may be damaged without a word. The run has taken 10 steps of 12, and saved those of 6 and 9.
"""

import json
import os
import random
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
sys.path.append(str(TESTS / 'launch'))
import forked  # noqa: E402

pytestmark = pytest.mark.long

ROOT = TESTS.parent
WORDS = ('the', 'model', 'reads', 'a', 'token', 'and', 'writes', 'another', 'word', 'of', 'text', 'about', 'attention')
TINY = (
    '--config.model.width=16',
    '--config.model.block.mixer.heads=2',
    '--config.model.layers=1',
    '--config.model.dropout=0.1',
    '--config.model.vocabulary=300',
    '--config.data.context_length=16',
    '--config.data.tokenizer.vocabulary=300',
    '--config.batch_size=8',
    '--config.steps=12',
    '--config.log_every=1',
    '--config.eval_every=3',
    '--config.eval_batches=2',
    '--config.checkpoint_every=3',
    '--config.keep_last=3',
    '--config.ema=0.9',
    '--config.schedule.warmup=2',
    '--config.sample.tokens=4',
)
WELL = ('identical', 'announced', 'refused')
LOSSES = dict[tuple[int, str], float]


@dataclass(frozen=True)
class Stopped:
    """A run that was stopped. Attributes: home, with the run, its text and its cache; spare, a copy; its losses."""

    home: Path
    spare: Path
    wanted: LOSSES

    @property
    def run(self) -> Path:
        return self.home / 'run'

    @property
    def text(self) -> Path:
        return self.home / 'small.txt'

    def restore(self) -> None:
        """Undo all damage."""
        shutil.rmtree(self.home)
        shutil.copytree(self.spare, self.home)

    def launch(self, script: str, *arguments: str) -> tuple[int | None, str, str]:
        """Run a launcher; return its exit status, None where it hangs, and what it printed."""
        output = [self.home / 'out', self.home / 'err']
        for path in output:
            path.write_text('')
        environment = {**os.environ, 'SACCADE_CACHE': str(self.home / 'cache')}
        command = [str(ROOT / 'launch' / f'{script}.py'), f'--workdir={self.run}', *arguments]
        try:
            status = forked.run(command, self.home, environment, output)
        except TimeoutError:
            status = None
        return status, *(path.read_text(errors='replace') for path in output)

    def train(self) -> tuple[int | None, str, str]:
        """Start the run, or resume it."""
        config = ROOT / 'experiments/causal_lm/quickstart.py'
        return self.launch('train', f'--config={config}', f'--config.data.path={self.text}', *TINY)

    def losses(self) -> LOSSES:
        """What the run has logged, by step and split."""
        lines = map(json.loads, (self.run / 'metrics.jsonl').read_text().splitlines())
        return {(line['step'], line['split']): line['loss'] for line in lines if line['split'] != 'plan'}


@pytest.fixture(scope='module')
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Stopped:
    """A run that was killed after step 10, before it could save that."""
    folder = tmp_path_factory.mktemp('damages')
    (folder / 'home').mkdir()
    generator = random.Random(0)
    run = Stopped(folder / 'home', folder / 'spare', {})
    run.text.write_text(' '.join(generator.choice(WORDS) for _ in range(3000)))
    status, _, errors = run.train()
    assert status == 0, errors
    run.wanted.update(run.losses())
    shutil.rmtree(run.run / 'checkpoints/12')
    assert sorted(path.name for path in (run.run / 'checkpoints').iterdir()) == ['6', '9']
    for name in ('metrics.jsonl', 'samples.jsonl'):
        lines = (run.run / name).read_text().splitlines(keepends=True)
        (run.run / name).write_text(''.join(line for line in lines if json.loads(line)['step'] <= 10))
    shutil.copytree(run.home, run.spare)
    assert outcome(run, *run.train()) == 'identical'
    return run


def outcome(run: Stopped, status: int | None, out: str, errors: str) -> str:
    """Class of what a resume came to."""
    if status is None:
        return 'hang'
    if 'Traceback' in errors or status not in (0, 2):
        return 'traceback'
    if status == 2:
        refusals = [line for line in errors.splitlines() if line.startswith('error: ')]
        return 'refused' if len(refusals) == 1 and errors.splitlines()[-1] == refusals[0] else 'unclear'
    found = run.losses()
    if found == run.wanted:
        return 'announced' if errors.strip() else 'identical'
    gone_and_said = errors.strip() and found.items() <= run.wanted.items()  # lines of the log that were lost
    return 'announced' if gone_and_said else 'silent'


Damage = Callable[[Path], object]


def flip(path: Path) -> None:
    """Flip the lowest bit of the byte in the middle."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def halve(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b'')


def delete(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def rename(path: Path) -> None:
    path.rename(path.with_name(f'{path.name}.old'))


def replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def replace_by_file(path: Path) -> None:
    shutil.rmtree(path)
    path.write_text('a file')


def swap(one: Path, other: Path) -> None:
    one.rename(one.with_name('.between'))
    other.rename(one)
    one.with_name('.between').rename(other)


def keep_lines(path: Path, kept: slice) -> None:
    path.write_text(''.join(path.read_text().splitlines(keepends=True)[kept]))


def halve_last_line(path: Path) -> None:
    path.write_text(path.read_text()[:-20])


BYTES = (flip, halve, empty, delete)


def each(damages: tuple[Damage, ...], *patterns: str) -> dict[str, Callable[[Stopped], object]]:
    """Each of the damages of the largest file that matches each of the patterns."""

    def largest(run: Stopped, pattern: str) -> Path:
        return max(run.home.glob(pattern), key=lambda path: (path.stat().st_size, path))

    return {
        f'{damage.__name__} {pattern}': lambda run, damage=damage, pattern=pattern: damage(largest(run, pattern))
        for pattern in patterns
        for damage in damages
    }


def swap_ids(run: Stopped) -> None:
    path = run.run / 'tokenizer.json'
    content = json.loads(path.read_text())
    ids = content['model']['vocab']
    ids['a'], ids['b'] = ids['b'], ids['a']
    path.write_text(json.dumps(content))


def drop_merges(run: Stopped) -> None:
    path = run.run / 'tokenizer.json'
    content = json.loads(path.read_text())
    content['model']['merges'] = content['model']['merges'][:-5]
    path.write_text(json.dumps(content))


def smaller_tokenizer(run: Stopped) -> None:
    from saccade.data.tokenizer.byte import Byte

    Byte().train(()).save(run.run)


def rewrite_text(run: Stopped, change: Callable[[str], str]) -> None:
    run.text.write_text(change(run.text.read_text()))


def damage_all(run: Stopped, pattern: str, damage: Damage) -> None:
    for path in sorted(path for path in run.home.glob(pattern) if path.is_file() and path.stat().st_size):
        damage(path)


# What depends on the tokenizer, the data and the cache.
OF_DATA = {
    **each((*BYTES, rename, replace_by_folder), 'run/tokenizer.json'),
    'swap two ids of the tokenizer': swap_ids,
    'drop merges of the tokenizer': drop_merges,
    'a smaller tokenizer': smaller_tokenizer,
    **each((*BYTES, rename), 'run/digests.json'),
    **each((*BYTES,), 'run/config.json'),
    **each((*BYTES, rename), 'small.txt'),
    'change a word of the text': lambda run: rewrite_text(run, lambda text: text.replace('token', 'topic', 1)),
    'add to the text': lambda run: rewrite_text(run, lambda text: f'{text} the end'),
    'other line ends in the text': lambda run: rewrite_text(run, lambda text: text.replace(' ', '\r\n', 1)),
    'zero bytes in the text': lambda run: rewrite_text(run, lambda text: f'{text}\0'),
    **each(
        BYTES,
        'cache/*/train/tokens.npy',
        'cache/*/train/counts.npy',
        'cache/*/validation/*.npy',
        'cache/*/digests.json',
    ),
    **each((rename, replace_by_folder), 'cache/*/train/tokens.npy', 'cache/*/digests.json'),
    'flip all of the cache': lambda run: damage_all(run, 'cache/**/*', flip),
    'empty all of the cache': lambda run: damage_all(run, 'cache/**/*', empty),
    'swap tokens of the cache': lambda run: swap(
        *(next(run.home.glob(f'cache/*/{split}/tokens.npy')) for split in ('train', 'validation'))
    ),
    'the cache is a file': lambda run: replace_by_file(run.home / 'cache'),
}


def at(run: Stopped, step: int) -> Path:
    return run.run / f'checkpoints/{step}'


# What depends on the checkpoints and the logs.
OF_STEPS = {
    **each(BYTES, 'run/checkpoints/9/params/**/d/*', 'run/checkpoints/9/rest/**/d/*', 'run/checkpoints/9/saccade.seal'),
    **each(BYTES, 'run/checkpoints/9/params/_METADATA'),
    'swap parameters of two steps': lambda run: swap(at(run, 6) / 'params', at(run, 9) / 'params'),
    'swap seals of two steps': lambda run: swap(at(run, 6) / 'saccade.seal', at(run, 9) / 'saccade.seal'),
    'swap two steps': lambda run: swap(at(run, 6), at(run, 9)),
    'copy step 6 to 9': lambda run: (delete(at(run, 9)), shutil.copytree(at(run, 6), at(run, 9))),
    'copy step 6 to 12': lambda run: shutil.copytree(at(run, 6), at(run, 12)),
    'rename step 9 to 12': lambda run: at(run, 9).rename(at(run, 12)),
    'rename step 9 to 8': lambda run: at(run, 9).rename(at(run, 8)),
    'delete step 9': lambda run: delete(at(run, 9)),
    'step 9 is a file': lambda run: replace_by_file(at(run, 9)),
    'delete all seals': lambda run: damage_all(run, 'run/checkpoints/*/saccade.seal', delete),
    'flip all seals': lambda run: damage_all(run, 'run/checkpoints/*/saccade.seal', flip),
    'flip all parameters': lambda run: damage_all(run, 'run/checkpoints/*/params/**/d/*', flip),
    'empty all checkpoints': lambda run: damage_all(run, 'run/checkpoints/**/*', empty),
    'delete all checkpoints': lambda run: delete(run.run / 'checkpoints'),
    'the checkpoints are a file': lambda run: replace_by_file(run.run / 'checkpoints'),
    **each((halve, empty, delete, rename, replace_by_folder), 'run/metrics.jsonl', 'run/samples.jsonl'),
    'the first line of the metrics is gone': lambda run: keep_lines(run.run / 'metrics.jsonl', slice(1, None)),
    'lines in the midst of the metrics are gone': lambda run: keep_lines(run.run / 'metrics.jsonl', slice(0, None, 2)),
    'the last lines of the metrics are gone': lambda run: keep_lines(run.run / 'metrics.jsonl', slice(0, -1)),
    'a torn line in the metrics': lambda run: halve_last_line(run.run / 'metrics.jsonl'),
    'no JSON before the metrics': lambda run: (run.run / 'metrics.jsonl').write_text('{]\n'),
    'delete the events': lambda run: delete(run.run / 'events'),
}


@pytest.mark.parametrize('damage', [*OF_DATA.values(), *OF_STEPS.values()], ids=[*OF_DATA, *OF_STEPS])
def test_no_damage_is_silent_or_a_traceback_or_a_hang(stopped, damage):
    stopped.restore()
    damage(stopped)
    status, out, errors = stopped.train()
    assert outcome(stopped, status, out, errors) in WELL, errors


@pytest.mark.parametrize(
    'damage', [swap_ids, drop_merges, smaller_tokenizer, lambda run: halve(run.run / 'tokenizer.json')]
)
def test_an_altered_tokenizer_is_refused_by_who_uses_the_model(stopped, damage):
    stopped.restore()
    damage(stopped)
    for script in ('evaluate', 'generate', 'inside'):
        status, out, errors = stopped.launch(script)
        assert (status, out) == (2, ''), errors
        assert errors.count('\n') == 1
        assert 'tokenizer.json: is not the one that the run was trained with: put back the file that' in errors


def test_evaluation_on_other_data_is_said(stopped):
    stopped.restore()
    rewrite_text(stopped, lambda text: text.replace('token', 'topic'))
    status, out, errors = stopped.launch('evaluate', '--json')
    assert status == 0, errors
    assert json.loads(out)['step'] == 9
    assert 'are not those that the run was trained on' in errors
    assert len(errors.splitlines()) == 1
