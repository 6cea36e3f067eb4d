# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Text generation: a language model with its tokenizer continues a prompt."""

from dataclasses import dataclass, replace

from saccade.build import refused
from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.decode.beam import Beam, generate_beams
from saccade.decode.generate import accepted, generate
from saccade.decode.generation import Generation
from saccade.decode.int8_cache import Int8Cache
from saccade.decode.paged import CacheUsage, Paging, generate_paged
from saccade.decode.sampling import Sampler
from saccade.decode.speculate import Draft, DraftUsage, generate_drafted
from saccade.types import Count, CountOrZero, LanguageModel, Model, NotNegative, Params, Part, PRNGKey, Share, UserError

__all__ = ['Sample']

USUAL_TOKENS = 200


@dataclass(frozen=True)
class Continuation:
    """Continuation of a prompt. Attributes: text, to append to the prompt; tokens, its ids."""

    text: str
    tokens: list[int]


@dataclass(frozen=True)
class ScoredContinuation(Continuation):
    """Continuation of a prompt with its beam-search score.

    Attributes: score, log p of the tokens and the end token, in nats, divided by the length penalty.
    """

    score: float


@dataclass(frozen=True, eq=False)
class Writer:
    """Text generation by a language model.

    Attributes: settings, generation settings of a Hugging Face folder; None for a run. int8, to keep the KV cache in
    int8 (`attention.cache:in_int8`).

    Raises:
        UserError: the model is not a language model; the message names its use.
    """

    model: Model  # checked to be a LanguageModel
    params: Params
    tokenizer: Tokenizer
    sampler: Sampler
    settings: Generation | None = None
    int8: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.model, LanguageModel):
            raise UserError(refused(Part(type(self.model)), LanguageModel))

    @property
    def decoded(self) -> Model | Int8Cache:
        """The model as it is decoded."""
        return Int8Cache(self.model) if self.int8 else self.model

    @property
    def generation(self) -> Generation:
        """The settings of generation."""
        return Generation.of_run(self.tokenizer) if self.settings is None else self.settings

    def write(self, prompt: str, key: PRNGKey, max_tokens: int | None = None, samples: int = 1) -> list[Continuation]:
        """Continue a text; return `samples` continuations.

        Args:
            max_tokens: maximum number of new tokens; None for the folder's, or else USUAL_TOKENS, within the context.

        Raises:
            UserError: the tokenizer cannot encode the prompt, or the tokens do not fit the context.
        """
        ids, max_tokens = self.laid_out(prompt, max_tokens)
        return [Continuation(self.text(ids, new), new) for new in self.extend(samples * [ids], key, max_tokens)]

    def write_paged(
        self, prompt: str, key: PRNGKey, paging: Paging, max_tokens: int | None = None, samples: int = 1
    ) -> tuple[list[Continuation], CacheUsage]:
        """Continue a text as `write` does, with a KV cache in pages; also return the memory of the cache.

        Args:
            max_tokens: as for `write`.

        Raises:
            UserError: as for `write`; a part of the model cannot decode with pages; or the pool is too small.
        """
        ids, max_tokens = self.laid_out(prompt, max_tokens)
        settings = self.sampler, max_tokens, key, self.generation.end, self.generation.rules, paging
        rows, usage = generate_paged(self.decoded, self.params, samples * [ids], *settings)
        return [Continuation(self.text(ids, new), new) for new in rows], usage

    def write_drafted(
        self,
        prompt: str,
        key: PRNGKey,
        drafter: 'Writer',
        drafted: int,
        max_tokens: int | None = None,
        samples: int = 1,
    ) -> tuple[list[Continuation], DraftUsage]:
        """Continue a text as `write` does, by speculative decoding; also return counts of drafted tokens.

        Args:
            drafter: a smaller model with the same tokenizer; its sampler is not used.
            drafted: number of tokens that it drafts in a round.
            max_tokens: as for `write`.

        Raises:
            UserError: as for `write`; the tokenizers differ; or as for `generate_drafted`.
        """
        if drafter.tokenizer.backend.get_vocab() != self.tokenizer.backend.get_vocab():
            raise UserError(
                'the draft has another tokenizer: train both on the same one, with data.tokenizer as a file'
            )
        ids, max_tokens = self.laid_out(prompt, max_tokens)
        draft = Draft(drafter.decoded, drafter.params, drafted)
        settings = self.sampler, max_tokens, key, self.generation.end, self.generation.rules
        rows, usage = generate_drafted(self.decoded, self.params, draft, samples * [ids], *settings)
        return [Continuation(self.text(ids, new), new) for new in rows], usage

    def search(
        self, prompt: str, beam: Beam, max_tokens: int | None = None, samples: int = 1
    ) -> list[ScoredContinuation]:
        """Return the best continuations found by beam search, at most one per beam.

        Args:
            max_tokens: as for `write`.

        Raises:
            UserError: as for `write`.
        """
        ids, max_tokens = self.laid_out(prompt, max_tokens)
        beam = replace(beam, rules=self.generation.rules)
        (found,) = generate_beams(self.decoded, self.params, [ids], beam, max_tokens, self.generation.end)
        return [ScoredContinuation(self.text(ids, new), new, score) for new, score in found[:samples]]

    def extend(self, prompts: list[list[int]], key: PRNGKey, max_tokens: int) -> list[list[int]]:
        """Return the new tokens of each row."""
        end, rules = self.generation.end, self.generation.rules
        return generate(self.decoded, self.params, prompts, self.sampler, max_tokens, key, end, rules)

    def room(self, prompt: str, most: int) -> int:
        """Return the number of new tokens that fit the context after a prompt, from 1 to `most`."""
        return max(1, min(most, self.model.context_length - len(self.framed(self.tokenizer.encode(prompt)))))

    def framed(self, ids: list[int]) -> list[int]:
        """Return the tokens of a prompt with special tokens around it; for an empty prompt, the start token."""
        before, after = self.generation.prompt
        first = 0 if self.generation.start is None else self.generation.start
        return [*before, *ids, *after] or [first]

    def text(self, ids: list[int], new: list[int]) -> str:
        """Return the text that new tokens add. Both are decoded together, as decoders may alter a first word."""
        before, whole = self.tokenizer.decode(ids), self.tokenizer.decode(ids + new)
        return whole.removeprefix(before) if whole.startswith(before) else self.tokenizer.decode(new)

    def laid_out(self, prompt: str, max_tokens: int | None) -> tuple[list[int], int]:
        """Return the tokens of a prompt, and the maximum number of new tokens.

        Raises:
            UserError: the tokenizer cannot encode the prompt.
        """
        ids = self.tokenizer.encode(prompt)
        if prompt.strip() and not ids:
            raise UserError(f'the prompt {prompt!r} has no token')
        ids = self.framed(ids)
        room = self.model.context_length - len(ids)
        return ids, self.generation.most(len(ids), room, USUAL_TOKENS) if max_tokens is None else max_tokens


@dataclass(frozen=True)
class Sample:
    """Sample of a language model, which a run logs at each evaluation.

    Attributes:
        prompt: text to continue; if empty, the model begins a document.
        tokens: number of new tokens; fewer if the context is full.
        temperature, top_k, top_p, min_p: as in `decode.sampling:Sampler`.
    """

    prompt: str = ''
    tokens: Count = 64
    temperature: NotNegative = 1.0
    top_k: CountOrZero = 0
    top_p: float = 1.0
    min_p: Share = 0.0

    def __post_init__(self) -> None:
        if self.tokens < 1:
            raise UserError(f'tokens: must be at least 1, not {self.tokens}')
        self._sampler()

    def require(self, model: Model, tokenizer: Tokenizer) -> None:
        """Check that the model can continue the prompt.

        Raises:
            UserError: it is not a language model, the tokenizer cannot encode the prompt, or the prompt does not fit.
        """
        ids, one = Writer(model, {}, tokenizer, self._sampler()).laid_out(self.prompt, 1)
        accepted(model, [ids], one, tokenizer.end)

    def __call__(self, model: LanguageModel, params: Params, tokenizer: Tokenizer, key: PRNGKey) -> str:
        """Return the prompt and its continuation."""
        writer = Writer(model, params, tokenizer, self._sampler())
        (continuation,) = writer.write(self.prompt, key, writer.room(self.prompt, self.tokens))
        return self.prompt + continuation.text

    def _sampler(self) -> Sampler:
        return Sampler(self.temperature, self.top_k, self.top_p, self.min_p)
