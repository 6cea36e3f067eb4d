# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Attention over images: which weights are shown, of known ones."""

import numpy as np
import pytest

from saccade.inside.over_images import draw_over_images, of_patches
from saccade.types import UserError


def test_with_a_class_token_its_weights_on_the_patches_are_shown():
    weights = np.arange(2 * 3 * 7 * 7.0).reshape(2, 3, 7, 7)
    found = of_patches(weights, (2, 3))
    assert found.shape == (2, 3, 2, 3)
    np.testing.assert_array_equal(found[1, 2].ravel(), weights[1, 2, 0, 1:])


def test_without_one_the_mean_over_the_patches_is():
    weights = np.arange(1 * 2 * 6 * 6.0).reshape(1, 2, 6, 6)
    np.testing.assert_array_equal(of_patches(weights, (3, 2))[0, 1].ravel(), weights[0, 1].mean(axis=0))


def test_a_file_of_an_unknown_kind_is_refused_before_anything_is_read(tmp_path):
    with pytest.raises(UserError, match=r'a\.txt: .* ends in'):
        draw_over_images(str(tmp_path / 'none'), tmp_path / 'a.txt')
