# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Reproduce the table and the figure of a claim.

python launch/claims.py --what=interaction --out=steps.png   # steps from the first token to the last: O(n) and O(1)
python launch/claims.py --what=gradient                      # gradient of a loss with respect to a token n steps back
python launch/claims.py --what=time                          # time of a layer, and its sequential steps
python launch/claims.py --what=conversation --turns=8        # re-reading each turn, compared with a KV cache
python launch/claims.py --what=estimators                    # bias and variance of gradient estimators of a choice
python launch/claims.py --what=induction --seeds=3           # induction heads and the drop of the in-context loss
python launch/claims.py --what=norms --out=norms.png         # gradient norms by layer, with and without LayerNorm
python launch/claims.py --what=heads --seeds=5 --csv=a.csv   # loss after removing random heads, of 1 to 16 heads
python launch/claims.py --what=focus --seeds=5               # entropy of global and local attention
"""

from pathlib import Path

from absl import flags

from saccade.train.process.given import refuse_given
from saccade.train.process.main import run_main
from saccade.train.process.output import require_file
from saccade.types import UserError

LENGTH = flags.DEFINE_multi_integer('length', None, 'Lengths in tokens for the first three claims; powers of 2.', 1)
TURNS = flags.DEFINE_integer('turns', 8, 'Turns of the conversation.', 1)
DRAWS = flags.DEFINE_integer('draws', 20_000, 'Draws per estimator.', 2)
SEEDS = flags.DEFINE_integer('seeds', 3, 'Seeds per model.', 1)
# Flag that the study of each claim reads.
_READ = {
    'interaction': LENGTH,
    'gradient': LENGTH,
    'time': LENGTH,
    'conversation': TURNS,
    'estimators': DRAWS,
    'induction': SEEDS,
    'norms': SEEDS,
    'heads': SEEDS,
    'focus': SEEDS,
}
WHAT = flags.DEFINE_enum('what', None, list(_READ), 'Which claim.')
OUT = flags.DEFINE_string('out', None, 'File (.png, .svg, .pdf) for a picture of the table.')
CSV = flags.DEFINE_string('csv', None, 'File for the table as comma-separated values.')
JSON = flags.DEFINE_bool('json', False, 'Print one JSON object.')


def main(overrides: list[str]) -> None:
    """Print the table of a claim, and save its figure and its table if --out and --csv are given.

    Raises:
        UserError: overrides are given, --what is missing, a flag belongs to another claim, or a file cannot be
            written.
    """
    from rich.console import Console

    from saccade.studies.chart import Claim, require_ending
    from saccade.studies.conversation import conversation
    from saccade.studies.distance import LENGTHS, gradient, interaction, wall_time
    from saccade.studies.estimators import estimators
    from saccade.studies.focus import focus
    from saccade.studies.gradient_norms import gradient_norms
    from saccade.studies.induction import induction
    from saccade.studies.removed_heads import removed_heads
    from saccade.train.workdir import write_atomically

    if overrides:
        raise UserError(f"'{overrides[0]}': this command takes no config; its models are small and fixed")
    if WHAT.value is None:
        raise UserError(f'give --what={", ".join(_READ)}')
    studies = {
        'interaction': interaction,
        'gradient': gradient,
        'time': wall_time,
        'conversation': conversation,
        'estimators': estimators,
        'induction': induction,
        'norms': gradient_norms,
        'heads': removed_heads,
        'focus': focus,
    }
    study, read = studies[WHAT.value], _READ[WHAT.value]
    refuse_given(f'with --what={WHAT.value}', *(flag for flag in (LENGTH, TURNS, DRAWS, SEEDS) if flag is not read))
    if OUT.value:
        require_ending(Path(OUT.value))
        require_file('out', OUT.value)
    if CSV.value:
        require_file('csv', CSV.value)
    claim: Claim = study(read.value or LENGTHS)
    if OUT.value:
        claim.chart.save(Path(OUT.value))
    if CSV.value:
        write_atomically(Path(CSV.value), claim.report.tables[0].csv().encode())
    print(claim.report.json()) if JSON.value else claim.report.show(Console())


if __name__ == '__main__':
    run_main(main)
