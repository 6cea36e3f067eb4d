# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Train on a Cloud TPU slice, or go on with it: the same command again follows the training, or resumes it.

python launch/tpu.py --config=experiments/causal_lm/gpt2_124m.py --workdir=runs/gpt2 --bucket=MINE \
    --slice=v5litepod-16 --zone=us-west4-a --runtime_version=v2-alpha-tpuv5-lite --config.mesh.fsdp=16
python launch/tpu.py --workdir=runs/gpt2 --zone=us-west4-a --teardown
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from absl import flags

from saccade.train.process.main import run_main
from saccade.types import UserError

if TYPE_CHECKING:
    from saccade.cloud.launch import Launch
    from saccade.cloud.tpu import TPU

CONFIG = flags.DEFINE_string('config', None, 'Experiment file; any field is overridden by --config.FIELD=VALUE.')
WORKDIR = flags.DEFINE_string('workdir', None, "The run's folder, in the bucket.")
BUCKET = flags.DEFINE_string('bucket', 'BUCKET', 'Cloud Storage bucket that every host mounts; paths start in it.')
SLICE = flags.DEFINE_string('slice', None, 'Accelerator type, as v5litepod-16.')
ZONE = flags.DEFINE_string('zone', None, 'Where it stands.')
VERSION = flags.DEFINE_string('runtime_version', 'RUNTIME_VERSION', 'Software of its hosts.')
PROJECT = flags.DEFINE_string('project', None, "Google Cloud project; the default is gcloud's own.")
NAME = flags.DEFINE_string('name', None, "Of the TPU; the default is made of --workdir's.")
QUEUED = flags.DEFINE_bool('queued', False, 'Wait in the queue for it: a queued resource.')
SPOT = flags.DEFINE_bool('spot', False, 'Cheaper, and may be taken away.')
WAIT = flags.DEFINE_float('wait_minutes', 60.0, 'How long it may take until it is ready.', 0)
RESTARTS = flags.DEFINE_integer('restarts', 10, 'How often to begin again on a new one when it is taken away.', 0)
ENV = flags.DEFINE_multi_string('env', [], 'NAME=VALUE, for the training on every host; no secrets, they are printed.')
CREATE = flags.DEFINE_multi_string('create_flag', [], 'One more for gcloud where it creates: --create_flag=--reserved.')
CONNECT = flags.DEFINE_multi_string('connect_flag', [], 'One more for its ssh and scp: --connect_flag=--internal-ip.')
DELETE_AFTER = flags.DEFINE_bool('delete_after', False, 'Delete it when the training has ended, well or not.')
TEARDOWN = flags.DEFINE_bool('teardown', False, 'Delete it now, and do nothing else.')
DRY_RUN = flags.DEFINE_bool('dry_run', False, 'Print every command, and run none.')
JSON = flags.DEFINE_bool('json', False, 'Print one JSON object, how it ended or what would be run, and nothing else.')


def main(overrides: list[str]) -> None:
    """Carry out the launch or the teardown, or print its commands; exit with its status.

    Raises:
        UserError: a flag is missing or has no valid value.
    """
    from saccade.cloud.launch import Teardown, carry_out, name_of, rehearse
    from saccade.cloud.tpu import TPU, QueuedTPU, SliceSpec

    if not (ZONE.value and (WORKDIR.value or NAME.value)):
        raise UserError('give --config=FILE, --workdir=FOLDER, --slice=TYPE and --zone=ZONE')
    name, more = NAME.value or name_of(WORKDIR.value), (tuple(CREATE.value), tuple(CONNECT.value))
    wanted = SliceSpec(name, ZONE.value, SLICE.value, VERSION.value, PROJECT.value, SPOT.value, *more)
    tpu = (QueuedTPU if QUEUED.value else TPU)(wanted)
    job = Teardown(tpu) if TEARDOWN.value else launch(tpu, overrides)
    sys.exit((rehearse if DRY_RUN.value else carry_out)(job, JSON.value))


def launch(tpu: 'TPU', overrides: list[str]) -> 'Launch':
    """Return the launch that the flags ask for.

    Raises:
        UserError: a flag is missing, or the config is not valid.
    """
    from saccade.cloud.launch import Launch, Training
    from saccade.cloud.tpu import RetryPolicy
    from saccade.train.config import load_config
    from saccade.train.experiment import cache_folder

    if not (CONFIG.value and WORKDIR.value and SLICE.value):
        raise UserError('give --config=FILE, --workdir=FOLDER, --slice=TYPE and --zone=ZONE')
    load_config(CONFIG.value, overrides)  # a mistake in it costs nothing here
    code, archive = Path(__file__).resolve().parents[1], cache_folder() / f'tpu/{tpu.wanted.name}.tar.gz'
    if not (code / 'pyproject.toml').is_file():
        raise UserError('a TPU slice gets the working tree: run launch/tpu.py in a clone of Saccade')
    training = Training.of(code, CONFIG.value, WORKDIR.value, overrides, BUCKET.value, ENV.value)
    return Launch(tpu, training, archive, RetryPolicy(WAIT.value, RESTARTS.value), keep=not DELETE_AFTER.value)


if __name__ == '__main__':
    run_main(main)
