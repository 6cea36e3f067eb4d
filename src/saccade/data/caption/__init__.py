# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Images with captions: the frame of a caption, rows of both, and datasets from the user's files.

Not here: images with classes (`data/image`); generated images with captions (`data/synthetic`).
"""
