# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What predictions for a whole split are worth, on the host, one kind of prediction a file."""
