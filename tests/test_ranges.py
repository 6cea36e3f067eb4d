# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Ranges of numeric fields: annotations state them, and `build` and the constructors of `saccade.X` refuse the rest.

Parts do not check them again. So the bounds that a part relies on are asserted here, on both sides of each.
"""

import importlib
import math

import pytest

from saccade.analysis.catalogue.catalogue import Catalogue
from saccade.build import build, fields, load, require_range
from saccade.types import Range, UserError

COUNT, SHARE = ((0, -1), (1,)), ((-0.1, 1.0, 1.5), (0.0, 0.9))
POSITIVE, NOT_NEGATIVE = ((0.0, -1.0), (0.1,)), ((-1.0,), (0.0,))
# Fields of a part: what is refused, and what is not.
BOUNDS = {
    'attention.causal_luna:CausalLuna': {'slots': COUNT},
    'attention.cosformer:CosFormer': {'chunk': COUNT, 'length': COUNT},
    'attention.linformer:Linformer': {'length': COUNT, 'slots': COUNT},
    'attention.exclusive:Exclusive': {'share': ((-0.1, 1.1), (0.0, 1.0))},
    'attention.induced:Induced': {'points': COUNT, 'documents': COUNT},
    'attention.latent:Latent': {'heads': COUNT, 'rank': COUNT, 'rotated_width': COUNT, 'dropout': SHARE},
    'attention.linear:Linear': {'chunk': COUNT},
    'attention.log_linear_mamba2:LogLinearMamba2': {'length': COUNT},
    'attention.luna:Luna': {'heads': COUNT, 'slots': COUNT},
    'attention.nystromformer:Nystromformer': {'convolution': COUNT, 'iterations': COUNT, 'landmarks': COUNT},
    'attention.reformer:Reformer': {
        'heads': COUNT,
        'buckets': COUNT,
        'block': COUNT,
        'rounds': COUNT,
        'dropout': SHARE,
    },
    'attention.spatial_gating:SpatialGating': {'length': COUNT, 'ratio': POSITIVE},
    'attention.token_mixing:TokenMixing': {'hidden': COUNT, 'length': COUNT},
    'attention.ttt_linear:TTTLinear': {'mini_batch': COUNT, 'rate': POSITIVE},
    'attention.performer:Performer': {'chunk': COUNT, 'random_features': COUNT},
    'augment.crop:Crop': {'least': ((0.0, 1.1), (0.1, 1.0)), 'ratio': ((0.5,), (1.0,))},
    'augment.flip:Flip': {'share': SHARE},
    'augment.mixup:Mixup': {'alpha': POSITIVE},
    'augment.shift:Shift': {'pixels': COUNT},
    'data.diagnostic.compression:Compression': {'symbols': ((1,), (2,))},
    'data.diagnostic.copying:InductionHeads': {'symbols': ((1,), (2,)), 'depth': SHARE},
    'data.diagnostic.counter:EqualRuns': {'letters': ((1,), (2,))},
    'data.diagnostic.list_operations:ListOperations': {'operands': ((1,), (2,)), 'depth': COUNT},
    'data.diagnostic.memorization:Memorization': {'keys': ((1,), (2,))},
    'data.diagnostic.path_star:PathStar': {'arms': ((1,), (2,)), 'path': ((1,), (2,)), 'nodes': COUNT},
    'data.diagnostic.recall:MultiQueryRecall': {'pairs': COUNT, 'spread': POSITIVE},
    'data.diagnostic.regular:CycleNavigation': {'places': ((2,), (3,))},
    'data.diagnostic.regular:ModularArithmetic': {'modulus': ((1,), (2,))},
    'data.diagnostic.stack:ModularArithmeticBrackets': {'modulus': ((1,), (2,))},
    'data.diagnostic.word_problem:alternating': {'degree': ((2,), (3,))},
    'data.diagnostic.word_problem:cyclic': {'order': ((1,), (2,))},
    'data.diagnostic.word_problem:symmetric': {'degree': ((1,), (2,))},
    'data.encoder.passages:Passages': {'context_length': COUNT, 'copies': COUNT},
    'data.encoder.questions:Questions': {'stride': COUNT, 'longest_question': COUNT},
    'data.pairs.parallel:Parallel': {'source_context_length': COUNT, 'context_length': COUNT},
    'data.synthetic.generated:Generated': {
        'train': COUNT,
        'seed': ((-1,), (0,)),
        'held_out': ((0.0, 1.0), (0.1, 0.9)),
    },
    'data.synthetic.graphs:RegularGraphs': {'train': COUNT},
    'data.synthetic.largest:LargestNumber': {'fewest': COUNT, 'train': COUNT},
    'data.synthetic.sequences:Addition': {'digits': ((0, 16), (1, 15))},
    'data.synthetic.sequences:Pointer': {'length': COUNT},
    'data.synthetic.sets:ColouredPoints': {'train': COUNT},
    'data.synthetic.sorting:Sorting': {'length': COUNT, 'highest': COUNT},
    'data.synthetic.tones:Tones': {'train': COUNT},
    'data.synthetic.visual_questions:VisualQuestions': {'train': COUNT},
    'data.text.marked:MarkedText': {'sentinels': ((-1,), (0,))},
    'data.text.skip_gram:SkipGramText': {'noise': COUNT},
    'data.text.stream:TextData': {'context_length': COUNT},
    'data.tokenizer.mixed_word:MixedWord': {'alphabet': COUNT},
    'data.tokenizer.unigram:Unigram': {'alphabet': COUNT},
    'data.tokenizer.word_piece:WordPiece': {'alphabet': COUNT},
    'feedforward.token_choice:TokenChoice': {'capacity': POSITIVE},
    'norm.group:GroupNorm': {'groups': COUNT},
    'ops.denoising:Spans': {'rate': ((0.0, 1.0), (0.15,)), 'weight': POSITIVE},
    'position.learned:Learned': {'length': COUNT, 'stretch': ((0.5,), (1.0,))},
    'position.rotary_2d:Rotary2D': {'columns': COUNT},
    'recurrent.decoder.gumbel:Gumbel': {'temperature': POSITIVE},
    'recurrent.mixer.hyena:Hyena': {'bands': COUNT, 'fastest': POSITIVE, 'length': COUNT, 'slowest': POSITIVE},
    'recurrent.mixer.s4d:S4D': {'states': COUNT},
    'score.cosine:Cosine': {'gain': POSITIVE},
    'softmax.entmax:Entmax': {'alpha': ((1.0, 2.1), (1.1, 2.0))},
    'softmax.scalable:Scalable': {'length': ((1,), (2,))},
    'task.causal_lm:CausalLM': {'label_smoothing': SHARE, 'vocabulary_chunk': COUNT},
    'task.classification:Classification': {'label_smoothing': SHARE},
    'task.masked_diffusion:MaskedDiffusion': {'epsilon': ((0.0, 1.0), (0.001,))},
    'task.masked_lm:MaskedLM': {'share': ((0.0, 1.0), (0.15,)), 'hidden': ((-0.1, 1.1), (0.0, 1.0))},
    'task.skip_gram:SkipGram': {'window': COUNT, 'negatives': COUNT, 'subsample': NOT_NEGATIVE},
    'task.span_qa:SpanQA': {'longest': COUNT},
    'task.translation:Translation': {'label_smoothing': SHARE},
    'train.low_rank:LowRank': {'rank': COUNT, 'alpha': POSITIVE},
    'train.mup:MuP': {'base_width': COUNT},
    'train.rates:LayerWise': {'decay': ((0.0, 1.5), (0.5, 1.0))},
    'train.schedule:Constant': {'peak': POSITIVE, 'warmup': ((-1,), (0,))},
    'train.schedule:Cosine': {'peak': POSITIVE, 'warmup': ((-1,), (0,)), 'floor': NOT_NEGATIVE},
    'train.schedule:InverseSqrt': {'width': COUNT, 'warmup': COUNT, 'scale': POSITIVE},
    'train.schedule:WarmupStableDecay': {'decay': COUNT},
}


@pytest.mark.parametrize(
    ('use', 'field', 'refused', 'accepted'),
    [(use, field, *bounds) for use, named in BOUNDS.items() for field, bounds in named.items()],
)
def test_the_bounds_of_a_field_are_those_that_its_part_relies_on(use, field, refused, accepted):
    hint, _ = fields(load(use))[field]
    for value in refused:
        with pytest.raises(UserError, match=rf'^config\.{field} must be .*, not {value}$'):
            require_range(value, hint, f'config.{field}')
    for value in accepted:
        require_range(value, hint, f'config.{field}')


def outside(part):
    """Fields of a part with a range, each with a number just outside of it."""
    for name, (hint, _) in fields(part).items():
        for bounds in (each for each in getattr(hint, '__metadata__', ()) if isinstance(each, Range)):
            least = [bounds.least - 1] if math.isfinite(bounds.least) else []
            yield from ((name, value) for value in [*least, bounds.above] if math.isfinite(value))


SPECS = {part: kind.spec(part) for kind, parts in Catalogue.ours().parts.items() for part in parts}
RANGED = [part for part in SPECS if any(outside(part))]


@pytest.mark.parametrize('part', RANGED, ids=lambda part: part.__name__)
def test_a_number_outside_its_range_is_refused_by_build(part):
    for field, value in outside(part):
        with pytest.raises(UserError, match=rf'^config\.{field} must be '):
            build(SPECS[part] | {field: value})


@pytest.mark.parametrize('part', [part for part in RANGED if hasattr(part, 'bind')], ids=lambda part: part.__name__)
def test_a_number_outside_its_range_is_refused_by_the_constructor(part):
    made = getattr(importlib.import_module(part.__module__.rpartition('.')[0]), part.__name__)
    given = dict(build(SPECS[part]).arguments)
    for field, value in outside(part):
        with pytest.raises(UserError, match=rf'\.{field} must be '):
            made(**{**given, field: value})
