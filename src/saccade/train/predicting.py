# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Predictor of a run: its trained model, opened for the prediction of new texts."""

import json
from dataclasses import replace

from saccade.decode.predict import Predictor, Unanswered, require_predictive
from saccade.paths import read_text
from saccade.train.experiment import Experiment
from saccade.train.learner import cast
from saccade.train.trained import config_of, open_run
from saccade.train.workdir import Workdir
from saccade.types import UserError


def data_to_predict(path: str) -> Unanswered:
    """Return the data of a run, which make rows of new examples; the model is not read yet.

    Raises:
        UserError: the folder holds no run, or the run makes no predictions for examples.
    """
    experiment = Experiment.of(config_of(Workdir.existing(path)))
    require_predictive(experiment.task(), experiment.data())
    return experiment.data()


def open_predictor(path: str, which: str, rows: int) -> Predictor:
    """Open a run.

    Args:
        which: checkpoint, as in `train.process.given.CHECKPOINTS`.
        rows: texts in a batch.

    Raises:
        UserError: the folder holds no run, or the run makes no predictions for texts.
    """
    trained = open_run(path, which)
    experiment = Experiment.of(trained.config)
    params = cast(trained.params, experiment.dtype)
    predictor = Predictor(experiment.task(), experiment.data(), trained.model, params, trained.processor, rows=rows)
    return replace(predictor, names=class_names(experiment, Workdir.existing(path)))


def class_names(experiment: Experiment, workdir: Workdir) -> tuple[str, ...]:
    """Return the names of the classes, if there are any, from the run's folder.

    Raises:
        UserError: classes.json is missing, or does not hold as many names as there are classes.
    """
    if not hasattr(experiment.data(), 'classes'):
        return ()
    try:
        names = json.loads(read_text(workdir.classes))
    except (OSError, ValueError) as error:
        raise UserError(f'{workdir.classes}: cannot be read as JSON: {error}') from error
    count = experiment.data().classes
    if not isinstance(names, list) or len(names) != count or not all(isinstance(name, str) for name in names):
        raise UserError(f'{workdir.classes}: not a list of the names of {count} classes')
    return tuple(names)
