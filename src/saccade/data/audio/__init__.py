# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sound: its processor, rows of log-mel frames that are made when they are asked for, and folders of WAV files.

Not here: sounds that are drawn (`data/synthetic`); frames that are made once and kept (`data/frames`).
"""
