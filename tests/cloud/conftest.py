# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A slice that costs nothing: a gcloud that is not one, and a code of a few lines to ship."""

import shutil
from pathlib import Path

import pytest
from fake_gcloud import FakeGcloud

WORKER = Path(__file__).parents[2] / 'src/saccade/cloud/worker.sh'


@pytest.fixture
def gcloud(tmp_path, monkeypatch) -> FakeGcloud:
    fake = FakeGcloud.at(tmp_path / 'gcloud')
    for name, value in fake.environment.items():
        monkeypatch.setenv(name, value)
    return fake


@pytest.fixture
def code(tmp_path) -> Path:
    """A folder as a launch ships it, whose training prints its arguments."""
    folder = tmp_path / 'code'
    for name in ('launch', 'experiments', 'src/saccade/cloud'):
        (folder / name).mkdir(parents=True)
    shutil.copy(WORKER, folder / 'src/saccade/cloud')
    (folder / 'pyproject.toml').write_text('[project]')
    (folder / 'experiments/tiny.py').touch()
    (folder / 'launch/train.py').write_text('import sys\nprint(sys.argv[1:])')
    return folder
