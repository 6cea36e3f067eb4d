# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Look inside a model: attention of a text or image, lens, ablation of heads, patching; gradient norms by layer.

python launch/inside.py attention --workdir=runs/a --text="The cat sat on the mat" --out=attention.html
python launch/inside.py attention --workdir=runs/vit --image=cat.png --out=attention.png
python launch/inside.py lens      --workdir=runs/a --text="The cat sat on the"
python launch/inside.py lens      --workdir=runs/a --text="The cat sat on the" --tuned
python launch/inside.py ablate    --workdir=runs/a --out=heads.html
python launch/inside.py patch     --workdir=runs/a --clean="the cat sat" --corrupted="the dog sat" --out=patch.html
python launch/inside.py --workdir=runs/a                                    # gradient norms, patterns of heads
python launch/inside.py --config=experiments/causal_lm/quickstart.py        # before training
"""

from functools import partial
from pathlib import Path

from absl import flags

from saccade.train.process.given import CHECKPOINTS, refuse_given, require_content
from saccade.train.process.main import run_main
from saccade.types import UserError

WORKDIR = flags.DEFINE_string('workdir', None, "A run's folder.")
INIT_FROM = flags.DEFINE_string('init_from', None, 'Instead: a run or a Hugging Face directory (not for ablate).')
CONFIG = flags.DEFINE_string(
    'config', None, 'Experiment file, changed by --config.FIELD=VALUE; inspects its initial weights.'
)
CHECKPOINT = flags.DEFINE_enum('checkpoint', 'latest', CHECKPOINTS, 'Checkpoint of the run.')
PART = flags.DEFINE_string('part', '', 'One of several models that were trained together, as discriminator.')
TEXT = flags.DEFINE_string('text', None, 'Text to read; of attention and lens.')
TARGET = flags.DEFINE_string('target', None, 'What a sequence-to-sequence model writes; without it, its translation.')
IMAGE = flags.DEFINE_string('image', None, 'Image file to read, or number of a validation image; of attention.')
LAYER = flags.DEFINE_string('layer', None, "Layer to show, as 'layers.3'; of attention. A page opens with it.")
HEAD = flags.DEFINE_integer('head', None, 'Head to show, from 0; of attention.', lower_bound=0)
CLEAN = flags.DEFINE_string('clean', None, 'Text whose activations are put into the run on --corrupted.')
CORRUPTED = flags.DEFINE_string('corrupted', None, 'Text of as many tokens, with another next token.')
ANSWERS = flags.DEFINE_list('answers', None, 'Next tokens of --clean and --corrupted, A,B.')
REPLACE = flags.DEFINE_enum('replace', 'zero', ('zero', 'mean'), "What replaces a head's output; of ablate.")
BATCHES = flags.DEFINE_integer('batches', 4, 'Batches of validation data; of ablate, lens --tuned.', lower_bound=1)
TUNED = flags.DEFINE_bool('tuned', False, 'Train an affine map for each layer first; of lens.')
STEPS = flags.DEFINE_integer('steps', 300, 'Training batches that tune the lens; of lens --tuned.', lower_bound=1)
OUT = flags.DEFINE_string('out', None, 'File to write: .html, .png, .svg or .pdf; .npz of attention, .csv of others.')
JSON = flags.DEFINE_bool('json', False, 'Print one JSON object.')

_OF_ATTENTION = (IMAGE, LAYER, HEAD)
_OF_A_TEXT = (TEXT, TARGET)
_OF_ABLATE = (REPLACE, BATCHES)
_OF_PATCH = (CLEAN, CORRUPTED, ANSWERS)
_OF_LENS = (TUNED, STEPS)


def main(overrides: list[str]) -> None:
    """Print gradient norms by layer and attention patterns by head.

    Raises:
        UserError: not exactly one of --workdir and --config is given, or a flag has no effect.
    """
    from rich.console import Console

    from saccade.inside.inspection import inspect_config, inspect_run
    from saccade.train.config import load_config

    where = 'without a command: write attention, lens, ablate or patch first'
    refuse_given(
        where, OUT, INIT_FROM, CHECKPOINT, PART, *_OF_ATTENTION, *_OF_A_TEXT, *_OF_LENS, *_OF_ABLATE, *_OF_PATCH
    )
    if bool(WORKDIR.value) == bool(CONFIG.value):
        raise UserError('give either --workdir=FOLDER, the folder of a run, or --config=FILE, an experiment')
    if WORKDIR.value and overrides:
        raise UserError(f"'{overrides[0]}': a run is inspected with its training config")
    if WORKDIR.value:
        report = inspect_run(WORKDIR.value)
    else:
        report = inspect_config(load_config(CONFIG.value, overrides), CONFIG.value)
    print(report.json()) if JSON.value else report.show(Console())


def attention(overrides: list[str]) -> None:
    """Write the attention of every layer on a text or an image; without --out, open it in a browser.

    Raises:
        UserError: a flag is missing or has no effect, or the model has no attention.
    """
    refuse_given('with attention', JSON, *_OF_LENS, *_OF_ABLATE, *_OF_PATCH)
    _require_texts(TEXT, TARGET)
    out = _out('attention')
    explored = _opened(overrides).attention(TEXT.value, TARGET.value, IMAGE.value)
    if out is None:
        refuse_given('without --out', LAYER, HEAD)
        explored.show()
        return
    explored.save(out, LAYER.value, HEAD.value)
    print(f'written: {out}')
    for note in sorted({one.note for one in explored.maps if one.note}):
        print(f'weights {note}')


def lens(overrides: list[str]) -> None:
    """Print the token that each layer would predict at each token of a text; with --tuned, also how well.

    Raises:
        UserError: a flag is missing or has no effect, or the model predicts no tokens.
    """
    from saccade.inside.circuits import logit_lens

    refuse_given('with lens', REPLACE, *_OF_ATTENTION, *_OF_PATCH)
    _require_texts(TEXT, TARGET)
    if TUNED.value:
        refuse_given('with --tuned: give --workdir', INIT_FROM, PART)
    else:
        refuse_given('without --tuned', STEPS, BATCHES)
    out, loaded = _out('grid'), _opened(overrides)
    reading = loaded.reading(TEXT.value, TARGET.value)
    maps, compared = _tuned(loaded) if TUNED.value else (None, ())
    grids = [logit_lens(loaded.inside(reading), reading, loaded.tokenizer, maps), *compared]
    _show(grids, out, f'{grids[0].title}: {TEXT.value}', loaded)


def _tuned(loaded):
    """Return the maps of a tuned lens, trained on the run's training data, and grids of how good they are."""
    from saccade.inside.inspection import first_batches, training_batches
    from saccade.inside.tuned_lens import comparison, read_by, tune

    experiment, _, held_out = first_batches(WORKDIR.value, BATCHES.value, CHECKPOINT.value)
    inside = partial(read_by, experiment.task(), loaded.model, loaded.params)
    maps = tune(map(inside, training_batches(WORKDIR.value)), STEPS.value)
    return maps, [comparison(map(inside, held_out), maps)]


def ablate(overrides: list[str]) -> None:
    """Print the rise of the validation loss of a run without each head.

    Raises:
        UserError: a flag is missing or has no effect, or the model has no heads.
    """
    from saccade.inside.circuits import ablate
    from saccade.inside.inspection import first_batches

    refuse_given('with ablate', INIT_FROM, PART, *_OF_ATTENTION, *_OF_A_TEXT, *_OF_LENS, *_OF_PATCH)
    out, loaded = _out('grid'), _opened(overrides)
    experiment, _, batches = first_batches(WORKDIR.value, BATCHES.value, CHECKPOINT.value)
    value = 0.0 if REPLACE.value == 'zero' else 'mean'
    grid = ablate(experiment.task(), loaded.model, loaded.params, batches, value)
    _show([grid], out, 'Heads', loaded)


def patch(overrides: list[str]) -> None:
    """Print how much of the clean answer each activation of a clean text restores in the run on a corrupted text.

    Raises:
        UserError: a flag is missing or has no effect, or the texts do not fit together.
    """
    from saccade.inside.circuits import patch

    refuse_given('with patch', TEXT, *_OF_ATTENTION, *_OF_LENS, *_OF_ABLATE)
    _require_texts(CLEAN, CORRUPTED, TARGET)
    if not (CLEAN.value and CORRUPTED.value):
        raise UserError('patch compares two texts: give --clean=TEXT and --corrupted=TEXT')
    out, loaded = _out('grid'), _opened(overrides)
    clean, corrupted = (loaded.reading(text, TARGET.value) for text in (CLEAN.value, CORRUPTED.value))
    answers = None
    if ANSWERS.value is not None:
        if len(ANSWERS.value) != 2:
            raise UserError('--answers=A,B names two tokens: the next one of --clean, and that of --corrupted')
        answers = tuple(map(loaded.token, ANSWERS.value))
    grids = patch(loaded.inside(clean), loaded.inside(corrupted), corrupted, answers)
    _show(grids, out, f'{CLEAN.value} \N{RIGHTWARDS ARROW} {CORRUPTED.value}', loaded)


def _opened(overrides):
    from saccade.loaded import Loaded
    from saccade.train.trained import open_trained

    refuse_given('with a trained model', CONFIG)
    if overrides:
        raise UserError(f"'{overrides[0]}': a model is looked at with its training config")
    path = WORKDIR.value or INIT_FROM.value
    trained = open_trained(WORKDIR.value, INIT_FROM.value, CHECKPOINT.value).only(PART.value)
    return Loaded(path, CHECKPOINT.value, trained)


def _require_texts(*given):
    require_content(*(flag for flag in given if flag.present))


def _out(kind):
    """Return the file to write, whose ending is checked before anything is computed."""
    from saccade.inside import grid, maps

    if OUT.value is None:
        return None
    (maps if kind == 'attention' else grid).require_ending(Path(OUT.value))
    return Path(OUT.value)


def _show(grids, out, title, loaded):
    from rich.console import Console

    from saccade.analysis.report.figures import MeasurementReport
    from saccade.inside.grid import save

    source = loaded.path if loaded.trained.step is None else f'{loaded.path}, step {loaded.trained.step:,}'
    if out is not None:
        save(grids, out, f'{title} ({source})')
        print(f'written: {out}')
        return
    figures = {'grids': [grid.record() for grid in grids]}
    report = MeasurementReport(f'{title} ({source})', figures, tuple(grid.table() for grid in grids))
    print(report.json()) if JSON.value else report.show(Console())


if __name__ == '__main__':
    run_main(main, {'attention': attention, 'lens': lens, 'ablate': ablate, 'patch': patch})
