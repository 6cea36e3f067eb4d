# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Diagnostics: every answer found again in another way, rows as functions of their number, and what is refused."""

import itertools
import re
import statistics
from collections import deque

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.data.diagnostic.word_problem import alternating, cyclic, symmetric
from saccade.data.uniform import uniform
from saccade.task.answering import Answering, chance
from saccade.task.base import Forward
from saccade.types import IGNORED, Part, UserError

ROWS = 60
GATED = dict(use='feedforward.gated:Gated', activation=dict(use='jax.nn:silu'), ratio=1.0)
ROOM = 'data.diagnostic.'
GENERATORS = [
    dict(use='recall:MultiQueryRecall', vocabulary=64, pairs=3),
    dict(use='recall:MultiQueryRecall', vocabulary=64, pairs=3, random_filler=True),
    dict(use='in_context:InContextRecall'),
    dict(use='in_context:InContextRecall', noise=16, noise_share=0.2),
    dict(use='in_context:FuzzyRecall'),
    dict(use='copying:Copy'),
    dict(use='copying:SelectiveCopy', count=5),
    dict(use='copying:Repetition'),
    dict(use='copying:InductionHeads'),
    dict(use='copying:InductionHeads', depth=0.5),
    dict(use='memorization:Memorization', keys=7),
    dict(use='word_problem:WordProblem', group=dict(use=f'{ROOM}word_problem:symmetric', degree=3)),
    *(dict(use=f'regular:{name}') for name in ('ParityCheck', 'EvenPairs', 'CycleNavigation', 'ModularArithmetic')),
    *(dict(use=f'stack:{name}') for name in ('ReverseString', 'StackManipulation', 'ModularArithmeticBrackets')),
    dict(use='stack:SolveEquation'),
    dict(use='stack:SolveEquation', modulus=6),
    *(dict(use=f'arithmetic:{name}') for name in ('BinaryAddition', 'BinaryMultiplication', 'ComputeSqrt')),
    *(dict(use=f'transduction:{name}') for name in ('DuplicateString', 'OddsFirst', 'BucketSort', 'MissingDuplicate')),
    dict(use='list_operations:ListOperations'),
    dict(use='counter:EqualRuns', letters=2),
    dict(use='counter:EqualRuns'),
    dict(use='counter:ShuffledBrackets'),
    dict(use='counter:ShuffledBrackets', kinds=4),
    dict(use='compression:Compression'),
    dict(use='path_star:PathStar'),
    dict(use='path_star:PathStar', arms=3, path=2, nodes=4, backwards=True),
]  # fmt: skip


def generator(use, **fields):
    return build({'use': ROOM + use, **fields})()


def examples(made, length=40, seed=0, rows=ROWS):
    return [made.example(uniform(seed, 0, row), length) for row in range(rows)]


def data(**changes):
    copies = dict(use=f'{ROOM}copying:Copy')
    spec = dict(use=f'{ROOM}data:DiagnosticData', generator=copies, context_length=12, train=50, validation=20)
    return build(spec | changes)()


def words_and_answers(made, length=30):
    """The letters before the blanks, and the answers at the blanks."""
    for tokens, targets in examples(made, length):
        asked = targets != IGNORED
        assert (tokens[asked] == 0).all()
        assert (tokens[~asked] > 0).all()
        yield (tokens[~asked] - 1).tolist(), (targets[asked] - 1).tolist()


@pytest.mark.parametrize('spec', GENERATORS, ids=lambda spec: spec['use'].split(':')[1])
def test_examples_fill_their_length_with_tokens_of_the_vocabulary_and_ask_something(spec):
    made = generator(**spec)
    for length in range(made.shortest, made.shortest + 9):
        for tokens, targets in examples(made, length)[:9]:
            assert tokens.shape == targets.shape
            assert len(tokens) <= length
            assert 0 <= tokens.min() <= tokens.max() < made.vocabulary
            asked = targets[targets != IGNORED]
            assert len(asked)
            assert 0 <= asked.min() <= asked.max() < made.vocabulary


@pytest.mark.parametrize('random_filler', [True, False])
def test_each_key_comes_back_once_and_its_value_is_asked_for(random_filler):
    made = generator('recall:MultiQueryRecall', vocabulary=64, pairs=3, random_filler=random_filler)
    for tokens, targets in examples(made):
        values = dict(zip(tokens[0:6:2].tolist(), tokens[1:6:2].tolist(), strict=True))
        assert len({*values}) == len({*values.values()}) == 3
        assert all(0 < key < 32 <= value for key, value in values.items())
        (asked,) = np.nonzero(targets != IGNORED)
        assert asked.min() >= 6
        assert {*tokens[asked].tolist()} == {*values}
        assert [values[key] for key in tokens[asked].tolist()] == targets[asked].tolist()


def test_keys_come_back_soon_or_anywhere():
    def mean(spread):
        made = generator('recall:MultiQueryRecall', vocabulary=64, pairs=1, spread=spread)
        return np.mean([np.flatnonzero(targets != IGNORED)[0] for _, targets in examples(made, 82, rows=600)])

    assert mean(1.0) == pytest.approx(2 + 39, abs=4)  # 40 places of two tokens, all alike
    weights = np.arange(1, 41) ** -0.99
    assert mean(0.01) == pytest.approx(2 + 2 * (weights / weights.sum() @ np.arange(40)), abs=4)


@pytest.mark.parametrize('noise', [{}, dict(noise=16, noise_share=0.3)])
def test_a_key_that_was_there_is_asked_for(noise):
    noisy = 0
    for tokens, targets in examples(generator('in_context:InContextRecall', **noise)):
        known = {}
        for key, value, asked, nothing in zip(tokens[::2], tokens[1::2], targets[::2], targets[1::2], strict=True):
            assert nothing == IGNORED
            if key >= 16:
                noisy += 1
                assert value >= 16
                assert asked == IGNORED
            else:
                assert asked == known.get(key, IGNORED)
                known[key] = value
    assert (noisy > 0) == bool(noise)


def test_fuzzy_answers_go_on_as_they_did_before():
    for tokens, targets in examples(generator('in_context:FuzzyRecall')):
        text = tokens.tolist()
        for place in np.flatnonzero(targets != IGNORED):
            start = max(
                at for at in range(place + 1) if text[at] <= 7 and (at == 0 or text[at - 1] > 7 or text[at - 1] == 0)
            )
            said = [*text[start : place + 1], int(targets[place])]
            assert any(text[at : at + len(said)] == said for at in range(start)), (text, said)


def test_what_is_copied_is_what_was_shown():
    for spec in (dict(use='copying:Copy'), dict(use='copying:SelectiveCopy', count=5)):
        for tokens, targets in examples(generator(**spec)):
            end = tokens.tolist().index(1)
            assert [token for token in tokens[:end].tolist() if token] == targets[end + 1 :].tolist()
            assert (targets[: end + 1] == IGNORED).all()
            assert not tokens[end + 1 :].any()


def test_what_repeats_goes_on_as_before():
    periods = set()
    for tokens, targets in examples(generator('copying:Repetition', least=3, most=5, symbols=1000)):
        asked = np.flatnonzero(targets != IGNORED)
        period = int(asked[0]) + 1
        assert asked.tolist() == [*range(period - 1, 40)]
        assert len({*tokens[:period].tolist()}) > 1
        assert tokens[period:].tolist() == tokens[:-period].tolist()
        assert targets[asked].tolist() == [*tokens[period:].tolist(), tokens[40 - period]]
        periods.add(period)
    assert periods == {3, 4, 5}


@pytest.mark.parametrize('depth', [None, 0.0, 0.5, 0.99])
def test_what_followed_the_token_is_asked_at_the_end(depth):
    places = []
    for tokens, targets in examples(generator('copying:InductionHeads', depth=depth)):
        first, last = np.flatnonzero(tokens == 0)
        assert (targets[:-1] == IGNORED).all()
        assert (last, targets[-1]) == (39, tokens[first + 1])
        places.append(first)
    assert {*places} == {0.0: {0}, 0.5: {19}, 0.99: {37}}.get(depth, {*places})
    assert len({*places}) > 9 or depth is not None


def test_what_is_memorized_is_the_same_everywhere():
    known = {}
    for seed in (0, 1):
        for tokens, targets in examples(generator('memorization:Memorization', keys=7), seed=seed):
            for key, mark, nothing, value in zip(tokens[::2], tokens[1::2], targets[::2], targets[1::2], strict=True):
                assert (mark, nothing) == (14, IGNORED)
                assert known.setdefault(key, value) == value
    assert sorted(known) == [*range(7)]
    assert sorted(known.values()) == [*range(7, 14)]


@pytest.mark.parametrize('backwards', [False, True])
def test_the_path_from_the_start_to_the_end_that_is_asked_for(backwards):
    arms = 3
    made = generator('path_star:PathStar', arms=arms, path=5, nodes=20, backwards=backwards)
    for tokens, targets in examples(made, 80):
        text = ' '.join('|/='[token] if token < 3 else str(token) for token in tokens.tolist())
        graph, asked, written = re.fullmatch(r'(.*) / (.*) = (.*)', text).groups()
        edges = [tuple(map(int, edge.split())) for edge in graph.split(' | ')]
        start, end = map(int, asked.split())
        before = {second: first for first, second in edges}
        assert len(before) == len(edges) == arms * 4
        assert [first for first, _ in edges].count(start) == arms
        path = [end]
        while path[-1] != start:
            path.append(before[path[-1]])
        assert len(path) == 5
        path = path if backwards else path[::-1]
        assert targets[targets != IGNORED].tolist() == path
        assert (targets[-5:] != IGNORED).all()
        assert [*map(int, written.split())] == path[:-1]


def test_the_arm_of_a_star_that_is_asked_for_and_the_order_of_edges_are_random():
    made = generator('path_star:PathStar', arms=2, path=2, nodes=3)
    first = [tokens[1] == tokens[7] for tokens, _ in examples(made, rows=400)]
    assert np.mean(first) == pytest.approx(0.5, abs=0.08)


@pytest.mark.parametrize(('products', 'order', 'commutes'), [
    (cyclic(2), 2, True), (cyclic(7), 7, True), (symmetric(3), 6, False), (alternating(5), 60, False),
    (symmetric(5), 120, False),
])  # fmt: skip
def test_groups_are_groups(products, order, commutes):
    assert products.shape == (order, order)
    np.testing.assert_array_equal(products[0], np.arange(order))
    np.testing.assert_array_equal(products[:, 0], np.arange(order))
    assert all(len({*row}) == order for row in products.tolist())
    np.testing.assert_array_equal(products[products], products[:, products])  # (a b) c = a (b c)
    assert bool((products == products.T).all()) == commutes


def test_a_word_problem_is_permutations_one_after_another():
    permutations = [*itertools.permutations(range(3))]
    group = dict(use=f'{ROOM}word_problem:symmetric', degree=3)
    for tokens, targets in examples(generator('word_problem:WordProblem', group=group)):
        state = [0, 1, 2]
        for token, target in zip(tokens, targets, strict=True):
            state = [permutations[token][place] for place in state]
            assert permutations[target] == tuple(state)


def test_parity_and_even_pairs_and_cycles_by_counting():
    for word, (answer,) in words_and_answers(generator('regular:ParityCheck')):
        assert answer == sum(word) % 2
    for word, (answer,) in words_and_answers(generator('regular:EvenPairs')):
        changes = sum(first != second for first, second in itertools.pairwise(word))
        assert answer == 1 - changes % 2
    for word, (answer,) in words_and_answers(generator('regular:CycleNavigation')):
        place = 0
        for step in word:
            place = (place + {0: 0, 1: 1, 2: -1}[step]) % 5
        assert answer == place


@pytest.mark.parametrize('use', ['regular:ModularArithmetic', 'stack:ModularArithmeticBrackets'])
def test_arithmetic_is_that_of_python(use):
    lengths = set()
    for length in (5, 18, 41):
        for word, (answer,) in words_and_answers(generator(use), length):
            assert answer == eval(''.join('01234+-*()'[letter] for letter in word)) % 5
            lengths.add(len(word))
    assert max(lengths) > 30


@pytest.mark.parametrize('modulus', [2, 5, 6])
def test_an_equation_has_the_solution_that_is_asked_for_and_no_other(modulus):
    letters = [*map(str, range(modulus)), *'+-*()x=']
    lengths, solutions, places, products = set(), set(), set(), 0
    for length in (4, 9, 18, 41):
        for word, (answer,) in words_and_answers(generator('stack:SolveEquation', modulus=modulus), length):
            text = ''.join(letters[letter] for letter in word)
            assert text.count('x') == text.count('=') == 1
            expression, value = text.split('=')
            assert [x for x in range(modulus) if (eval(expression, {'x': x}) - int(value)) % modulus == 0] == [answer]
            lengths.add(len(word))
            solutions.add(answer)
            places.add(re.sub('[^0-9x]', '', expression).index('x'))
            products += 'x*' in text or '*x' in text
    assert lengths == {3, 7, 15, 39}
    assert solutions == {*range(modulus)}
    assert places == {*range(10)}  # of the digits of the longest
    assert products > 9


@pytest.mark.parametrize(('use', 'operation'), [
    ('BinaryAddition', int.__add__), ('BinaryMultiplication', int.__mul__)
])  # fmt: skip
def test_arithmetic_of_two_binary_numbers_is_that_of_python(use, operation):
    places = set()
    for length in (6, 7, 33, 200):
        for word, answer in words_and_answers(generator(f'arithmetic:{use}'), length):
            assert len(word) == len(answer) == length // 2
            middle = word.index(2)
            first, second = (
                sum(bit << place for place, bit in enumerate(bits)) for bits in (word[:middle], word[middle + 1 :])
            )
            result = operation(first, second)
            bits = max(result.bit_length(), 1)
            assert answer == [*((result >> place) & 1 for place in range(bits)), 2, *[0] * (len(answer) - bits - 1)]
            places.add(middle if length == 33 else 1)
    assert places == {*range(1, 15)}


def test_binary_numbers_of_the_docstrings():
    def written(use, word):
        return ''.join(map(str, generator(f'arithmetic:{use}').written([*map(int, word)])))

    assert written('BinaryAddition', '100102101') == '011120000'  # 9 + 5
    assert written('BinaryAddition', '1121') == '0012'  # 3 + 1 leaves no room
    assert written('BinaryAddition', '020') == '020'  # 0 is one bit
    assert written('BinaryMultiplication', '10012011') == '01101120'  # 9 * 6
    assert written('BinaryMultiplication', '11211') == '10012'  # 3 * 3 leaves no room
    assert written('ComputeSqrt', '100101') == '110'  # 37
    assert written('ComputeSqrt', '00101') == '010'  # 5


def test_a_square_root_is_the_largest_number_whose_square_is_not_larger():
    for length, size in {2: 1, 3: 2, 4: 2, 5: 3, 30: 20, 200: 133}.items():
        for word, answer in words_and_answers(generator('arithmetic:ComputeSqrt'), length):
            assert len(word) == size
            assert len(answer) == (size + 1) // 2
            number, root = (int(''.join(map(str, bits)), 2) for bits in (word, answer))
            assert root**2 <= number < (root + 1) ** 2


def test_a_stack_is_a_stack():
    for word, answer in words_and_answers(generator('stack:StackManipulation')):
        stack = deque()
        for letter in word:
            if letter == 2:
                stack and stack.popleft()
            else:
                stack.appendleft({0: 0, 1: 1, 3: 0, 4: 1}[letter])
        assert answer == [*stack, 5]


def test_what_is_written_of_a_word():
    for word, answer in words_and_answers(generator('stack:ReverseString')):
        assert answer == [*reversed(word)]
    for word, answer in words_and_answers(generator('transduction:DuplicateString')):
        assert answer == 2 * word
    for word, answer in words_and_answers(generator('transduction:OddsFirst')):
        places = sorted(range(len(word)), key=lambda place: (place % 2, place))
        assert answer == [word[place] for place in places]
    for word, answer in words_and_answers(generator('transduction:BucketSort')):
        assert answer == sorted(word)
    for word, (answer,) in words_and_answers(generator('transduction:MissingDuplicate')):
        half = len(word) // 2
        whole = [answer if letter == 2 else letter for letter in word]
        assert word.count(2) == 1
        assert whole[:half] == whole[half:]


@pytest.mark.parametrize('letters', [2, 3])
def test_after_equal_runs_the_letter_that_must_follow_is_known_by_counting(letters):
    alphabet, runs = 'abc'[:letters] + '.?', set()
    for tokens, targets in examples(generator('counter:EqualRuns', letters=letters)):
        words = re.findall('a+b*c*', ''.join(alphabet[token] for token in tokens))
        asked = ''
        for word in words:
            whole = ''.join(letter * word.count('a') for letter in alphabet[:-2])
            assert whole.startswith(word)
            assert word in (whole, words[-1])
            asked += ''.join('?' if letter == 'a' else (whole + '.')[place + 1] for place, letter in enumerate(word))
            runs.add(word.count('a'))
        assert ''.join(alphabet[target] for target in targets) == asked
    assert len(runs) > 3


def test_brackets_that_are_open_are_those_that_may_close():
    closed = 0
    for tokens, targets in examples(generator('counter:ShuffledBrackets', kinds=3)):
        depths = [0, 0, 0]
        for token, target in zip(tokens.tolist(), targets.tolist(), strict=True):
            depths[token // 2] += 1 - 2 * (token % 2)
            closed += token % 2
            assert min(depths) >= 0
            assert target == sum(2**kind for kind, depth in enumerate(depths) if depth)
    assert closed > 600  # of 2,400


def test_what_is_compressed_is_asked_where_it_was():
    for tokens, targets in examples(generator('compression:Compression', symbols=5)):
        assert tokens[-1] == 5
        assert targets[-1] == IGNORED
        assert (tokens[:-1] == targets[:-1]).all()


def test_list_operations_are_those_of_python():
    names = {10: 'max([', 11: 'min([', 12: 'median([', 13: 'total(['}
    functions = dict(
        max=max, min=min, median=lambda values: int(statistics.median(values)), total=lambda values: sum(values) % 10
    )
    depths = set()
    for word, (answer,) in words_and_answers(generator('list_operations:ListOperations', depth=4), 60):
        text = ''.join(
            names.get(letter, '])' if letter == 14 else str(letter)) + ',' * (letter < 10 or letter == 14)
            for letter in word
        )
        assert answer == eval(text.rstrip(','), functions)
        depths.add(max(itertools.accumulate((letter in names) - (letter == 14) for letter in word)))
    assert max(depths) == 4


def test_a_row_is_a_function_of_its_number_its_split_and_the_seed(tmp_path):
    train, again, other = (data(seed=seed).prepare(tmp_path).splits['train'].rows for seed in (0, 0, 1))
    validation = data().prepare(tmp_path).splits['validation'].rows
    for row in (0, 7, 49):
        np.testing.assert_array_equal(train[row]['tokens'], again[row]['tokens'])
        assert (train[row]['tokens'] != other[row]['tokens']).any()
        assert (train[row % 20]['tokens'] != validation[row % 20]['tokens']).any()
    heads = dict(use=f'{ROOM}copying:InductionHeads')
    others = dict(seed=1), dict(train=51), dict(context_length=13), dict(shortest=3), dict(generator=heads)
    digests = {data(**changes).prepare(tmp_path).source['digest'] for changes in ({}, *others)}
    assert len(digests) == 6


def test_lengths_are_drawn_in_training_alone(tmp_path):
    found = data(shortest=3, context_length=13).prepare(tmp_path).splits
    lengths = {name: {int(split.rows[row]['segments'].sum()) for row in range(20)} for name, split in found.items()}
    assert lengths == {'train': {3, 5, 7, 9, 11, 13}, 'validation': {13}}
    row = found['train'].rows[0]
    used = row['segments'].sum()
    assert (row['labels'][used:] == IGNORED).all()
    assert (found['train'].rows.padding()['labels'] == IGNORED).all()


REFUSED = {
    'data.context_length: 2 is less than 3': dict(context_length=2),
    'data.context_length: 12 is less than 20': dict(shortest=20),
    'data.context_length: 12 is less than 16': dict(use='recall:MultiQueryRecall', pairs=4),
    'data.generator.vocabulary: must be 10': dict(use='recall:MultiQueryRecall', pairs=4, vocabulary=9),
    'data.generator.noise: noise_share is 0.5': dict(use='in_context:InContextRecall', noise_share=0.5),
    'data.generator.most: must be 8 or more': dict(use='copying:Repetition', most=7),
    'data.generator.nodes: must be 9': dict(use='path_star:PathStar', nodes=8),
    'config.generator.opening must be': dict(use='counter:ShuffledBrackets', opening=1.5),
    'config.generator.symbols must be at least 2': dict(use='compression:Compression', symbols=1),
    'config.generator.modulus must be at least 2': dict(use='stack:SolveEquation', modulus=1),
    'config.generator.places must be at least 3': dict(use='regular:CycleNavigation', places=2),
}


@pytest.mark.parametrize('message', REFUSED)
def test_what_cannot_be_drawn_is_refused(message):
    fields = REFUSED[message]
    changes = {'generator': fields | {'use': ROOM + fields['use']}} if 'use' in fields else fields
    with pytest.raises(UserError) as refused:
        data(**changes)
    assert str(refused.value).startswith(message)


def test_a_model_of_too_few_tokens_is_refused():
    model = Part(Says, (('vocabulary', 15),))
    with pytest.raises(UserError) as refused:
        data().require_model(model, None)
    assert str(refused.value) == 'config.model.vocabulary: 15, but data.generator has 16 tokens; set it to 16'


class Says(nn.Module):
    """A model that says at each token what it is given there."""

    vocabulary: int = 16
    context_length: int = 3

    def __call__(self, tokens, context, train):
        return 9.0 * nn.one_hot(tokens, self.vocabulary)

    def init_state(self, tokens, capacity):
        raise NotImplementedError

    def step(self, tokens, segments, state):
        raise NotImplementedError


@pytest.mark.long
def test_answers_count_and_nothing_else_does():
    labels = jnp.array([[IGNORED, 3, 4], [5, IGNORED, IGNORED], [IGNORED, IGNORED, IGNORED]])
    said = jnp.array([[9, 3, 9], [5, 9, 9], [9, 9, 9]])
    batch = dict(tokens=said, labels=labels, segments=jnp.ones_like(said), positions=0 * said)
    totals = Answering().totals(Forward(Says(), {}), batch)
    means = {name: (float(total.total), float(total.weight)) for name, total in totals.items()}
    assert means['accuracy'] == (2, 3)
    assert means['solved'] == (1, 2)
    wrong, right = (float(np.log(15 + np.exp(9.0))) - score for score in (0.0, 9.0))
    assert means['loss'] == pytest.approx((wrong + 2 * right, 3), rel=1e-5)


def decoder():
    norm, mixer = (
        dict(use='norm.rms:RMSNorm'),
        dict(use='recurrent.mixer.convolution:Convolution', size=2, depthwise=True),
    )
    block = dict(use='block.pre_norm:PreNorm', norm=norm, mixer=mixer, feedforward=GATED)
    sizes = dict(context_length=8, width=8, layers=1, vocabulary=16, tied=True)
    parts = dict(norm=norm, run=dict(use='model.stack:Unrolled'), position=dict(use='position.none:NoPosition'))
    return build(dict(use='model.decoder:Decoder', block=block, **sizes, **parts))()


def asked_of_rows(places):
    tokens = jax.random.randint(jax.random.key(1), (3, 8), 0, 16)
    labels = jnp.full((3, 8), IGNORED).at[tuple(zip(*places, strict=True))].set(5)
    return dict(tokens=tokens, labels=labels, segments=jnp.ones_like(tokens), positions=jnp.tile(jnp.arange(8), (3, 1)))


@pytest.mark.long
@pytest.mark.parametrize('chunk', [None, 2])
def test_logits_of_the_places_that_are_asked_alone_give_the_same_totals_and_gradients(chunk):
    model, batch = decoder(), asked_of_rows([(0, 2), (0, 7), (0, 3), (1, 0)])

    params = Answering().init(model, jax.random.key(0), batch)

    def of(task):
        def loss(params):
            totals = task.loss(model, params, batch, jax.random.key(0), True)
            return totals['loss'].total, totals

        return jax.jit(jax.grad(loss, has_aux=True))(params)

    found, whole = of(Answering(answers=3, vocabulary_chunk=chunk)), of(Answering())
    assert float(whole[1]['loss'].weight) == 4
    jax.tree.map(lambda one, other: np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6), found, whole)


@pytest.mark.long
def test_a_row_that_asks_more_than_was_said_has_no_loss():
    model, task = decoder(), Answering(answers=1)
    one, two = asked_of_rows([(0, 2), (1, 0)]), asked_of_rows([(0, 2), (1, 0), (1, 3)])
    loss = jax.jit(lambda batch: task.loss(model, params, batch, jax.random.key(0), False)['loss'].total)
    params = task.init(model, jax.random.key(0), one)
    assert [bool(np.isfinite(loss(batch))) for batch in (one, two)] == [True, False]


def test_chance_says_the_most_frequent_answer(tmp_path):
    generator = dict(use=f'{ROOM}memorization:Memorization', keys=2)
    splits = data(generator=generator, train=400, validation=400).prepare(tmp_path).splits
    found = chance(splits['train'], splits['validation'], None)
    assert found['accuracy'] == pytest.approx(0.5, abs=0.03)
    assert found['loss'] == pytest.approx(np.log(2), abs=0.01)
