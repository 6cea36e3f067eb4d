# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Flags without effect, and empty texts, are refused before a model is read."""

import pytest
from refused import assert_refused

RUN = '--workdir=none'
SWEEP = ('--config=a.py', '--sweep=b.py', '--workdir=none', '--slurm=time=5')


@pytest.mark.long
@pytest.mark.parametrize(
    ('launcher', 'arguments', 'words'),
    [
        ('translate', (RUN, '--text='), '--text is empty'),
        ('translate', (RUN, '--file='), '--file is empty'),
        ('predict', (RUN, '--text=a', '--pair= '), '--pair is empty'),
        ('predict', (RUN, '--question=', '--context=a'), '--question is empty'),
        ('fill_mask', (RUN, '--text='), '--text is empty'),
        ('embed', (RUN, '--text=a', '--text='), '--text is empty'),
        ('embed', (RUN, '--text=a', '--word='), '--word is empty'),
        ('search', (RUN, '--corpus=a', '--query='), '--query is empty'),
        ('zero_shot', (RUN, '--image=a.png', '--classes=a,'), '--classes is empty'),
        ('zero_shot', (RUN, '--split=validation', '--template='), '--template is empty'),
        ('translate', (RUN, '--text=a', '--alpha=1'), '--alpha has no effect with fewer than two --beams'),
        (
            'translate',
            (RUN, '--text=a', '--layer=1', '--head=2'),
            '--layer and --head have no effect without --alignment',
        ),
        ('generate', (RUN, '--alpha=1'), '--alpha has no effect without --beams'),
        ('generate', (RUN, '--greedy', '--temperature=1'), '--temperature has no effect with --greedy'),
        ('generate', (RUN, '--temperature=0', '--top_k=3', '--seed=1'), '--top_k and --seed have no effect with'),
        ('embed', (RUN, '--text=a', '--count=3'), '--count has no effect without --nearest'),
        ('embed', (RUN, '--nearest=a', '--layer=1'), '--layer has no effect without --text'),
        ('embed', (RUN, '--text=a', '--word=a', '--pool=first'), '--pool has no effect with --word'),
        ('zero_shot', (RUN, '--split=validation', '--top=2'), '--top has no effect without --image'),
        ('inside', (RUN, '--picture=a.png', '--json'), '--json has no effect with --picture'),
        ('sweep', SWEEP, '--slurm has no effect without --engine=slurm'),
        ('suite', ('--suite=a.py', RUN, '--slurm=time=5'), '--slurm has no effect without --engine=slurm'),
        ('suite', ('--suite=a.py', RUN, '--dry_run', '--page=a.md'), '--page has no effect with --dry_run'),
        ('claims', ('--what=conversation', '--length=4'), '--length has no effect with --what=conversation'),
        ('claims', ('--what=time', '--turns=4', '--seeds=2'), '--turns and --seeds have no effect with --what=time'),
        ('accelerator', ('--config.steps=3',), "'--config.steps=3': there is no config"),
    ],
)
def test_it_is_refused_in_one_line(runner, launcher, arguments, words):
    assert_refused(runner.run(launcher, *arguments), words)
