# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""One call of an attention layer can be followed: few calls of few functions in few files."""

import house
import pytest

MOST = {  # calls, functions, files
    'MultiHead': (53, 40, 10),
    'MultiHead step': (66, 44, 10),
    'Delta': (72, 45, 9),
    'Delta step': (70, 43, 9),
}


@pytest.mark.long
def test_one_call_stays_short():
    sizes = {name: house.size(found) for name, found in house.traced()}
    assert sizes.keys() == MOST.keys()
    assert {name: size for name, size in sizes.items() if any(map(int.__gt__, size, MOST[name]))} == {}
