# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Encoders trained on masked tokens: BERT and its successors, ELECTRA, distillation."""
