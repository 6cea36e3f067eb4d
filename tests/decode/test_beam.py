# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Beam search against a plain Python loop over whole sequences, and against all the texts that there are."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_models import make, model_spec
from toy_seq2seq import made

from saccade.data.rows.pair_frame import PairFrame
from saccade.decode.beam import Beam, generate_beams
from saccade.decode.generate import generate
from saccade.decode.greedy import Greedy
from saccade.decode.rules import TokenRules
from saccade.decode.sampling import Sampler
from saccade.types import DecodingSearch, LayerContext, UserError

CLOSE = 1e-4  # nats; float32 sums in another order
V, MOST, START, END = 5, 4, 1, 2
MODEL, PARAMS = made(vocabulary=V, context_length=MOST, source_context_length=5, scale=0.8)
FRAME = PairFrame(MODEL.source_context_length, MODEL.context_length, START, END)
SOURCES = ([3], [4, 3, 0], [0, 4, 1, 1], [1, 1])


def batch(sources=SOURCES):
    rows = [FRAME.row(source) if source else FRAME.padding() for source in sources]
    return {name: jnp.stack([row[name] for row in rows]) for name in rows[0]}


@pytest.fixture(scope='module')
def log_p():
    """Log probabilities of the next token after each beginning, by source; the model sees it whole, without padding."""

    @jax.jit
    def run(read, tokens):
        contexts = [LayerContext(jnp.arange(each.shape[1])[None], jnp.ones(each.shape, int)) for each in (read, tokens)]
        return jax.nn.log_softmax(MODEL.apply({'params': PARAMS}, read, contexts[0], tokens, contexts[1], False))

    known = {}
    for source in SOURCES:
        read = jnp.array([[*source, END]])
        for written in itertools.product(range(V), repeat=MOST - 1):
            found = np.asarray(run(read, jnp.array([[START, *written]]))[0], np.float64)
            for length in range(MOST):
                known[tuple(source), written[:length]] = found[length]
    return known


def penalty(length, alpha):
    return ((5 + length) / 6) ** alpha


def plainly(log_p, source, beam):
    """The texts of one source, the best first, each with its score: one dict or list at a time."""
    each = beam.beams // beam.groups
    live = [[((), 0.0)] for _ in range(beam.groups)]
    finished = [[] for _ in range(beam.groups)]
    for _ in range(MOST):
        taken = []
        for group in range(beam.groups):
            candidates = []
            for place, (text, score) in enumerate(live[group]):
                for token, more in enumerate(log_p[tuple(source), text]):
                    by = score + more - beam.diversity * taken.count(token)
                    candidates.append((-by, place, token, text, score + more))
            candidates = sorted(candidates)[: 2 * each]
            for _, _, token, text, score in candidates[:each]:
                if token == END:
                    finished[group].append((text, score / penalty(len(text) + 1, beam.alpha)))
            finished[group] = sorted(finished[group], key=lambda found: -found[1])[:each]
            going = [found for found in candidates if found[2] != END][:each]
            live[group] = [((*text, token), score) for _, _, token, text, score in going]
            taken += [token for _, _, token, _, _ in going]
            taken += [END for candidate in candidates[:each] if candidate[2] == END]
        if all(is_done(beam, *both, each) for both in zip(live, finished, strict=True)):
            break
    else:
        for group in range(beam.groups):
            rest = [(text, score / penalty(len(text), beam.alpha)) for text, score in live[group]]
            finished[group] = sorted(finished[group] + rest, key=lambda found: -found[1])[:each]
    return sorted(itertools.chain.from_iterable(finished), key=lambda found: -found[1])


def is_done(beam, live, finished, each):
    if len(finished) < each:
        return False
    hoped = max((score for _, score in live), default=-math.inf) / penalty(MOST, beam.alpha)
    return beam.early_stopping or finished[-1][1] >= hoped


def found_by(beam, sources=SOURCES):
    found = jax.jit(lambda rows: beam.translations(MODEL, PARAMS, rows))(batch(sources))
    return [
        [(tuple(ids[:count].tolist()), float(score)) for ids, count, score in zip(*row, strict=True) if score > -np.inf]
        for row in zip(found.tokens, found.counts, found.scores, strict=True)
    ]


def assert_alike(found, expected):
    assert [text for text, _ in found] == [text for text, _ in expected]
    np.testing.assert_allclose([score for _, score in found], [score for _, score in expected], atol=CLOSE)


@pytest.mark.long
@pytest.mark.parametrize(
    'beam',
    [
        Beam(beams=2),
        Beam(beams=3, alpha=0.6),
        Beam(beams=3, alpha=1.0, early_stopping=False),
        Beam(beams=4, groups=2, diversity=0.7),
        Beam(beams=3, groups=3, diversity=2.0, alpha=0.6, early_stopping=False),
    ],
    ids=str,
)
def test_it_equals_the_plain_loop_token_for_token(beam, log_p):
    for source, found in zip(SOURCES, found_by(beam), strict=True):
        assert_alike(found, plainly(log_p, source, beam))


@pytest.mark.long
def test_one_beam_is_greedy():
    rows = batch()
    greedy, one = Greedy()(MODEL, PARAMS, rows), Beam(beams=1)(MODEL, PARAMS, rows)
    np.testing.assert_array_equal(one.counts, greedy.counts)
    for ids, other, count in zip(one.tokens, greedy.tokens, greedy.counts, strict=True):
        np.testing.assert_array_equal(ids[:count], other[:count])


@pytest.mark.long
@pytest.mark.parametrize('alpha', [0.0, 1.0])
def test_enough_beams_find_the_best_of_all_texts(alpha, log_p):
    most = 3
    beam = Beam(beams=V**most, alpha=alpha, max_tokens=most)
    for source, found in zip(SOURCES[:2], found_by(beam, SOURCES[:2]), strict=True):
        every = []
        words = [token for token in range(V) if token != END]
        for length in range(most + 1):
            for text in itertools.product(words, repeat=length):
                scores = [log_p[tuple(source), text[:at]][token] for at, token in enumerate(text)]
                ends = [log_p[tuple(source), text][END]] if length < most else []
                every.append((text, sum(scores + ends) / penalty(len(scores + ends), alpha)))
        every.sort(key=lambda found: -found[1])
        assert_alike(found[:20], every[:20])
        assert len(found) == len(every)


@pytest.mark.long
def test_beams_find_likelier_texts_than_greedy_does(log_p):
    best = [found[0][1] for found in found_by(Beam(beams=4, early_stopping=False))]
    greedy = [found[0][1] for found in found_by(Beam(beams=1))]
    assert all(ours >= theirs - CLOSE for ours, theirs in zip(best, greedy, strict=True))
    assert any(ours > theirs + CLOSE for ours, theirs in zip(best, greedy, strict=True))


@pytest.mark.long
def test_no_text_has_an_end_token_and_scores_fall():
    for row in found_by(Beam(beams=4, alpha=0.6)):
        assert all(END not in text for text, _ in row)
        assert [score for _, score in row] == sorted((score for _, score in row), reverse=True)
        assert len({text for text, _ in row}) == len(row)


@pytest.mark.long
def test_a_row_does_not_depend_on_the_others_and_padding_has_no_text():
    beam = Beam(beams=3, alpha=0.6)
    mixed = found_by(beam, [SOURCES[1], [], SOURCES[0]])
    alone = found_by(beam)
    assert mixed[1] == []
    assert_alike(mixed[0], alone[1])
    assert_alike(mixed[2], alone[0])
    assert beam(MODEL, PARAMS, batch([[], SOURCES[0]])).counts[0] == 0


@pytest.mark.long
def test_groups_that_are_told_apart_begin_apart():
    alike = found_by(Beam(beams=4, groups=4, diversity=0.0))
    apart = found_by(Beam(beams=4, groups=4, diversity=50.0))
    assert all(len({text for text, _ in row}) == 1 for row in alike)
    for row in apart:
        assert len({text[:1] for text, _ in row}) == 4


@pytest.mark.long
def test_a_further_end_token_is_told_apart_too(log_p):
    """The first group ends by the most likely token, and goes on with the second; the other group takes the third."""
    for number, source in enumerate(SOURCES):
        first, second, third = np.argsort(-log_p[tuple(source), ()])[:3].tolist()
        beam = Beam(beams=2, groups=2, diversity=50.0, rules=TokenRules(ends=(first,)))
        texts = {text[:1] for text, _ in found_by(beam)[number]}
        assert texts == {(), () if END in (second, third) else (third,)}


class Flat:
    """Every token is as likely as any other, whatever was written."""

    vocabulary, context_length, source_context_length = V, MOST, 5

    def __call__(self, source, source_context, tokens, context, train): ...

    def encode(self, source, source_context, capacity): ...

    def step(self, tokens, segments, state): ...

    def apply(self, variables, *arguments, method):
        if method == 'encode':
            return jnp.zeros(len(arguments[0]))
        tokens, _, state = arguments
        return jnp.zeros((*tokens.shape, V)), state


@pytest.mark.long
def test_of_equal_texts_that_of_the_better_beam_and_the_lower_token_is_first():
    found = Beam(beams=3, early_stopping=False).translations(Flat(), {}, batch(SOURCES[:1]))
    # 0, 1 and the end are the three best candidates; then nothing is as likely as the end that came first.
    assert found.counts[0].tolist()[0] == 0
    np.testing.assert_allclose(found.scores[0, 0], -math.log(V), atol=CLOSE)


def test_it_is_a_search():
    assert isinstance(Beam(beams=2), DecodingSearch)


@pytest.mark.parametrize(
    ('settings', 'message'),
    [
        (dict(beams=0), 'beams must be at least 1'),
        (dict(beams=5, groups=2), '5 beams do not divide into 2 groups'),
        (dict(beams=2, alpha=-1.0), 'alpha and diversity must be at least 0'),
    ],
)
def test_what_cannot_be_is_refused(settings, message):
    with pytest.raises(UserError, match=message):
        Beam(**settings)


PROMPTS = ([7], [1, 2, 3, 4, 5], [], [(3 * place) % 251 for place in range(70)])


@pytest.mark.long
def test_a_language_model_is_searched_too(learned):
    model, params = learned

    @jax.jit
    def log_p(tokens, length):
        logits = model.apply({'params': params}, tokens, LayerContext(jnp.arange(model.context_length)[None]), False)
        return jax.nn.log_softmax(logits[0, length - 1].astype(jnp.float32))

    def next_after(prompt, text):
        padded = np.zeros((1, model.context_length), np.int32)
        ids = [*(list(prompt) or [9]), *text]
        padded[0, : len(ids)] = ids
        return np.asarray(log_p(padded, len(ids)), np.float64)

    for prompt, found in zip(PROMPTS, generate_beams(model, params, PROMPTS, Beam(beams=3), 4, 9), strict=True):
        live, finished = [((), 0.0)], []
        for _ in range(4):
            every = [
                (-(score + more), place, token, text)
                for place, (text, score) in enumerate(live)
                for token, more in enumerate(next_after(prompt, text))
            ]
            best = sorted(every)[:6]
            finished += [(text, -score) for score, _, token, text in best[:3] if token == 9]
            live = [((*text, token), -score) for score, _, token, text in best if token != 9][:3]
            if len(finished) >= 3:
                break
        else:
            finished += live
        expected = sorted(finished, key=lambda found: -found[1])[:3]
        assert [ids for ids, _ in found] == [list(text) for text, _ in expected]
        np.testing.assert_allclose([score for _, score in found], [score for _, score in expected], atol=CLOSE)
    assert generate_beams(model, params, [], Beam(beams=2), 4) == []


@pytest.fixture(scope='module')
def few_words():
    """A language model of so few words that all texts can be listed, and what it says after any prompt."""
    model, params = make(model_spec(vocabulary=V, context_length=8))

    @jax.jit
    def run(tokens):
        return jax.nn.log_softmax(model.apply({'params': params}, tokens, LayerContext(jnp.arange(8)[None]), False)[0])

    def log_p(ids):
        return np.asarray(run(np.array([[*ids, *(8 - len(ids)) * [0]]])), np.float64)

    return model, params, log_p


SHORT = ([3], [4, 3, 0, 1], [])


@pytest.mark.long
@pytest.mark.parametrize('alpha', [0.0, 1.0])
def test_enough_beams_find_the_best_of_all_continuations(alpha, few_words):
    model, params, log_p = few_words
    most, words = 3, [token for token in range(V) if token != END]
    beam = Beam(beams=V**most, alpha=alpha)
    for prompt, found in zip(SHORT, generate_beams(model, params, SHORT, beam, most, END), strict=True):
        every, begun = [], prompt or [END]
        for length in range(most + 1):
            for text in itertools.product(words, repeat=length):
                said = (*text, END)[:most]
                rows = log_p([*begun, *text])[len(begun) - 1 :]
                scores = [rows[at][token] for at, token in enumerate(said)]
                every.append((list(text), sum(scores) / penalty(len(said), alpha)))
        every.sort(key=lambda each: -each[1])
        assert_alike(found[:20], every[:20])
        assert len(found) == len(every)


@pytest.mark.long
def test_one_beam_of_a_language_model_is_greedy(learned):
    found = generate_beams(*learned, PROMPTS, Beam(beams=1), 5, 9)
    greedy = generate(*learned, PROMPTS, Sampler(0.0), 5, jax.random.key(0), 9)
    assert [ids for ((ids, _),) in found] == greedy


@pytest.mark.long
def test_continuations_do_not_depend_on_the_other_prompts_nor_on_their_lengths(windowed):
    together = generate_beams(*windowed, PROMPTS, Beam(beams=3, alpha=0.6), 5, 9)
    for prompt, found in zip(PROMPTS, together, strict=True):
        (alone,) = generate_beams(*windowed, [prompt], Beam(beams=3, alpha=0.6), 5, 9)
        assert_alike(found, alone)
