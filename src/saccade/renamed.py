# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Renamed parts: names from before 23 November 2026. What a run stored then is read with the present names."""

import re
from collections.abc import Mapping
from typing import Any

# Folder of a module then -> its folder now -> the modules that kept their own name.
_MOVED: Mapping[tuple[str, str], str] = {
    ('data', 'baseline'): 'ngram',
    ('data', 'data.encoder'): 'classified pairing passages questions tagged valued',
    ('data', 'data.pairs'): 'parallel',
    ('data', 'data.rows'): 'pack',
    ('data', 'data.synthetic'): 'dates generated one_to_one scan sequences sorting',
    ('data', 'data.text'): 'marked skip_gram',
    ('data', 'data.tokenizer'): 'unigram word_piece',
    ('recurrent', 'recurrent.cell'): 'gru lstm rnn',
    (
        'recurrent',
        'recurrent.decoder',
    ): 'bahdanau copied fixed_context gumbel hard local_monotonic local_predictive luong '
    'projected reinforce soft straight_through',
    ('recurrent', 'recurrent.mixer'): 'bidirectional centred_convolution convolution recurrent',
    ('recurrent', 'recurrent.score'): 'additive dot general',
    ('train', 'train.init'): 'partial upcycle',
    ('train', 'train.log'): 'wandb',
    ('weighting', 'softmax'): 'entmax sigmoid sink softmax softmax_one talking_heads top_k',
}
_MODULES = {
    'data.text': 'data.text.stream',
    'data.tokenizer_file': 'data.tokenizer.file',
    **{f'{then}.{name}': f'{now}.{name}' for (then, now), names in _MOVED.items() for name in names.split()},
}
_PARTS = {
    f'data.tokenizer:{name}': f'data.tokenizer.{name.lower()}:{name}' for name in ('BPE', 'Byte', 'Character', 'Word')
}
_PAST = {now: then for then, now in _MODULES.items()}
# A field then and now -> the parts that have it. Fields of other people's parts are theirs.
_FIELDS: Mapping[tuple[str, str], str] = {
    ('context', 'context_length'): 'data.encoder.classified:Classified '
    'data.encoder.passages:Passages data.encoder.questions:Questions data.encoder.tagged:Tagged '
    'data.encoder.valued:Valued data.pairs.parallel:Parallel data.synthetic.generated:Generated '
    'data.synthetic.sorting:Sorting data.text.marked:MarkedText data.text.skip_gram:SkipGramText '
    'data.text.stream:TextData model.decoder:Decoder model.encoder:Encoder '
    'model.recurrent_seq2seq:RecurrentSeq2Seq model.word_vectors:WordVectors '
    'ops.rotary:llama3 ops.rotary:longrope ops.rotary:yarn',
    ('fading', 'decay'): 'attention.delta:Delta',
    ('source_context', 'source_context_length'): 'data.pairs.parallel:Parallel data.synthetic.generated:Generated '
    'model.prefix_decoder:PrefixDecoder model.recurrent_seq2seq:RecurrentSeq2Seq',
    ('weighting', 'softmax'): 'attention.blockwise:Blockwise attention.plain:Plain recurrent.decoder.hard:Hard '
    'recurrent.decoder.local_monotonic:LocalMonotonic recurrent.decoder.local_predictive:LocalPredictive '
    'recurrent.decoder.soft:Soft',
}
_OVERRIDDEN = re.compile(r'(?<=--config\.)((?:model|data)\.(?:[\w*]+\.)*(?:source_)?context)(?==)')
_USE = re.compile(r"""(?<=['"])([a-z_.]+):(\w+)(?=['"])""")


def present(use: str) -> str:
    """Return the name that a part has now, of one that it has or had."""
    module, _, name = use.partition(':')
    return _PARTS.get(use) or f'{_MODULES.get(module, module)}:{name}'


def past(use: str) -> str:
    """Return the name that a part had, of the one it has: digests of data are made with it, so they stay the same."""
    module, _, name = use.partition(':')
    return f'{_PAST.get(module, module)}:{name}'


def present_spec(spec: dict[str, Any]) -> dict[str, Any]:
    """A spec with the names of now: an `object_hook` of `json.loads`, for a config that was stored."""
    use = spec.get('use')
    if not isinstance(use, str) or ':' not in use:
        return spec
    fields = dict(names for names, parts in _FIELDS.items() if present(use) in parts.split())
    return {fields.get(name, name): value for name, value in spec.items()} | {'use': present(use)}


def present_text(text: str) -> str:
    """The same for the overrides of a sweep, as `--config.model.norm={'use': 'norm.rms:RMSNorm'}`, in a text."""
    return _OVERRIDDEN.sub(r'\1_length', _USE.sub(lambda found: present(found[0]), text))
