# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Packages of the wheel; all else is in pyproject.toml, which has no way to find packages under another name."""

from setuptools import find_packages, setup

within = find_packages(include=['experiments', 'experiments.*', 'launch', 'launch.*'])
setup(packages=[*find_packages('src'), *(f'saccade.{name}' for name in within)])
