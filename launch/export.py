# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Export a trained model as a Hugging Face folder, which transformers and what builds on it can open.

python launch/export.py --workdir=runs/quickstart --out=quickstart_hf
python launch/export.py --workdir=runs/tuned --out=adapter --adapter
python launch/export.py --workdir=runs/bert --out=bert_hf --checkpoint=best --dtype=bfloat16 --shard_size=2GB
"""

import json
import re
from pathlib import Path

from absl import flags

from saccade.train.process.given import CHECKPOINTS, refuse_given
from saccade.train.process.main import run_main
from saccade.types import UserError

WORKDIR = flags.DEFINE_string('workdir', None, "The run's folder.")
OUT = flags.DEFINE_string('out', None, 'The new folder.')
CHECKPOINT = flags.DEFINE_enum('checkpoint', 'latest', CHECKPOINTS, 'Which checkpoint of the run.')
PART = flags.DEFINE_string('part', '', 'Which of the models of the run, where it trained several together.')
FAMILY = flags.DEFINE_string('family', None, 'Family, as "bert"; by default the simplest that holds the model.')
DTYPE = flags.DEFINE_string('dtype', 'float32', 'Type of the tensors: float32, bfloat16 or float16.')
SHARD_SIZE = flags.DEFINE_string('shard_size', '5GB', 'Size of a file of tensors at most, in MB or GB.')
ADAPTER = flags.DEFINE_bool('adapter', False, 'Of a LoRA run only its updates, as an adapter of PEFT.')
JSON = flags.DEFINE_bool('json', False, 'Print one JSON object.')

_UNITS = {'MB': 10**6, 'GB': 10**9}


def main(overrides: list[str]) -> None:
    """Write the folder, and print its family and architecture.

    Raises:
        UserError: overrides are given, a flag is missing or wrong, or the model cannot be exported.
    """
    from saccade.hub.export import Format
    from saccade.paths import expanded
    from saccade.train.exporting import export_adapter_of, export_run

    if overrides:
        raise UserError(f"'{overrides[0]}': a model is exported with the config it was trained with")
    if not WORKDIR.value or not OUT.value:
        raise UserError('give --workdir=FOLDER, a run, and --out=FOLDER, a new folder')
    form = Format(FAMILY.value, DTYPE.value, _bytes(SHARD_SIZE.value))
    out = Path(expanded(OUT.value))
    if ADAPTER.value:
        refuse_given('with --adapter', PART, FAMILY, SHARD_SIZE)
        found = export_adapter_of(WORKDIR.value, out, CHECKPOINT.value, DTYPE.value)
    else:
        found = export_run(WORKDIR.value, out, CHECKPOINT.value, PART.value, form)
    if JSON.value:
        print(json.dumps({'out': str(out), **found}))
        return
    print(
        f'{out}: {found["architecture"]} ({found["family"]}), {found["parameters"]:,} parameters, step {found["step"]}'
    )


def _bytes(size: str) -> int:
    match = re.fullmatch(r'([1-9]\d{0,5}) ?(MB|GB)', size)
    if match is None:
        raise UserError(f'--shard_size={size}: write a whole number of MB or GB, as 2GB')
    return int(match[1]) * _UNITS[match[2]]


if __name__ == '__main__':
    run_main(main)
