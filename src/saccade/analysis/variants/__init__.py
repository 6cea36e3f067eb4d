# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The variants there are: found by themselves, each with a small spec and with what it declares that it can do."""
