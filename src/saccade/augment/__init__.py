# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Augmentations: random transformations of training examples, on the device, from the step's key; one per file.

The randomness of an example depends on the step and the number of the example, not on the devices of a mesh; under
`pmap` the devices' keys differ, as for dropout. Preprocessing of images in the input pipeline is in `data/image`.
"""

from saccade.lazy import lazy_names

__getattr__, __dir__ = lazy_names('saccade.augment')
