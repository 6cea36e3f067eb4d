# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What is said of recurrence, attention and decoding, as tables that anybody can make again: `launch/claims.py`."""
