# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Compare the runs of a sweep: a page that opens offline, the same as Markdown, and the runs as CSV.

Of a folder whose subfolders are sweeps over the same variants it makes a matrix: variants by sweeps.

In runs.csv, text that a spreadsheet would compute, as =1+1, has an apostrophe before it.

python launch/report.py --workdir=runs/heads
python launch/report.py --workdir=runs/heads --baseline=heads=1
"""

from absl import flags

from saccade.train.process.main import run_main
from saccade.train.process.output import require_folder
from saccade.types import UserError

WORKDIR = flags.DEFINE_string('workdir', None, "The sweep's folder, or one whose subfolders are runs or sweeps.")
METRIC = flags.DEFINE_string('metric', None, 'Rank by this; default: bits_per_byte, or what ranks the checkpoints.')
SPLIT = flags.DEFINE_string('split', 'validation', 'The split it is measured on.')
BEST = flags.DEFINE_enum('best', None, ['lowest', 'highest'], 'Best end of the metric; the one that the runs declare.')
BASELINE = flags.DEFINE_string('baseline', None, 'Give compute and wall-clock multipliers over this variant.')
OUT = flags.DEFINE_string('out', None, 'Write here; the default is the folder `report` in --workdir.')
JSON = flags.DEFINE_bool('json', False, 'Print one JSON object.')


def main(overrides: list[str]) -> None:
    """Write the report of a folder of runs, and print the ranking.

    Raises:
        UserError: overrides are given, --workdir is missing, no variant has the name given, or --out cannot be written.
    """
    from rich.console import Console

    from saccade.analysis.report.compare import Question
    from saccade.analysis.report.matrix import sweeps_in
    from saccade.analysis.report.matrix_files import matrix_report
    from saccade.analysis.report.tables import as_json
    from saccade.analysis.report.write import report

    if overrides:
        raise UserError(f"'{overrides[0]}': a report is of runs as they were; it takes no config")
    if not WORKDIR.value:
        raise UserError('give --workdir=FOLDER, the folder of a sweep')
    if OUT.value:
        require_folder('out', OUT.value)
    write = matrix_report if sweeps_in(WORKDIR.value) else report
    question = Question(METRIC.value, SPLIT.value, BEST.value, BASELINE.value)
    found = write(WORKDIR.value, question, OUT.value)
    print(as_json(found.summary())) if JSON.value else found.show(Console())


if __name__ == '__main__':
    run_main(main)
