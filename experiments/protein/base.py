# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of the protein experiments: an encoder of residues and its pretraining.

A pre-norm encoder with rotary positions, as in ESM-2 (Lin et al. 2023, https://doi.org/10.1126/science.ade2574), by the
masked language modelling of BERT. A protein that is too long for a row is cut into several.
"""

from typing import Any

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.masked_lm.base import MASKED, NO_POSITION, NORM, bert_block, masked_lm

TOKENIZER = dict(use='data.tokenizer.amino_acid:AminoAcid')
VOCABULARY = 31  # 26 residue codes and 5 special tokens
# At these widths BERT's initialisation, with a standard deviation of 0.02, keeps attention uniform for thousands of
# steps.
LECUN = dict(use='jax.nn.initializers:lecun_normal')
STARTS = dict(kernel_init=LECUN, output_init=LECUN)
EMBEDDING = dict(use='jax.nn.initializers:normal', stddev=0.1)


def residue_block(heads: int, wavelength: float, dropout: Any) -> dict[str, Any]:
    """Return a pre-norm layer with rotary positions; the maximum wavelength is 2 pi times `wavelength`, in tokens."""
    block = bert_block(heads=heads, dropout=dropout) | dict(use='block.pre_norm:PreNorm')
    block['mixer'] |= STARTS | dict(position=dict(use='position.rotary:Rotary', base=wavelength))
    block['feedforward'] |= STARTS
    return block


def masked_residues(context_length: int, heads: int, wavelength: float, **model: Any) -> ConfigDict:
    """Return an experiment of masked residues, with an encoder of these fields."""
    dropout = FieldReference(0.0)
    config = masked_lm(
        vocabulary=FieldReference(VOCABULARY),
        context_length=FieldReference(context_length),
        types=0,
        dropout=dropout,
        position=NO_POSITION,
        block=residue_block(heads, wavelength, dropout),
        norm=NORM,
        embedding_norm=None,
        embedding_init=EMBEDDING,
        heads=dict(masked=MASKED),
        **model,
    )
    config.data.pairing = dict(use='data.encoder.pairing:OnePassage')
    config.data.tokenizer = TOKENIZER
    return config
