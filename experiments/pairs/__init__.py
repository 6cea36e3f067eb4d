# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Two towers, or one that reads both: texts, and what belongs to them, compared by the cosine of their vectors."""
