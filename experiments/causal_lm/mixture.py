# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The quickstart's model on a weighted mixture of texts: three rows of documentation for each row of proteins.

    python launch/train.py --config=experiments/causal_lm/mixture.py --workdir=runs/mixture
    python launch/train.py --config=experiments/causal_lm/mixture.py --workdir=runs/mine \\
        --config.data.sources="[{'use': 'data.text.mixture:TextSource', 'path': 'web.jsonl', 'weight': 3}, \\
                                {'use': 'data.text.mixture:TextSource', 'path': 'books'}]"

Nothing is downloaded: the proteins are generated. Sources may be files or folders of text, files of rows such as JSON
lines, CSV and Parquet, larger than memory, or known corpora.
"""

from ml_collections import ConfigDict
from saccade.experiments.causal_lm import quickstart

SOURCE = 'data.text.mixture:TextSource'


def get_config() -> ConfigDict:
    config = quickstart.get_config()
    config.data = dict(
        use='data.text.mixture:TextMixture',
        sources=[dict(use=SOURCE, name='pydocs', weight=3.0), dict(use=SOURCE, name='motifs', weight=1.0)],
        context_length=config.model.get_ref('context_length'),
        tokenizer=dict(use='data.tokenizer.bpe:BPE', vocabulary=config.model.get_ref('vocabulary')),
        pack=dict(use='data.rows.pack:Packed'),
    )
    return config
