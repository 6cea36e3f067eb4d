# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Names of `saccade.types`, which are imported when they are asked for."""

import importlib

import pytest

from saccade import types


@pytest.mark.parametrize('name', dir(types))
def test_each_name_is_there_and_its_file_defines_it(name):
    file = importlib.import_module(f'saccade.types.{types._FILES[name]}')
    assert getattr(types, name) is getattr(file, name)


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"^module 'saccade\.types' has no attribute 'Kernl'$"):
        types.Kernl  # noqa: B018
