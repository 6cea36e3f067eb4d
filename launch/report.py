# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Compare the runs of a sweep: a page that opens offline, the same in Markdown, and tables as LaTeX and CSV.

For a folder whose subfolders are sweeps over the same variants, the report is a matrix of variants by sweeps.

In CSV files, text that a spreadsheet would evaluate, such as =1+1, is preceded by an apostrophe.

python launch/report.py --workdir=runs/heads
python launch/report.py --workdir=runs/heads --baseline=heads=1
python launch/report.py --workdir=runs/heads --variants='heads=(1|8)$'
"""

from absl import flags

from saccade.train.process.main import run_main
from saccade.train.process.output import require_folder
from saccade.types import UserError

WORKDIR = flags.DEFINE_string('workdir', None, "A sweep's folder, or a folder whose subfolders are runs or sweeps.")
METRIC = flags.DEFINE_string(
    'metric', None, "Metric of the ranking; default: the sweep's, or bits_per_byte, or the metric of the checkpoints."
)
SPLIT = flags.DEFINE_string('split', 'validation', 'Split of the metric.')
BEST = flags.DEFINE_enum('best', None, ['lowest', 'highest'], 'Direction of the metric; default: declared by the runs.')
BASELINE = flags.DEFINE_string(
    'baseline', None, "Add differences to, and multipliers over, this variant; default: the sweep's baseline."
)
VARIANTS = flags.DEFINE_string('variants', '', 'Only variants whose names match this regular expression.')
OUT = flags.DEFINE_string('out', None, 'Output folder; default: the folder `report` in --workdir.')
JSON = flags.DEFINE_bool('json', False, 'Print one JSON object.')


def main(overrides: list[str]) -> None:
    """Write the report of a folder of runs, and print the ranking.

    Raises:
        UserError: overrides are given, --workdir is missing, --baseline or --variants name no variant, or --out cannot
            be written.
    """
    from rich.console import Console

    from saccade.analysis.report.compare import StudyQuestion
    from saccade.analysis.report.matrix import sweeps_in
    from saccade.analysis.report.matrix_files import matrix_report
    from saccade.analysis.report.tables import as_json
    from saccade.analysis.report.write import report

    if overrides:
        raise UserError(f"'{overrides[0]}': a report takes no config")
    if not WORKDIR.value:
        raise UserError('give --workdir=FOLDER, the folder of a sweep')
    if OUT.value:
        require_folder('out', OUT.value)
    write = matrix_report if sweeps_in(WORKDIR.value) else report
    question = StudyQuestion(METRIC.value, SPLIT.value, BEST.value, BASELINE.value, VARIANTS.value)
    found = write(WORKDIR.value, question, OUT.value)
    print(as_json(found.summary())) if JSON.value else found.show(Console())


if __name__ == '__main__':
    run_main(main)
