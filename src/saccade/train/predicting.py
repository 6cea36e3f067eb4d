# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Models that predict for new examples, from a run's folder or from a Hugging Face directory."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from saccade.decode.predict import Predictor, Unanswered, require_predictive
from saccade.paths import read_text
from saccade.train.experiment import Experiment
from saccade.train.initial import in_dtype
from saccade.train.trained import config_of, open_run
from saccade.train.workdir import Workdir
from saccade.types import UserError


@dataclass(frozen=True)
class PredictiveModel:
    """Model that predicts, which is not read yet.

    Attributes:
        data: make rows of new examples.
        open: returns the predictor, by a checkpoint as in `train.process.given.CHECKPOINTS` and a number of examples in
            a batch; a UserError for a model that is damaged or missing.
    """

    data: Unanswered
    open: Callable[[str, int], Predictor]


def predictive_run(path: str) -> PredictiveModel:
    """Return the model of a run, with its task and data.

    Raises:
        UserError: the folder holds no run, or the run makes no predictions for examples.
    """
    workdir = Workdir.existing(path)
    experiment = Experiment.of(config_of(workdir))
    require_predictive(experiment.task(), experiment.data())

    def opened(which: str, rows: int) -> Predictor:
        trained = open_run(path, which)
        params = in_dtype(trained.params, experiment.dtype, experiment)
        data, names = experiment.data(), class_names(experiment, workdir)
        return Predictor(experiment.task(), data, trained.model, params, trained.processor, names, rows)

    return PredictiveModel(experiment.data(), opened)


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
