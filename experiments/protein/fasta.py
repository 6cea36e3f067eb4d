# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
r"""Masked residues of your own proteins, in FASTA files (.fasta or .faa, plain or gzipped).

    python launch/train.py     --config=experiments/protein/fasta.py --workdir=runs/proteins \
        --config.data.path=FILE.fasta
    python launch/fill_mask.py --workdir=runs/proteins --text="MALWMRLLPLL[MASK]LLALWGPD"
    python launch/embed.py     --workdir=runs/proteins --text=MALWMRLLPLLALLALWGPD --text=MALWTRLRPLLALLALWPPP \
        --out=vectors.npy

A tenth of a file is held out by a hash of each sequence, so equal sequences are in the same split. For splits by
clusters of similar sequences, give a folder with train.fasta and validation.fasta. Masking is as in ESM-2: 15% of the
residues, 80% of these replaced by [MASK] and 10% by a random token.

4,813,343 parameters, for accelerators; 814,111 with --config.model.width=128 --config.model.layers=4.
"""

from ml_collections import ConfigDict, FieldReference
from ml_collections.config_dict import placeholder
from saccade.experiments.protein.base import masked_residues


def get_config() -> ConfigDict:
    config = masked_residues(context_length=256, heads=8, wavelength=10_000.0, width=FieldReference(256), layers=6)
    config.data.name = placeholder(str)
    config.data.validation = 0.1
    config.steps = 10_000
    config.sample = dict(use='decode.fill:Filled', text='MALWMRLLPLL[MASK]LLALWGPD')
    return config
