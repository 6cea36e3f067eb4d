# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Recurrent cells, one a file; what runs them over rows of tokens; and the attention and decoders made of them."""
