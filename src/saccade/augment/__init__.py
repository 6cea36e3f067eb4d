# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Augmentations: random changes of the training examples of a batch, on the device, from the step's key, one a file.

Each example's draw depends on the step and on the number of the example, not on the devices that share the batch.
Not here: what the input pipeline does to every image (`data/image`).
"""

from saccade.lazy import lazy_names

__getattr__, __dir__ = lazy_names('saccade.augment')
