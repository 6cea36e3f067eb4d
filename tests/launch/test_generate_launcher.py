# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Generating from the command line: samples as JSON, a conversation, and what is refused."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

LAUNCHER = Path(__file__).parents[2] / 'launch' / 'generate.py'


def generate(runner, *arguments, said=''):
    return subprocess.run(
        [sys.executable, str(LAUNCHER), *arguments],
        input=said,
        capture_output=True,
        text=True,
        env=runner.environment,
        check=False,
        timeout=240,
    )


@pytest.mark.long
def test_samples_come_as_one_json_object(runner, finished):
    done = generate(runner, f'--workdir={finished}', '--prompt=the model ', '--samples=2', '--max_tokens=3', '--json')
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    assert printed['prompt'] == 'the model '
    assert [set(sample) for sample in printed['samples']] == 2 * [{'text', 'tokens'}]
    assert all(0 < len(sample['tokens']) <= 3 and sample['text'] for sample in printed['samples'])


@pytest.mark.long
def test_beams_find_texts_and_score_them(runner, finished):
    given = (f'--workdir={finished}', '--prompt=the model ', '--max_tokens=3')
    done = runner.run('generate', *given, '--beams=4', '--samples=2', '--json')
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    assert [set(sample) for sample in printed['samples']] == 2 * [{'text', 'tokens', 'score'}]
    assert 0 > printed['samples'][0]['score'] >= printed['samples'][1]['score']
    plain = runner.run('generate', *given, '--beams=4')
    assert plain.stdout == f'the model {printed["samples"][0]["text"]}\n'


@pytest.mark.long
@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (('--temperature=1', '--top_k=3'), '--temperature and --top_k have no effect with --beams'),
        (('--greedy',), '--greedy has no effect with --beams'),
        (('--seed=1',), '--seed has no effect with --beams'),
        (('--chat',), '--chat samples its answers: it does not combine with --beams'),
        (('--samples=3',), '--samples=3: 2 beams find 2 texts; raise --beams'),
        (('--alpha=-1',), 'flag --alpha=-1'),
    ],
)
def test_what_does_not_go_with_beams_is_refused(runner, finished, arguments, message):
    done = runner.run('generate', f'--workdir={finished}', '--prompt=the', '--beams=2', *arguments)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert message in line


@pytest.mark.long
def test_samples_with_pages_are_those_of_the_plain_cache(runner, finished):
    given = (f'--workdir={finished}', '--prompt=the model ', '--samples=3', '--max_tokens=3')
    plain, paged = (runner.run('generate', *given, '--json', *more) for more in ((), ('--paged', '--page_size=16')))
    assert paged.returncode == 0, paged.stderr
    plain, paged = (json.loads(done.stdout) for done in (plain, paged))
    assert paged['samples'] == plain['samples']
    assert paged['cache']['pages'] == paged['cache']['pool'] == 3  # the prompt does not fill a page
    assert paged['cache']['bytes'] == 3 * (paged['cache']['page_bytes'] + paged['cache']['row_bytes'])
    text = runner.run('generate', *given, '--paged', '--pages=9')
    assert 'the pool has 9 pages' in text.stderr
    assert text.stdout.count('---') == 2


@pytest.mark.long
@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (('--pages=9',), '--pages has no effect without --paged'),
        (('--page_size=16',), '--page_size has no effect without --paged'),
        (('--paged', '--beams=2'), '--paged is for samples of a prompt: it does not combine with --beams or --chat'),
        (('--paged', '--chat'), '--paged is for samples of a prompt: it does not combine with --beams or --chat'),
        (('--paged', '--page_size=8'), 'flag --page_size=8'),
        (('--paged', '--samples=4', '--pages=3'), 'a pool of 3 pages is too small: 4 texts of'),
    ],
)
def test_what_does_not_go_with_pages_is_refused(runner, finished, arguments, message):
    done = runner.run('generate', f'--workdir={finished}', '--prompt=the', *arguments)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert message in line


@pytest.mark.long
def test_text_follows_the_prompt_and_stops_at_the_context(runner, finished):
    done = generate(runner, f'--init_from={finished}', '--prompt=the model ', '--greedy')
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith('the model ')
    assert len(done.stdout) > len('the model \n')


@pytest.mark.long
def test_a_conversation_answers_line_by_line(runner, finished):
    done = generate(runner, f'--workdir={finished}', '--chat', '--max_tokens=4', said='the model\nand another\n')
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) >= 2


@pytest.mark.long
def test_what_does_not_fit_the_context_is_one_line(runner, finished):
    done = generate(runner, f'--workdir={finished}', '--prompt=the', '--max_tokens=99')
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith('error: a prompt of')
    assert 'max_tokens of 99 do not fit the context of 16' in line


@pytest.mark.long
def test_a_chat_is_written_by_the_template_of_a_folder(runner, finished, tmp_path):
    out = tmp_path / 'out'
    assert runner.run('export', f'--workdir={finished}', f'--out={out}').returncode == 0
    template = '{% for message in messages %}{{ message.content + eos_token }}{% endfor %}'
    (out / 'chat_template.jinja').write_text(template)
    flags = (f'--init_from={out}', '--chat', '--max_tokens=4', '--greedy')
    done = generate(runner, *flags, said='the model\nreads <|end|>\nand another\n')
    assert done.returncode == 0, done.stderr
    refused = "[the line spells the special token '<|end|>', which only the chat template may write]"
    first, line, second = done.stdout.rstrip('\n').split('\n')
    assert line == refused
    assert first != second
    (out / 'chat_template.jinja').write_text("{{ ''.__class__.__mro__ }}")
    done = generate(runner, *flags, said='the model\n')
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert 'the chat template cannot be rendered: ' in line
    assert "'__class__'" in line


@pytest.mark.long
def test_an_encoder_is_refused_with_a_pointer_to_what_it_can_do(runner, encoder):
    done = generate(runner, f'--workdir={encoder}', '--prompt=the model')
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert 'an encoder attends to later tokens' in line
    assert 'launch/fill_mask.py --turns=4' in line


@pytest.mark.long
def test_masked_diffusion_writes_with_an_encoder(runner, encoder):
    given = f'--workdir={encoder}', '--prompt=the model', '--steps=5', '--max_tokens=4', '--samples=2', '--json'
    done = generate(runner, *given)
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    assert [len(sample['tokens']) for sample in printed['samples']] == [4, 4]
    assert 1 <= printed['passes'] <= 5


@pytest.mark.long
@pytest.mark.parametrize(
    ('flags', 'words'),
    [
        (['--steps=5', '--beams=2'], '--beams has no effect with --steps'),
        (['--steps=5', '--max_tokens=999'], 'do not fit the context, which has room for'),
    ],
)
def test_masked_diffusion_refuses_in_one_line(runner, encoder, flags, words):
    done = generate(runner, f'--workdir={encoder}', '--prompt=the model', *flags)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert words in line


@pytest.mark.long
def test_in_bfloat16_other_numbers_give_a_score(runner, finished):
    given = (f'--workdir={finished}', '--prompt=the model ', '--max_tokens=3', '--beams=2', '--json')
    scores = [
        json.loads(runner.run('generate', *given, f'--dtype={dtype}').stdout)['samples'][0]['score']
        for dtype in ('float32', 'bfloat16')
    ]
    assert 0 < abs(scores[0] - scores[1]) < 0.1


@pytest.mark.long
def test_greedy_samples_with_a_draft_are_those_without(runner, finished):
    given = (f'--workdir={finished}', '--prompt=the model ', '--greedy', '--max_tokens=5')
    plain, drafted = (
        runner.run('generate', *given, '--json', *more) for more in ((), (f'--draft={finished}', '--draft_tokens=2'))
    )
    assert drafted.returncode == 0, drafted.stderr
    plain, drafted = (json.loads(done.stdout) for done in (plain, drafted))
    assert drafted['samples'] == plain['samples']
    assert drafted['draft'] == {'rounds': 2, 'drafted': 4, 'kept': 4}  # it is its own draft
    text = runner.run('generate', *given, f'--draft={finished}')
    assert text.stderr == 'draft: 4 of 4 tokens kept; rounds: 1\n'


@pytest.mark.long
@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (
            ('--draft=runs/a', '--beams=2'),
            '--draft is for samples of a prompt: it does not combine with --paged, --beams',
        ),
        (('--draft=runs/a', '--paged'), '--draft is for samples of a prompt'),
        (('--draft_tokens=2',), '--draft_tokens has no effect without --draft'),
        (('--draft=runs/none',), 'runs/none'),
    ],
)
def test_what_does_not_go_with_a_draft_is_refused(runner, finished, arguments, message):
    done = runner.run('generate', f'--workdir={finished}', '--prompt=the', *arguments)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert message in line
