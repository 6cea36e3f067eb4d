# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Every metric that is logged is declared, and every declared one is logged: of tasks, evaluators and metrics."""

import importlib
import inspect
import pkgutil
import re
from functools import partial
from types import SimpleNamespace

import jax
import numpy as np
import pytest
import wholes

import saccade.metric
import saccade.task
from saccade.decode.greedy import Greedy
from saccade.metric.answer import answered
from saccade.metric.classification import classified
from saccade.metric.correlation import correlated
from saccade.metric.entity import tagged
from saccade.metric.retrieval import retrieved
from saccade.metric.rouge import ROUGE
from saccade.metric.sequence import matched
from saccade.task.absolute_regression import AbsoluteRegression
from saccade.task.base import TaskBase
from saccade.task.captioning import Captioning
from saccade.task.classification import Classification
from saccade.task.contrastive import Contrastive
from saccade.task.cosine_regression import CosineRegression
from saccade.task.multiple_negatives import MultipleNegatives
from saccade.task.regression import Regression
from saccade.task.scheduled_sampling import ScheduledSampling
from saccade.task.siamese_classification import SiameseClassification
from saccade.task.sigmoid_contrastive import SigmoidContrastive
from saccade.task.span_qa import SpanQA
from saccade.task.tagging import Tagging
from saccade.task.translation import Translation
from saccade.task.triplet import Triplet
from saccade.train.config import load_config
from saccade.train.declared import declared, reports_of
from saccade.train.experiment import Experiment
from saccade.types import Evaluator, Part, TextMetric

TRIPLETS = ("--config.task={'use': 'task.triplet:Triplet'}", '--config.data.negative=other')
OTHERS = {  # tasks whose rows are no single texts
    'AbsoluteRegression': ('sets/largest.py', ()),
    'Contrastive': ('pairs/clip.py', ()),
    'SigmoidContrastive': ('pairs/siglip.py', ()),
    'Triplet': ('pairs/sentence_bert.py', TRIPLETS),
    'Captioning': ('vision/captioning.py', ()),
    'ScheduledSampling': ('translation/scheduled_sampling.py', ()),
}


def classes(package):
    """The public classes that the modules of a package define."""
    for module in pkgutil.walk_packages(package.__path__, f'{package.__name__}.'):
        found = vars(importlib.import_module(module.name)).values()
        yield from (each for each in found if inspect.isclass(each) and each.__module__ == module.name)


def names(metrics):
    return {metric.name for metric in metrics}


def logged(experiment):
    """What `loss` returns in training, and what it returns in evaluation."""
    task, model = experiment.task(), experiment.model()
    rows, key = experiment.data().batch_like(experiment.batch_size), jax.random.key(0)
    params = jax.eval_shape(lambda batch: task.init(model, key, batch), rows)
    return [{*jax.eval_shape(partial(task.loss, model, train=train), params, rows, key)} for train in (True, False)]


def experiment_of(name):
    if name in OTHERS:
        file, overrides = OTHERS[name]
        return Experiment.of(load_config(str(wholes.ROOT / file), overrides))
    return wholes.experiment_of(wholes.by_name(name))


SUBJECTS = [*(pair.name for pair in wholes.pairs()), *OTHERS]


@pytest.mark.long
@pytest.mark.parametrize('name', SUBJECTS)
def test_what_a_task_logs_is_declared_and_its_ranking_metric_is_logged(name):
    experiment = experiment_of(name)
    found, task, (train, evaluation) = declared(experiment), experiment.task(), logged(experiment)
    assert train | evaluation <= found.metrics.keys()
    assert evaluation - train <= names(reports_of(task, 'evaluates'))
    assert found.best_by in evaluation | names(reports_of(task, 'evaluates'))
    assert found.metrics[found.best_by].best
    optional = {each for each in names(task.reports) if each.startswith(('pair_', 'boundary_'))}  # of optional heads
    assert names(task.reports) - optional <= train


def test_every_task_is_a_subject():
    tasks = {each.__name__ for each in classes(saccade.task) if issubclass(each, TaskBase) and 'totals' in vars(each)}
    tasks -= {'TaskBase'}
    assert tasks <= {subject.split()[0] for subject in SUBJECTS}


@pytest.mark.long
def test_what_masked_lm_declares_is_logged_by_an_encoder_with_the_head_for_it():
    experiments = [
        Experiment.of(wholes.narrow(load_config(str(wholes.ROOT / f'masked_lm/{name}.py'))))
        for name in ('quickstart', 'spanbert_tiny')
    ]
    of_pairs, of_spans = (logged(each)[1] for each in experiments)
    assert {'pair_loss', 'pair_accuracy'} <= of_pairs - of_spans
    assert {'boundary_loss', 'boundary_accuracy'} <= of_spans - of_pairs
    assert names(experiments[0].task().reports) <= of_pairs | of_spans


LOGITS = np.array([[2.0, 1.0], [0.0, 1.0], [1.0, 3.0]])
EXAMPLES, LABELS = np.arange(3), np.array([0, 1, 0])
CLASSES = SimpleNamespace(names=('a', 'b'))
NUMBERS = {'logits': LOGITS[:, :1], 'example': EXAMPLES, 'value': np.array([1.0, 2.0, 4.0])}
CLASSED = {'logits': LOGITS, 'example': EXAMPLES, 'label': LABELS}
VECTORS = {'image': LOGITS, 'text': LOGITS, 'example': EXAMPLES}
PAIRS = SimpleNamespace(rows=SimpleNamespace(texts=2 * (np.eye(3),), items=lambda rows: (rows, rows)))
SPANS = SimpleNamespace(
    examples=EXAMPLES, gold=lambda number: ['a'], text=lambda *span: 'a', place=lambda *span: (0, 1)
)
TAGS = {'tags': np.array([[0, 1]]), 'labels': np.array([[0, 0]]), 'example': np.array([0])}
WRITTEN = {'tokens': np.array([[1, 2]]), 'counts': np.array([2]), 'row': np.array([0])}
TEXTS = SimpleNamespace(rows=PAIRS.rows, text=lambda ids: 'a cat', references=['a cat sat'])
BIO = SimpleNamespace(names=('O', 'B-X'))


def text_metrics():
    return [each for each in classes(saccade.metric) if '__call__' in vars(each)]


EVALUATIONS = {  # by the class of the task: tasks, predictions and a split
    Classification: (Classification(), CLASSED, CLASSES),
    SiameseClassification: (SiameseClassification(), CLASSED, CLASSES),
    Regression: (Regression(), NUMBERS, None),
    AbsoluteRegression: (AbsoluteRegression(), NUMBERS, None),
    CosineRegression: (CosineRegression(), NUMBERS, None),
    Contrastive: (Contrastive(), VECTORS, PAIRS),
    SigmoidContrastive: (SigmoidContrastive(), VECTORS, PAIRS),
    MultipleNegatives: (
        MultipleNegatives(),
        {'vectors': np.stack([LOGITS, LOGITS], axis=1), 'example': EXAMPLES},
        PAIRS,
    ),
    SpanQA: (SpanQA(), {'start': np.zeros((3, 4)), 'stop': np.zeros((3, 4))}, SPANS),
    Tagging: (Tagging(), TAGS, BIO),
    **{
        task: (task(search=Part(Greedy), metrics=tuple(map(Part, text_metrics()))), WRITTEN, TEXTS)
        for task in (Translation, Captioning, ScheduledSampling)
    },
    Triplet: (Triplet(), {'margin': np.array([1.0, -1.0, 2.0]), 'example': EXAMPLES}, None),
}


@pytest.mark.parametrize('task', EVALUATIONS, ids=lambda task: task.__name__)
def test_what_an_evaluator_measures_is_what_it_declares(task):
    made, predictions, split = EVALUATIONS[task]
    in_totals = {'own_loss'} if task is ScheduledSampling else set()  # of evaluation alone, batch by batch
    assert names(made.evaluates) == made.evaluate(predictions, split).keys() | in_totals
    for name, each in made.evaluate(predictions, split).items():
        metric = next(metric for metric in made.evaluates if metric.name == name)
        assert metric.best
        for value in (each.value, each.low, each.high):
            assert metric.low is None or value >= metric.low
            assert metric.high is None or value <= metric.high


def test_every_evaluator_is_evaluated():
    found = {each for each in classes(saccade.task) if isinstance(each, Evaluator) and hasattr(each, 'totals')}
    bases = {each for each in found if any(other is not each and issubclass(other, each) for other in EVALUATIONS)}
    assert found - bases <= EVALUATIONS.keys()


MEASURES = {  # functions of metrics, and what they measure
    answered: ([['a']], ['a']),
    classified: (LABELS, LABELS, ('a', 'b')),
    correlated: (NUMBERS['value'], NUMBERS['value']),
    matched: ([['a']], [['b']]),
    retrieved: (np.array([1, 2, 30]),),
    tagged: ([['O']], [['B-X']]),
}


@pytest.mark.parametrize('measure', MEASURES, ids=lambda measure: measure.__name__)
def test_what_a_function_measures_is_what_it_declares(measure):
    assert names(measure.reports) == measure(*MEASURES[measure]).keys()


def test_every_function_of_several_metrics_is_measured():
    functions = {
        each
        for module in pkgutil.walk_packages(saccade.metric.__path__, 'saccade.metric.')
        for each in vars(importlib.import_module(module.name)).values()
        if inspect.isfunction(each) and re.match(r'dict\[str, ', str(each.__annotations__.get('return')))
    }
    assert functions == MEASURES.keys()


@pytest.mark.parametrize('metric', text_metrics(), ids=lambda metric: metric.__name__)
def test_what_a_metric_of_texts_returns_is_what_it_declares(metric):
    assert isinstance(metric(), TextMetric)
    assert names(metric().reports) == metric()(['a cat'], ['a cat']).keys()


def test_the_orders_of_rouge_are_declared():
    assert names(ROUGE(orders=(1, 3)).reports) == {'rouge_1', 'rouge_3', 'rouge_l'}


def test_modes_of_denoisers_are_declared():
    experiment = wholes.experiment_of(wholes.by_name('Denoising EncoderDecoder'))
    denoisers = {part().mode for part in experiment.task().denoisers} - {None}
    wanted = {f'{name}_{mode.strip("[]<>")}' for mode in denoisers for name in ('loss', 'accuracy')}
    assert names(reports_of(experiment.task(), 'evaluates')) == (wanted if len(denoisers) > 1 else set())
