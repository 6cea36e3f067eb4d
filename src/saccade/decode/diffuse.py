# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sampling from a masked diffusion model: [MASK]s after a prompt become tokens, in any order, over a number of steps.

A step from time t to s makes each [MASK] a token with probability (t - s) / t, drawn from the prediction; other tokens
stay (Sahoo et al. 2024, section 3.2.2 and appendix B, https://arxiv.org/abs/2406.07524). Predictions are cached: since
the model does not read the time, they change only where a token did, so many steps need few forward passes.
"""

from dataclasses import dataclass, field
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.decode.fill import Filler
from saccade.decode.sample import Continuation
from saccade.decode.sampling import Sampler
from saccade.types import Count, EncoderModel, LayerContext, Model, Params, PRNGKey, UserError

__all__ = ['Diffused']


@dataclass(frozen=True, eq=False)
class Diffuser(Filler):
    """Text generation by a masked diffusion model.

    Attributes: steps, of equal length; sampler of each token.

    Raises:
        UserError: the model has no head for masked tokens, or its tokenizer has no [MASK].
    """

    steps: int = 64
    sampler: Sampler = field(default_factory=Sampler)

    def write(
        self, prompt: str, key: PRNGKey, max_tokens: int | None = None, samples: int = 1
    ) -> tuple[list[Continuation], int]:
        """Continue a text; return `samples` continuations, and the number of forward passes.

        Args:
            max_tokens: number of new tokens; None for all that fit the context.

        Raises:
            UserError: the tokens do not fit the context.
        """
        ids, frame = self.tokenizer.encode(prompt), self._frame
        count = self.room(prompt) if max_tokens is None else max_tokens
        self.require_room(prompt, count)
        row = frame.row([*ids, *count * [self.mask]])
        (begin,) = frame.starts([])
        at = begin + len(ids) + np.arange(count)
        hidden = jnp.zeros(row['tokens'].shape, bool).at[at].set(True)
        rows = {name: jnp.tile(each, (samples, 1)) for name, each in row.items()}
        never = jnp.arange(self.model.vocabulary) >= self.tokenizer.size
        never = never.at[jnp.array([*self.tokenizer.specials.values()])].set(True)
        tokens, passes = denoised(
            self.model, self.sampler, self.steps, self.params, rows, hidden, jnp.int32(self.mask), never, key
        )
        before, new = self.tokenizer.decode(ids), np.asarray(tokens)[:, at].tolist()
        texts = (self.tokenizer.decode([*ids, *each]).removeprefix(before) for each in new)
        return [Continuation(text, each) for text, each in zip(texts, new, strict=True)], int(passes)

    def require_room(self, prompt: str, count: int) -> None:
        """Check that a number of new tokens fits the context after a prompt.

        Raises:
            UserError: they do not, or the tokenizer cannot encode the prompt.
        """
        room = self.room(prompt)
        if not 1 <= count <= room:
            raise UserError(
                f'{self._frame.room() - room} tokens of the prompt and {max(count, 1)} new ones do not fit the '
                f'context, which has room for {self._frame.room()}'
            )

    def room(self, prompt: str) -> int:
        """Return the number of tokens that fit the context after a prompt."""
        return self._frame.room() - len(self.tokenizer.encode(prompt))


@partial(jax.jit, static_argnums=(0, 1, 2))
def denoised(
    model: EncoderModel,
    sampler: Sampler,
    steps: int,
    params: Params,
    rows: dict[str, Int[Array, 'B T']],
    hidden: Bool[Array, 'T'],
    mask: Int[Array, ''],
    never: Bool[Array, 'V'],
    key: PRNGKey,
) -> tuple[Int[Array, 'B T'], Int[Array, '']]:
    """Return the rows' tokens after all steps, and the number of forward passes.

    Args:
        rows: tokens, segments, positions and types.
        hidden: places to fill, which have [MASK] in every row.
        mask: id of [MASK].
        never: tokens that are not sampled.
    """
    context = LayerContext(rows['positions'], rows['segments'], types=rows['types'])

    def predict(tokens: Array) -> Array:
        logits = model.apply({'params': params}, tokens, context, False)['masked']
        return jnp.where(never, -jnp.inf, logits.astype(jnp.float32))

    def step(number: Array, carry: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        tokens, logits, changed, passes = carry
        logits = jax.lax.cond(changed, predict, lambda _: logits, tokens)
        of_token, of_time = jax.random.split(jax.random.fold_in(key, number))
        stays = (steps - number - 1) / (steps - number)  # s / t
        shown = hidden & (tokens == mask) & (jax.random.uniform(of_time, tokens.shape) >= stays)
        tokens = jnp.where(shown, sampler(logits, of_token), tokens)
        return tokens, logits, shown.any() & (hidden & (tokens == mask)).any(), passes + changed

    tokens = rows['tokens']
    logits = jnp.zeros(jax.eval_shape(predict, tokens).shape)
    tokens, _, _, passes = jax.lax.fori_loop(0, steps, step, (tokens, logits, jnp.array(True), jnp.int32(0)))
    return tokens, passes


@dataclass(frozen=True)
class Diffused:
    """Sample of a masked diffusion model, which a run logs at each evaluation.

    Attributes: prompt, text to continue; tokens, number of new tokens, fewer if the context is full; steps of the
    sampler.
    """

    prompt: str = ''
    tokens: Count = 64
    steps: Count = 64

    def require(self, model: Model, tokenizer: Tokenizer) -> None:
        """Check that the model can continue the prompt.

        Raises:
            UserError: the model or the tokenizer is not one of masked tokens, or as for `Diffuser.require_room`.
        """
        Diffuser(model, {}, tokenizer, self.steps).require_room(self.prompt, 1)

    def __call__(self, model: EncoderModel, params: Params, tokenizer: Tokenizer, key: PRNGKey) -> str:
        """Return the prompt and its continuation."""
        diffuser = Diffuser(model, params, tokenizer, self.steps)
        (continuation,), _ = diffuser.write(self.prompt, key, max(1, min(self.tokens, diffuser.room(self.prompt))))
        return self.prompt + continuation.text
