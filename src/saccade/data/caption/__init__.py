# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Images with captions: the frame of a caption, rows of both, and datasets of the user's own.

Not here: images with classes (`data/image`); images with captions that are drawn (`data/synthetic`).
"""
