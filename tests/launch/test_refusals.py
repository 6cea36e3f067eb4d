# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What is asked for wrongly is refused in one line, before data or a model are read and before anything is written."""

from pathlib import Path

import pytest
from refused import assert_refused

ROOT = Path(__file__).parents[2]
CONFIG = f'--config={ROOT}/experiments/causal_lm/quickstart.py'
RUN = '--workdir=none'
SWEEP = ('--config=a.py', '--sweep=b.py', '--workdir=none', '--slurm=time=5')
SUITE = f'--suite={ROOT}/experiments/suites/diagnostics.py'
# Flags without effect, empty texts, and flags that are missing or exclude each other.
FLAGS = [
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
    ('inside', ('attention', RUN, '--text=a', '--json'), '--json has no effect with attention'),
    ('sweep', SWEEP, '--slurm has no effect without --engine=slurm'),
    ('suite', ('--suite=a.py', RUN, '--slurm=time=5'), '--slurm has no effect without --engine=slurm'),
    ('suite', ('--suite=a.py', RUN, '--dry_run', '--page=a.md'), '--page has no effect with --dry_run'),
    ('claims', ('--what=conversation', '--length=4'), '--length has no effect with --what=conversation'),
    ('claims', ('--what=time', '--turns=4', '--seeds=2'), '--turns and --seeds have no effect with --what=time'),
    ('params', (), 'give one of --workdir=FOLDER'),
    ('params', (CONFIG, '--workdir=runs/a'), 'give one of --workdir=FOLDER'),
    ('params', ('--workdir=absent', '--config.steps=3'), 'a trained model has fixed parameters'),
    ('train', (CONFIG, RUN, '--resume'), '--resume: none holds no run; without --resume a run begins there'),
    ('train', (CONFIG, RUN, '--resume', '--restart'), 'give --resume or --restart, not both'),
    ('train', (RUN,), 'give --config=FILE and --workdir=FOLDER'),
    ('train', (CONFIG, RUN, '--steps=5'), "there is no flag '--steps=5'; write --config.steps=5"),
    ('train', (CONFIG, RUN, '--lr', '1e-3'), "there is no flag '--lr'; write --config.schedule.peak=VALUE"),
    ('train', (CONFIG, RUN, '--config.workdir=runs/a'), "no field 'workdir'; did you mean the flag --workdir?"),
    ('train', (CONFIG, RUN, '--config.dtype=bf16'), "wants 'float32' or 'bfloat16', not 'bf16'"),
    ('train', (CONFIG, RUN, '--wandb='), 'WandB: project: must not be empty'),
    ('sweep', ('--seed=3',), "there is no flag '--seed=3'; write --config.seed=3"),
    ('generate', (RUN, '--tempreature=1'), "there is no flag '--tempreature=1'; did you mean '--temperature'?"),
    ('scaling', (), 'give --config=FILE'),
    ('scaling', (CONFIG, '--axis=tensor'), 'use one of data, fsdp, expert'),
    ('suite', (RUN,), 'give --suite=FILE and --workdir=FOLDER'),
    ('suite', (SUITE, RUN, '--page=no/page.md'), 'there is no folder'),
    ('suite', (SUITE, RUN, '--page=page.txt'), 'the name must end with .md or .html or .csv'),
    ('suite', (SUITE, RUN, '--report', '--jobs=2'), '--jobs has no effect with --report'),
    ('suite', (SUITE, RUN, '--report', '--config.steps=3'), 'has no effect with --report, which starts no run'),
    ('suite', (SUITE, RUN, '--size=few', '--budget=9'), 'give --budget or --size, not both'),
    (
        'train',
        (f'--config={ROOT}/experiments/finetune/classify.py', RUN),
        "data: give either 'name', a known dataset, or 'path', your own files",
    ),
]
# Outputs that cannot be written, and a number of nothing.
OUTPUTS = [
    ('claims', ('--what=interaction', '--out=/nonexistent/x.png'), '--out=/nonexistent/x.png: there is no folder'),
    ('decompose', ('--workdir=none', '--out=/nonexistent/x.html'), '--out=/nonexistent/x.html: there is no folder'),
    ('embed', ('--workdir=none', '--text=a', '--out=/nonexistent/x'), '--out=/nonexistent/x: there is no folder'),
    (
        'translate',
        ('--workdir=none', '--text=a', '--alignment=/proc/x.png'),
        '--alignment=/proc/x.png: it',
    ),
    ('report', ('--workdir=none', '--out=/proc/x'), '--out=/proc/x: it cannot be written to'),
    ('five_steps', ('--seed=-1',), 'flag --seed=-1: -1'),
    ('train', (CONFIG, '--workdir=/proc/x'), '--workdir=/proc/x: it cannot be written to'),
    ('train', (CONFIG, f'--workdir=a/{300 * "x"}'), 'it cannot be written to: File name too long'),
    ('sweep', (CONFIG, '--sweep=none', '--workdir=/proc/x'), '--workdir=/proc/x: it cannot be written to'),
    ('slurm', (CONFIG, '--workdir=/proc/x'), '--workdir=/proc/x: it cannot be written to'),
]


@pytest.mark.long
@pytest.mark.parametrize(('launcher', 'arguments', 'words'), [*FLAGS, *OUTPUTS])
def test_it_is_refused_in_one_line(runner, launcher, arguments, words):
    assert_refused(runner.run(launcher, *arguments), words)
    assert not (runner.folder / 'none').exists()
