# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Train on a Cloud TPU slice: the same command follows the training, or resumes it.

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
SLICE = flags.DEFINE_string('slice', None, 'Accelerator type, such as v5litepod-16.')
ZONE = flags.DEFINE_string('zone', None, 'Zone of the slice.')
VERSION = flags.DEFINE_string('runtime_version', 'RUNTIME_VERSION', 'Software version of the hosts.')
PROJECT = flags.DEFINE_string('project', None, "Google Cloud project; the default is gcloud's own.")
NAME = flags.DEFINE_string('name', None, 'Name of the TPU; default: derived from --workdir.')
QUEUED = flags.DEFINE_bool('queued', False, 'Request a queued resource and wait for it.')
SPOT = flags.DEFINE_bool('spot', False, 'Request a spot slice, which is cheaper and may be preempted.')
WAIT = flags.DEFINE_float('wait_minutes', 60.0, 'Minutes to wait until the slice is ready.', 0)
RESTARTS = flags.DEFINE_integer('restarts', 10, 'Maximum number of restarts on a new slice after preemption.', 0)
ENV = flags.DEFINE_multi_string('env', [], 'NAME=VALUE for the training on every host; printed, so not for secrets.')
CREATE = flags.DEFINE_multi_string(
    'create_flag', [], 'Additional flag of `gcloud ... create`: --create_flag=--reserved.'
)
CONNECT = flags.DEFINE_multi_string(
    'connect_flag', [], 'Additional flag of gcloud ssh and scp: --connect_flag=--internal-ip.'
)
DELETE_AFTER = flags.DEFINE_bool('delete_after', False, 'Delete the slice when the training has ended or failed.')
TEARDOWN = flags.DEFINE_bool('teardown', False, 'Only delete the slice.')
DRY_RUN = flags.DEFINE_bool('dry_run', False, 'Print every command, and run none.')
JSON = flags.DEFINE_bool('json', False, 'Print only one JSON object, with the outcome or the commands of a dry run.')


def main(overrides: list[str]) -> None:
    """Run the launch or the teardown, or print its commands; exit with its status.

    Raises:
        UserError: a flag is missing or has an invalid value.
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
    """Return the launch described by the flags.

    Raises:
        UserError: a flag is missing, or the config is invalid.
    """
    from saccade.cloud.launch import CloudTraining, Launch
    from saccade.cloud.tpu import RetryPolicy
    from saccade.train.config import load_config
    from saccade.train.experiment import Experiment, cache_folder

    if not (CONFIG.value and WORKDIR.value and SLICE.value):
        raise UserError('give --config=FILE, --workdir=FOLDER, --slice=TYPE and --zone=ZONE')
    Experiment.of(load_config(CONFIG.value, overrides))  # report errors before anything costs money
    code, archive = Path(__file__).resolve().parents[1], cache_folder() / f'tpu/{tpu.wanted.name}.tar.gz'
    if not (code / 'pyproject.toml').is_file():
        raise UserError('the working tree is sent to the TPU slice: run launch/tpu.py in a clone of Saccade')
    training = CloudTraining.of(code, CONFIG.value, WORKDIR.value, overrides, BUCKET.value, ENV.value)
    return Launch(tpu, training, archive, RetryPolicy(WAIT.value, RESTARTS.value), keep=not DELETE_AFTER.value)


if __name__ == '__main__':
    run_main(main)
