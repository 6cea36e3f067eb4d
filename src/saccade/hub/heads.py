# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Heads of all families, mapped to our heads 'masked', 'pooled' and 'tokens', and the models under them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from saccade.build import fields
from saccade.hub.encoder import LAYER_NORM, Words, affine, norm
from saccade.hub.family import Head, Trunk, Weight
from saccade.hub.setting import ACTIVATIONS, read
from saccade.hub.template import Activation, Both, Config, Free, MismatchError, Rate
from saccade.model.base import TransformerBase

# Classes of a pair of texts: it is one, or it is not. Scores of a token: the answer starts there, it stops there.
TWO = 2
HIDDEN_ACTIVATION = Activation(Words.activation)  # of the layers
SEQUENCES, TOKENS, SPANS = 'ForSequenceClassification', 'ForTokenClassification', 'ForQuestionAnswering'
EXACT_GELU, TANH, RELU = (ACTIVATIONS[name] for name in ('gelu', 'tanh', 'relu'))


def _labels(config: Config) -> int:
    """Number of classes; config.json need not say it of two."""
    return len(read(config, 'id2label', dict, {})) or read(config, 'num_labels', int, 2)


def _named(count: int | None) -> dict[str, Any]:
    if count is None:
        raise MismatchError('is None, which must be a number')
    names = [f'LABEL_{number}' for number in range(count)]
    return {'id2label': dict(enumerate(names)), 'label2id': {name: number for number, name in enumerate(names)}}


LABELS = Both(_labels, _named)


@dataclass(frozen=True)
class ClassifierDropout(Rate):
    """Dropout rate before a classifier; where config.json has none, that of the layers."""

    key: str = 'classifier_dropout'

    def read(self, config: Config) -> float:
        """Return the rate."""
        return read(config, self.key, float, read(config, Words.dropout, float))


_WITHOUT_KEY, _NONE = Free(0.0), MappingProxyType[str, Any]({})


@dataclass(frozen=True)
class Output:
    """Output layer of theirs. Attributes: name; number of classes; dropout of its input."""

    name: str
    classes: Any
    dropout: Any = _WITHOUT_KEY


def masked(hidden: str, normed: str, output: str, required: Mapping[str, Any] = _NONE, **fields: Any) -> Head:
    """The head 'masked', whose output layer's kernel is the embedding.

    Args:
        hidden, normed, output: their names of its layers.
        required: further keys with one supported value.
        fields: of the head that differ.
    """
    template = {'use': 'head.masked:Masked', 'activation': HIDDEN_ACTIVATION, 'norm': LAYER_NORM, **fields}
    bias = Weight(f'{output}.bias', 'V -> V', ('masked_head/bias',))
    weights = (*affine(hidden, 'masked_head/hidden'), *norm(normed, 'masked_head/norm'), bias)
    return Head('masked', template, weights, {'tie_word_embeddings': True, **required})


def pooled(hidden: str, output: Output | None = None, normed: str = '', **fields: Any) -> Head:
    """The head 'pooled', of the first token unless `fields` differ, by their names of its layers.

    In training, RoBERTa and ELECTRA also apply dropout to the input of the hidden layer; ours does not.

    Args:
        hidden, normed: their names of the hidden layer, and of its norm, if it has one.
        output: its output layer; None for a head that ends in the hidden one.
        fields: of the head that differ.
    """
    usual = {'use': 'head.pooled:Pooled', 'pool': {'use': 'ops.pool:first'}, 'activation': TANH}
    return _scores('pooled', usual | fields, output, hidden, normed)


def each_token(output: Output, hidden: str = '', normed: str = '', **fields: Any) -> Head:
    """The head 'tokens', of an output layer alone, or after a hidden one. Args: as of `pooled`."""
    return _scores('tokens', {'use': 'head.each_token:EachToken', **fields}, output, hidden, normed)


def _scores(name: str, fields: Mapping[str, Any], output: Output | None, hidden: str, normed: str) -> Head:
    ours = f'{name}_head'
    weights = [
        *(affine(hidden, f'{ours}/hidden') if hidden else ()),
        *(norm(normed, f'{ours}/hidden_norm') if normed else ()),
    ]
    if output is None:
        return Head(name, {**fields, 'classes': None}, (*weights,))
    scores = {'classes': output.classes, 'dropout': output.dropout}
    return Head(name, {**scores, **fields}, (*weights, *affine(output.name, f'{ours}/output')))


def of_encoder(
    name: str, predicts: Head, classifies: Head, tokens: Any, spans: Any = _WITHOUT_KEY
) -> dict[str, tuple[Head, ...]]:
    """Return the heads of a BERT-like encoder by architecture.

    Args:
        name: of the architectures, as 'Bert'.
        predicts, classifies: of masked tokens, and of a text.
        tokens, spans: dropout of the input of the output layer that scores each token, and spans.
    """
    return {
        f'{name}ForMaskedLM': (predicts,),
        f'{name}{SEQUENCES}': (classifies,),
        f'{name}{TOKENS}': (each_token(Output('classifier', LABELS, tokens)),),
        f'{name}{SPANS}': (each_token(Output('qa_outputs', TWO, spans)),),
    }


def of_decoder(
    name: str, *endings: str, tokens: str = 'score', spans: str = 'transformer.'
) -> dict[str, tuple[Head, ...]]:
    """Return the heads of a decoder by architecture: scores of a text, read at its last token, or of each token.

    Args:
        name: of the architectures, as 'Llama'.
        endings: of the architectures that there are; none for all three.
        tokens: their name of the output layer that scores tokens.
        spans: prefix of the other tensors of a model that answers questions.
    """
    last = {'use': 'head.pooled:Pooled', 'pool': {'use': 'ops.pool:last'}, 'classes': LABELS, 'bias': False}
    made = {
        SEQUENCES: Head('pooled', {**last, 'dropout': Free(0.0)}, affine('score', 'pooled_head/output')[:1]),
        TOKENS: each_token(Output(tokens, LABELS, Rate('classifier_dropout', default=0.1))),
        SPANS: replace(each_token(Output('qa_outputs', TWO)), prefix=spans),
    }
    return {f'{name}{ending}': (made[ending],) for ending in endings or made}


def reading(template: Mapping[str, Any]) -> Trunk:
    """Return the model under the heads of a decoder: an encoder with its layers and masks. Args: of the decoder."""
    shared = fields(TransformerBase)
    return Trunk({name: leaf for name, leaf in template.items() if name in shared} | {'use': 'model.encoder:Encoder'})


def rereading(template: Mapping[str, Any], start: Any, end: Any = None, **decoder: Any) -> Trunk:
    """Return the model under the heads of an encoder-decoder, which reads a text twice.

    Args:
        template: of the model that writes.
        start: of the first token of the decoder.
        end: of the last token that heads read.
        decoder: fields of the decoder that differ.
    """
    twice = {'use': 'model.reread:Reread', 'encoder': template['encoder'], 'start': start, 'end': end}
    return Trunk({**twice, 'decoder': {**template['decoder'], **decoder}})


def of_encoder_decoder(name: str, prefix: str = '') -> dict[str, tuple[Head, ...]]:
    """Return the heads of an encoder-decoder by architecture.

    Args:
        name: of the architectures, as 'Bart'.
        prefix: of the other tensors of a classifier, if it is not the family's.
    """
    scores = Output('classification_head.out_proj', LABELS, Rate('classifier_dropout', default=0.0))
    last = replace(pooled('classification_head.dense', scores, pool={'use': 'ops.pool:last'}), prefix=prefix)
    return {f'{name}{SEQUENCES}': (last,), f'{name}{SPANS}': (each_token(Output('qa_outputs', TWO)),)}
