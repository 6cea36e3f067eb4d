# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The words of the codebase: axes, arrays, parts, what a batch holds, and what each kind of part must do.

Axes, in every einsum, annotation and comment:

    B batch          N query heads        F feed-forward width
    T query length   K key/value heads    V vocabulary
    S key length     G = N/K              L layers
    D width          H head width         P patches, C classes

Activations are [B T N H], scores [B N T S], projection kernels [D N H], output kernels [N H D].
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, Protocol, SupportsFloat, TypeVar, runtime_checkable

import jax
from flax import struct
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

Activation = Callable[[Array], Array]  # of each number by itself, as `jax.nn:gelu`

T_co = TypeVar('T_co', covariant=True)

Tokens = Int[Array, 'B T']
Hidden = Float[Array, 'B T D']
Queries = Float[Array, 'B T N H']
Keys = Float[Array, 'B S K H']
Values = Float[Array, 'B S _ _']  # in heads and of a width of their own
Mixed = Float[Array, 'B T N _']  # what each query's heads read of them
Scores = Float[Array, 'B N T S']
Logits = Float[Array, 'B T V']
QueryIndex = Int[Array, '... T']
KeyIndex = Int[Array, '... S']
Real = Bool[Array, 'B T']  # True where a place of a row holds a token, False for padding
Params = Mapping[str, Any]
State = PyTree
PRNGKey = Key[Array, ''] | Array

# A batch is a dict of arrays whose leading axis is B. `data` makes it, a task receives it:
#   tokens    [B T] int32     of the vocabulary. For a causal model T is one more than it sees: every input has a target
#   segments  [B T] int32     1, 2, ... number the documents packed into a row; 0 is padding
#   positions [B T] int32     the token's place within its own document piece
# and, for an encoder, whatever of these its task needs:
#   types     [B T] int32     1 for the second of two texts, else 0
#   words     [B T] int32     1, 2, ... number the words of a row; 0 for special tokens and padding
#   mask      [B] int32       the id of [MASK]
#   row       [B] int32       the number of the row in its split
#   example   [B] int32       the number of the example that the row is of, or is a window on; -1 for padding
#   label     [B] int32       the class of the row; IGNORED for none
#   value     [B] float32     the number to predict of the row; NaN for none
#   labels    [B T] int32     the class of each token; IGNORED for none
#   start, stop [B] int32     first and last token of the answer; 0, which is [CLS], where the row has none
# and, for a model that reads one sequence and writes another, whose `tokens` begin with the token that starts it:
#   source    [B S] int32     what is read
#   source_segments, source_positions [B S] int32   of its tokens, as those of `tokens`
#   end       [B] int32       the id of the token that ends what is written
# and, for skip-grams:
#   frequency [B T] float32   the token's share of the words of the training split; 0 where it is none
#   noise     [B M] int32     words drawn by their frequency, to be told from those that are there
# and, for a task that makes both of `tokens`, under its own name the id of each special token [B] that a source may
# begin with, and:
#   sentinels [B K] int32     the ids of the tokens that stand for what is left out, in order
#   start     [B] int32       the id of the token that starts what is written
Batch = Mapping[str, Array]

IGNORED = -100  # a label that is no target: PyTorch's ignore_index, and so the field's

Metrics = Mapping[str, SupportsFloat]


class UserError(Exception):
    """Something the user can mend. Launchers print its one line and exit with status 2."""


@dataclass(frozen=True)
class Range:
    """Which numbers a field takes, stated where the field is declared: `build` refuses the others, and NaN.

        dropout: Annotated[float, Range(least=0, below=1)] = 0.0

    Attributes: bounds; `least` and `most` belong to the range, `above` and `below` do not.
    """

    least: int | float = -math.inf
    above: int | float = -math.inf
    most: int | float = math.inf
    below: int | float = math.inf

    def __contains__(self, value: int | float) -> bool:
        return self.least <= value <= self.most and self.above < value < self.below

    def __str__(self) -> str:
        bounds = {'at least': self.least, 'above': self.above, 'at most': self.most, 'below': self.below}
        return ' and '.join(f'{words} {bound}' for words, bound in bounds.items() if math.isfinite(bound))


Count = Annotated[int, Range(least=1)]
CountOrZero = Annotated[int, Range(least=0)]
Positive = Annotated[float, Range(above=0)]
NotNegative = Annotated[float, Range(least=0)]
Share = Annotated[float, Range(least=0, below=1)]  # a dropout rate, a decay, a label smoothing
Probability = Annotated[float, Range(least=0, most=1)]


def require_positive(part: str, **values: int) -> None:
    """Refuse a size or a number that is not at least 1, naming its field."""
    for name, value in values.items():
        if value < 1:
            raise UserError(f'{part}: {name} must be at least 1, not {value}')


def require_share(part: str, **values: float) -> None:
    """Refuse a dropout rate, or another share, that is not at least 0 and below 1."""
    for name, value in values.items():
        if not 0 <= value < 1:
            raise UserError(f'{part}: {name} must be at least 0 and below 1, not {value}')


@dataclass(frozen=True)
class Part(Generic[T_co]):
    """A factory: what to call, and the arguments the config gave. Frozen, hashable and comparable.

    Two parts built from equal specs are equal, so they can be static arguments of a jitted function. (Rebuilt
    `functools.partial` objects compare unequal and would retrace.) Every call makes a new instance, so a
    factory handed to L layers makes L sets of weights.
    """

    target: Any
    arguments: tuple[tuple[str, Any], ...] = ()

    def __call__(self, *args: Any, **kwargs: Any) -> T_co:
        try:
            return self.target(*args, **dict(self.arguments), **kwargs)
        except TypeError:
            self._refuse_call(args, kwargs)
            raise

    def _refuse_call(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Raise a UserError where the target does not take what it was called with: it is of another kind of part."""
        try:
            signature(self.target).bind(*args, **dict(self.arguments), **kwargs)
        except TypeError as error:
            raise UserError(f'{self.name} is not what its field takes: {error}') from None

    def __getitem__(self, name: str) -> Any:
        return dict(self.arguments)[name]

    def but(self, **arguments: Any) -> 'Part':
        """The same with these arguments in place of its own."""
        return Part(self.target, tuple(sorted({**dict(self.arguments), **arguments}.items())))

    @property
    def name(self) -> str:
        """The import path, as a config would write it under `use`."""
        module = self.target.__module__.removeprefix('saccade.')
        return f'{module}:{self.target.__qualname__}'

    def within(self) -> Iterator['Part']:
        """This part, and all that it was given, at any depth."""
        yield self
        for _, value in self.arguments:
            for item in value if isinstance(value, tuple) else (value,):
                if isinstance(item, Part):
                    yield from item.within()


@struct.dataclass
class Source:
    """What queries look at where that is not their own sequence, as in cross-attention.

    Attributes:
        hidden: the tokens, in any width; None where all that is read of them was made before, by a `Reader`.
        positions, segments: of each of them, as in `Scope`.
    """

    hidden: Float[Array, 'B S D'] | None
    positions: Int[Array, 'B S']
    segments: Int[Array, 'B S'] | None = None

    @property
    def real(self) -> Bool[Array, 'B S'] | None:
        """Which places hold a token, and no padding; None where all do."""
        return None if self.segments is None else self.segments != 0


@struct.dataclass
class Scope:
    """What a layer may know of its tokens beside their activations.

    Attributes:
        positions: place of each token within its own segment.
        segments: tokens attend only within equal segments; 0 is padding. None: every row is one segment.
        source: where a mixer takes keys and values from; None for the tokens themselves.
        terms: score terms that all layers share.
        types: 1 for tokens of the second of two texts, else 0; None: there is one text.
        prefix: how many tokens at the start of a row are read before any is written, so that a mask may show them to
            each other; None: none are. A row is one segment then.
    """

    positions: Int[Array, 'B T']
    segments: Int[Array, 'B T'] | None = None
    source: Source | None = None
    terms: tuple[Any, ...] = ()
    types: Int[Array, 'B T'] | None = None
    prefix: Int[Array, 'B'] | None = None

    def read(self, x: Hidden) -> Source:
        """What keys and values are made of: the source, or the tokens x themselves."""
        return Source(x, self.positions, self.segments) if self.source is None else self.source

    @property
    def real(self) -> Bool[Array, 'B T'] | None:
        """Which places hold a token, and no padding; None where all do."""
        return None if self.segments is None else self.segments != 0

    @property
    def numbered(self) -> Int[Array, 'B T']:
        """The segments, which are all 1 where every row is one."""
        return jax.numpy.ones_like(self.positions) if self.segments is None else self.segments


@dataclass(frozen=True)
class Can:
    """What a part declares it can do. The compatibility matrix and the test grid are generated from it.

    Attributes:
        causal, full: serves masks that hide what follows a token, masks that hide nothing.
        cross, packed: serves keys of another length, segment masks.
        terms: makes scores, so that it serves score terms (biases, softcaps, relative positions) and any mask.
        content: serves score terms that read queries and keys too, and not their positions alone.
        scores: is a mixer that needs a kernel which makes scores.
        cached: `step` replays `__call__`.
        weights: can return the attention weights.
        sums: the state adds tokens up, so it is in float32 whatever the tokens are in.
        equivariant: under a full mask and without positions, tokens that change places change places and no more.
        time, memory: order of cost of a whole sequence, in the letters of the axis table.
        state: order of the size of a row's decoding state, S for the tokens there is room for. Of the three, what is
            empty is for a part inside this one to say.
    """

    causal: bool = True
    full: bool = True
    cross: bool = True
    packed: bool = True
    terms: bool = True
    content: bool = True
    scores: bool = False
    cached: bool = True
    weights: bool = False
    sums: bool = False
    equivariant: bool = True
    time: str = ''
    memory: str = ''
    state: str = ''


@runtime_checkable
class Mask(Protocol):
    """Which query may attend to which key; combines with & and |."""

    def __call__(self, q_index: QueryIndex, k_index: KeyIndex) -> Bool[Array, '... T S']: ...

    def live(self, q: range, k: range) -> bool:
        """False where it is known while tracing that no pair of the two ranges may attend."""
        ...


@struct.dataclass
class Pairs:
    """The pairs of a query and a key that a block of scores is of.

    Attributes:
        q_index, k_index: of each query and key; the token's position where decoding looks into a state.
        allowed: which pairs the mask allows. Padding, other documents and empty slots are never among them.
        scale: factor of q.k, for terms that add products of their own.
    """

    q_index: QueryIndex
    k_index: KeyIndex
    allowed: Bool[Array, '#B 1 T S']
    scale: float = struct.field(pytree_node=False, default=1.0)

    @property
    def distance(self) -> Int[Array, '... T S']:
        """Key minus query, in tokens."""
        return self.k_index[..., None, :] - self.q_index[..., :, None]


@runtime_checkable
class ScoreTerm(Protocol):
    """A pytree that changes a block of scores: a bias, a softcap, a relative position.

    Key blocks are visited from the last to the first, and `carry` passes from each to the one before it. Blocks in
    which no pair is allowed may be left out, so a carry must come from allowed pairs alone.
    """

    def init_carry(self, q: Queries) -> PyTree:
        """What the last key block gets for a carry, in the shapes of q. No gradient flows through it."""
        ...

    def __call__(self, scores: Scores, q: Queries, k: Keys, pairs: Pairs, carry: PyTree) -> tuple[Scores, PyTree]: ...


@runtime_checkable
class TermMaker(Protocol):
    """Makes score terms for so many heads, with parameters of its own."""

    def terms(self, heads: int) -> tuple[ScoreTerm, ...]: ...


@runtime_checkable
class RowWeights(Protocol):
    """A pytree that makes weights of whole rows of scores; what is not allowed gets exactly zero."""

    def __call__(self, scores: Scores, allowed: Bool[Array, '#B 1 T S']) -> Scores: ...


@runtime_checkable
class OnlineWeights(RowWeights, Protocol):
    """Weights that can be made from one block of keys after another, with no more than numbers per row in between.

    Scores that are not allowed come as -inf. Rows are [B N T]; a statistic is a pytree of them, or empty.
    """

    def start(self, rows: tuple[int, int, int]) -> PyTree:
        """The statistic of rows of which no key was seen."""
        ...

    def fold(self, statistic: PyTree, scores: Scores) -> tuple[PyTree, Scores, Float[Array, '#B #N #T']]:
        """Take in a block: the new statistic, weights up to a factor of the row, and what the weights of earlier
        blocks are to be multiplied by.
        """
        ...

    def finish(self, statistic: PyTree) -> tuple[Float[Array, '#B #N #T'], PyTree]:
        """After the last block: that factor of the row, and what the backward pass is to know of the row."""
        ...

    def pull(
        self, scores: Scores, known: PyTree, dweights: Scores, inner: Float[Array, 'B N T 1']
    ) -> tuple[Scores, Scores, Any]:
        """A block's weights once more, the gradient by its scores, and what it adds to that by this pytree itself.

        Args:
            inner: the sum over all keys of weight times dweight.
        """
        ...


@dataclass(frozen=True)
class Rows:
    """What a weighting declares of a row of weights that has a key.

    Attributes:
        least, most: bounds of its sum.
        dense: every key that is allowed gets a weight other than zero.
        continuous: small changes of the scores change the weights little.
    """

    least: float = 1.0
    most: float = 1.0
    dense: bool = True
    continuous: bool = True


@runtime_checkable
class Weighting(Protocol):
    """How scores become weights: makes, for so many heads, the value that does it."""

    rows: ClassVar[Rows]

    def __call__(self, heads: int) -> RowWeights: ...


@runtime_checkable
class OnlineWeighting(Weighting, Protocol):
    """One that never needs a row as a whole. `online` is the class of the values that it makes."""

    online: ClassVar[type[OnlineWeights]]

    def __call__(self, heads: int) -> OnlineWeights: ...


@runtime_checkable
class Norm(Protocol):
    """Normalises each token. `real` is for those that keep statistics over tokens, in which padding does not count."""

    def __call__(self, x: Hidden, real: Real | None = None) -> Hidden: ...


@runtime_checkable
class FeedForward(Protocol):
    """A layer of each token by itself. `real` is for those in which tokens compete, as padding does not."""

    def __call__(self, x: Hidden, train: bool, real: Real | None = None) -> Hidden: ...


@runtime_checkable
class Router(Protocol):
    """Which of E experts serve which token, A of them on average: makes `ops.routing:Routes`. T counts all places.

    `real` says which of them hold a token: padding is not routed, and counts in no load. `sees_others` declares that
    the experts of a token depend on the other tokens, later ones too.
    """

    sees_others: ClassVar[bool]

    def __call__(
        self, x: Float[Array, 'T D'], experts: int, active: int, train: bool, real: Bool[Array, 'T']
    ) -> Any: ...


@runtime_checkable
class TokenPosition(Protocol):
    """A scheme that acts on the embedded tokens, once."""

    def __call__(self, x: Hidden, positions: Int[Array, 'B T']) -> Hidden: ...


@runtime_checkable
class PairPosition(Protocol):
    """A scheme that acts inside attention, on queries and keys or on their scores."""

    def rotate(
        self, q: Queries, k: Keys, q_positions: Int[Array, 'B T'], k_positions: Int[Array, 'B S']
    ) -> tuple[Queries, Keys]: ...

    def terms(self, heads: int) -> tuple[ScoreTerm, ...]: ...


@runtime_checkable
class Kernel(Protocol):
    """How queries, keys and values become one output a query; and the state this needs to do it step by step.

    `scoring` is an `ops.scoring:Scoring`: the scale, the mask and the score terms.
    """

    can: ClassVar[Can]

    def __call__(self, q: Queries, k: Keys, v: Values, scoring: Any, train: bool) -> Mixed: ...

    def init_state(self, k: Keys, v: Values, capacity: int) -> State:
        """State for the newest `capacity` tokens a row, in the shapes and dtypes of k and v.

        Where the mask looks back fewer tokens than that, more will come: older ones are then no longer needed.
        """
        ...

    def step(self, q: Queries, k: Keys, v: Values, scoring: Any, state: State, scope: Scope) -> tuple[Mixed, State]: ...


@runtime_checkable
class Mixer(Protocol):
    """The only part that moves information between tokens."""

    def __call__(self, x: Hidden, scope: Scope, train: bool) -> Hidden: ...

    def init_state(self, x: Hidden, capacity: int) -> State:
        """State for `capacity` tokens a row, in the batch, width and dtype of x; axis 0 of each leaf is B."""
        ...

    def step(self, x: Hidden, scope: Scope, state: State) -> tuple[Hidden, State]:
        """Take a chunk of one or more tokens that follow those already in the state.

        Past the capacity the newest slots are overwritten: whoever steps keeps count. A state whose size the capacity
        does not change, as under a mask that looks back fewer tokens, may be stepped for ever.
        """
        ...


@runtime_checkable
class Lender(Mixer, Protocol):
    """One whose keys and values others of the same spec may borrow: these have no kernels to make any with.

    What is lent is whatever others need to read the same tokens; where it is None, a mixer makes its own.
    """

    def share(self, x: Hidden, scope: Scope, train: bool, lent: PyTree) -> tuple[Hidden, PyTree]:
        """What `__call__` returns, and what was read, to be lent."""
        ...

    def share_step(self, x: Hidden, scope: Scope, state: State, lent: PyTree) -> tuple[Hidden, State, PyTree]:
        """What `step` returns, and what was read, to be lent: of this chunk alone, beside the lender's `state`."""
        ...


@runtime_checkable
class Reader(Mixer, Protocol):
    """One that attends to a source, of which it makes what it needs once for all steps of decoding."""

    def read(self, x: Hidden, source: Source) -> State:
        """What `look` needs of the source, for tokens in the width and dtype of x; axis 0 of each leaf is B."""
        ...

    def look(self, x: Hidden, scope: Scope, state: State) -> Hidden:
        """What `__call__` returns outside of training, by what was read; the scope's source has no hidden states."""
        ...


@runtime_checkable
class Block(Protocol):
    """One layer: mixer, feed-forward, norms and residual connections.

    `identity` declares that it returns its input where its mixer and its feed-forward layer return zero.
    """

    identity: ClassVar[bool]

    def __call__(self, x: Hidden, scope: Scope, train: bool) -> Hidden: ...

    def init_state(self, x: Hidden, capacity: int) -> State: ...

    def step(self, x: Hidden, scope: Scope, state: State) -> tuple[Hidden, State]: ...


@runtime_checkable
class Runner(Protocol):
    """How L layers with stacked parameters are run one after another."""

    def __call__(self, layer: Any, stacked: PyTree, x: Hidden) -> tuple[Hidden, PyTree]: ...


@runtime_checkable
class Model(Protocol):
    """What is trained. How it is called is between it and the task."""

    vocabulary: int
    context: int


@runtime_checkable
class OfOneSequence(Model, Protocol):
    """A model of one sequence of tokens, whose length is a matter of one number."""

    @classmethod
    def at_length(cls, part: Part, length: int) -> Part:
        """Return how the same model is made for sequences of up to `length` tokens."""
        ...


@struct.dataclass
class Reading:
    """What a head may know beside the hidden states that it reads.

    Attributes:
        scope: of the tokens.
        table: the embedding, for a head that is tied to it.
        at: the tokens to predict, by their place in the row; None for all.
    """

    scope: Scope
    table: Float[Array, 'V E']
    at: Int[Array, 'B M'] | None = None


@runtime_checkable
class Head(Protocol):
    """Makes predictions of what an encoder made of tokens: logits, in the shapes that its task expects."""

    def __call__(self, x: Hidden, reading: Reading, train: bool) -> Array: ...


@runtime_checkable
class EncoderModel(Model, Protocol):
    """Tokens in; what each head makes of them out, by the head's name."""

    def __call__(
        self, tokens: Tokens, scope: Scope, train: bool, at: Int[Array, 'B M'] | None = None
    ) -> dict[str, Array]: ...


@runtime_checkable
class LanguageModel(Model, Protocol):
    """Tokens in, logits out; whole sequences by `__call__`, chunk by chunk by `init_state` and `step`."""

    def __call__(self, tokens: Tokens, scope: Scope, train: bool) -> Logits: ...

    def init_state(self, tokens: Tokens, capacity: int) -> State: ...

    def step(self, tokens: Tokens, segments: Int[Array, 'B T'], state: State) -> tuple[Logits, State]: ...


@runtime_checkable
class Seq2Seq(Model, Protocol):
    """A sequence to read and what was written of another in; logits of what is written next out.

    `context` bounds what is written, and `source_context` what is read, in tokens.
    """

    source_context: int

    def __call__(
        self, source: Int[Array, 'B S'], source_scope: Scope, tokens: Tokens, scope: Scope, train: bool
    ) -> Logits: ...

    def read(self, source: Int[Array, 'B S'], source_scope: Scope, capacity: int) -> State:
        """Read the sources, once: the state before the first of `capacity` tokens a row; axis 0 of each leaf is B."""
        ...

    def step(self, tokens: Tokens, segments: Int[Array, 'B T'], state: State) -> tuple[Logits, State]: ...


@struct.dataclass
class Written:
    """What a model wrote of each source, the best of what its search found.

    Attributes:
        tokens: of each row, without the token that started it; what follows the first `counts` of them is of no use.
        counts: how many there are before the token that ended the row.
    """

    tokens: Int[Array, 'B M']
    counts: Int[Array, 'B']


@runtime_checkable
class Search(Protocol):
    """How a model that reads a sequence is made to write another, in a compiled program: greedy, by beams ..."""

    def __call__(self, model: Seq2Seq, params: Params, batch: Batch) -> Written:
        """Write for each row of a batch, of which the sources and the first column of `tokens` are looked at."""
        ...


@struct.dataclass
class Total:
    """A mean in the making: totals and weights add up over microbatches, devices and processes."""

    total: Float[Array, '']
    weight: Float[Array, '']

    def mean(self) -> Float[Array, '']:
        return self.total / jax.numpy.maximum(self.weight, 1e-30)


@runtime_checkable
class Data(Protocol):
    """Where batches come from."""

    context: int

    def batch_like(self, batch_size: int) -> dict[str, jax.ShapeDtypeStruct]:
        """Shapes of a batch, known before any data is read."""
        ...

    def prepare(self, cache: Any, tokenizer: Any = None) -> Any:
        """Return the tokenizer and the splits, ready for batches; what takes time is kept in the folder `cache`."""
        ...


@runtime_checkable
class Bucketed(Data, Protocol):
    """Data with batches of several lengths to learn from."""

    def batches_like(self, batch_size: int) -> Sequence[dict[str, jax.ShapeDtypeStruct]]:
        """Shapes of all of these batches, those of `batch_like` first."""
        ...


@runtime_checkable
class Task(Protocol):
    """What is learned.

    A task may have these attributes too, all but the first of its class:
        then: what a run of it is good for, each with its command but for --workdir; {inputs} stands for an example
            of each input of the data, as flags.
        trains: the protocol of its models, and the words for such a model: (EncoderModel, 'an encoder').
        heads: the heads that it reads, by the field of the model that has them, '' for the model itself.
        reads: what it reads of a batch.
    """

    def init(self, model: Any, key: PRNGKey, batch: Batch) -> Params:
        """Initialise the model's parameters for batches of this shape."""
        ...

    def inputs(self, model: Any, key: PRNGKey, batch: Batch) -> tuple[Any, ...]:
        """What the model's `init` is called with for a batch, after the key."""
        ...

    def loss(self, model: Any, params: Params, batch: Batch, key: PRNGKey, train: bool) -> dict[str, Total]:
        """Return totals by name. `loss` is what training minimises; the others are reported beside it."""
        ...


@runtime_checkable
class Estimate(Protocol):
    """A number with the bounds of its 95% confidence interval."""

    value: float
    low: float
    high: float


@runtime_checkable
class TextMetric(Protocol):
    """What texts are worth beside those that were wanted; a `signature` of an estimate says how it was made."""

    def __call__(self, texts: Sequence[str], references: Sequence[str]) -> dict[str, Estimate]: ...


@runtime_checkable
class Judge(Protocol):
    """A task that is judged by predictions of whole examples, and not by means over targets alone."""

    def predict(self, model: Any, params: Params, batch: Batch) -> dict[str, Array]:
        """Return what is predicted of each row; axis 0 of each array is B."""
        ...

    def judge(self, predictions: Mapping[str, Any], split: Any) -> dict[str, Estimate]:
        """Return metrics of the predictions of all rows of a split, in order, and of padding after them."""
        ...


@runtime_checkable
class Sink(Protocol):
    """A place where the log of a run goes. Process 0 alone makes it, before anything is compiled.

    All its methods are called in one thread, which is not the main thread. If one raises, or takes so long that the log
    piles up, the run says so and goes on without the sink.
    """

    def open(self, folder: Path, config: Mapping[str, Any], start: int) -> None:
        """Begin the log of the run in a folder, or go on with it after step `start`; 0 begins anew.

        Later steps that were logged before will come again: the run was stopped and goes on from its checkpoint.
        """
        ...

    def write(self, step: int, split: str, metrics: Metrics) -> None:
        """Take the metrics of one step of one split; those of step 0, split 'plan', say what the run will cost."""
        ...

    def sample(self, step: int, text: str) -> None:
        """Take what the model made at one step."""
        ...

    def close(self) -> None:
        """Finish, after the last step or on the way out of an error. It is called once, if `open` returned."""
        ...
