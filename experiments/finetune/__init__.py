# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Encoders with an output head: classification, regression, tagging, question answering."""
