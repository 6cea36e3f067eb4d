# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Many runs from one config: which, at what cost, and how they are carried out."""
