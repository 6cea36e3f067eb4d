# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Answering from the command line: what is printed stands in the text, and what cannot be answered is refused."""

import json
import math
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONTEXT = ' '.join(f'The number of Ann is {number}. Bo has none.' for number in range(20))


@pytest.fixture(scope='module')
def answering(runner, tmp_path_factory):
    """The folder of a run that learned for two steps to answer questions of a file of its own."""
    folder = tmp_path_factory.mktemp('answering')
    question = {'id': 'a', 'question': 'Which number?', 'answers': [{'text': '7', 'answer_start': CONTEXT.index('7')}]}
    paragraphs = [{'context': CONTEXT, 'qas': [question]}]
    for name in ('train', 'dev'):
        (folder / f'{name}.json').write_text(json.dumps({'data': [{'title': name, 'paragraphs': paragraphs}]}))
    small = ('model.width=16', 'model.layers=1', 'batch_size=4', 'steps=2', 'model.block.mixer.heads=2')
    done = runner.run(
        'train',
        f'--config={ROOT}/experiments/finetune/answer.py',
        f'--workdir={folder}/run',
        f'--config.data.path={folder}',
        *(f'--config.{each}' for each in small),
    )
    assert done.returncode == 0, done.stderr
    return folder / 'run', done.stdout


@pytest.mark.long
def test_the_question_that_training_suggests_is_answered(runner, answering):
    _, printed = answering
    (command,) = (line for line in printed.splitlines() if 'launch/predict.py' in line)
    done = runner.run('predict', *shlex.split(command.partition('launch/predict.py')[2]))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith('question  What is the home of Ada?')


def answer(runner, workdir, *arguments):
    return runner.run('predict', f'--workdir={workdir}', *arguments)


def refusal(done):
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    return line


@pytest.mark.long
def test_training_prints_exact_match_and_f1_with_their_intervals(answering):
    _, printed = answering
    assert '1 questions' in printed
    for name in ('exact match', 'f1'):
        (line,) = (line for line in printed.splitlines() if line.startswith(name))
        assert '[' in line


@pytest.mark.long
def test_an_answer_comes_as_one_json_object_with_its_place(runner, answering):
    done = answer(runner, answering[0], '--question=Which number?', f'--context={CONTEXT}', '--json')
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    assert set(printed) == {'question', 'context', 'answer', 'start', 'stop', 'score', 'null_score'}
    assert CONTEXT[printed['start'] : printed['stop']] == printed['answer'] != ''
    assert printed['score'] < 0 > printed['null_score']


@pytest.mark.long
def test_people_read_the_answer_its_place_and_its_score(runner, answering, tmp_path):
    file = tmp_path / 'context.txt'
    file.write_text('Größe\n' + CONTEXT, encoding='utf-8')
    done = answer(runner, answering[0], '--question=Which number?', f'--context_file={file}')
    assert done.returncode == 0, done.stderr
    question, words, place, score = (line.split(maxsplit=1) for line in done.stdout.splitlines())
    assert question == ['question', 'Which number?']
    assert (words[0], place[0], score[0]) == ('answer', 'place', 'score')
    start, stop = (int(number) for number in place[1].removeprefix('characters ').split(' to '))
    assert file.read_text()[start:stop] == words[1]
    nats, share = score[1].split(';')[0].split(' nats ')
    assert math.exp(float(nats)) == pytest.approx(float(share.strip('(%)')) / 100, abs=1e-3)


@pytest.mark.long
def test_a_run_of_another_task_is_refused(runner, finished):
    done = answer(runner, finished, '--question=Which?', '--context=This one.')
    assert refusal(done).startswith('error: a run of task.causal_lm:CausalLM predicts no class, number, tags or answer')


@pytest.mark.long
@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (('--context=a',), 'this model reads --question and --context, not --context'),
        (('--question=a',), 'this model reads --question and --context, not --question'),
        (('--question=a', '--context=b', '--context_file=c'), 'give either --context or --context_file'),
        (('--question=a', '--context= '), '--context is empty'),
        (('--question=a', '--context_file=/no/such'), '/no/such: cannot be read'),
        (
            ('--question=a', '--context=b', '--config.steps=3'),
            "'--config.steps=3': a model predicts with",
        ),
    ],
)
def test_what_is_missing_is_said_in_one_line(runner, answering, arguments, message):
    assert message in refusal(answer(runner, answering[0], *arguments))
