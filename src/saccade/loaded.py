# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Trained models in Python: `saccade.load('runs/a')` returns a model that generates, embeds and predicts.

model = saccade.load('runs/a')
model.generate('def ', max_tokens=50)
model.embed('Return the value.').vectors          [T D], one per token
model.predict('A film like no other.').label
"""

from dataclasses import dataclass
from typing import Any

import jax

from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.decode.embed import Embedded, Embedder
from saccade.decode.generation import Generation
from saccade.decode.inputs import placed_records
from saccade.decode.predict import Output
from saccade.decode.sample import Writer
from saccade.train.predicting import open_predictor
from saccade.train.trained import Trained, is_hub, open_trained
from saccade.types import Params, UserError


@dataclass(frozen=True)
class Loaded:
    """Trained model in Python.

    Attributes: path of the run or of the Hugging Face directory; which checkpoint; trained, the opened model.
    """

    path: str
    which: str
    trained: Trained

    @property
    def model(self) -> Any:
        """The Linen module: `model.apply({'params': params}, ...)`."""
        return self.trained.model

    @property
    def params(self) -> Params:
        """Parameters, plain nested dicts of arrays."""
        return self.trained.params

    @property
    def config(self) -> dict[str, Any]:
        """Resolved config of the run; for a Hugging Face directory only the model's."""
        return self.trained.config

    @property
    def tokenizer(self) -> Tokenizer:
        """Tokenizer.

        Raises:
            UserError: the model was not trained on text.
        """
        return self.trained.tokenizer

    def generate(
        self,
        prompt: str = '',
        max_tokens: int | None = None,
        seed: int = 0,
        temperature: float | None = None,
        **sampling: Any,
    ) -> str:
        """Return the prompt and its continuation.

        Args:
            max_tokens: maximum number of new tokens; None for a Hugging Face folder's setting, or else up to 200 within
                the context.
            temperature: 0 is greedy; None for a Hugging Face folder's setting, or else 0.8.
            sampling: top_k, top_p and min_p, as in `decode.sampling:Sampler`; defaults are the folder's.

        Raises:
            UserError: the model is not a language model, or the tokens do not fit the context.
        """
        generation = self.trained.generation or Generation.of_run(self.tokenizer)
        generation.warn()
        given = sampling if temperature is None else {'temperature': temperature, **sampling}
        writer = Writer(self.model, self.params, self.tokenizer, generation.sampler(**given), generation)
        (continuation,) = writer.write(prompt, jax.random.key(seed), max_tokens)
        return prompt + continuation.text

    def embed(self, text: str, layer: int = -1) -> Embedded:
        """Return the hidden states of a text's tokens, from the last layer or another.

        Raises:
            UserError: the text has no tokens, or the layer does not exist.
        """
        return Embedder(self.model, self.params, self.tokenizer, layer).embed(text)

    def predict(self, text: str, **more: str) -> Output:
        """Return the prediction of the run's task for one example.

        Args:
            text: value of the data's first input.
            more: values of its other inputs by name, as `pair` or `context`.

        Raises:
            UserError: the model is not a run, or its task makes no predictions.
        """
        if is_hub(self.path):
            raise UserError(f'{self.path}: a Hugging Face directory has no task; fine-tune it, and load the run')
        predictor = open_predictor(self.path, self.which, rows=1)
        first = next(iter(predictor.data.inputs))
        given = {name: [value] for name, value in {first: text, **more}.items()}
        ((_, output),) = predictor.predict(placed_records(predictor.data, given, None))
        return output


def load(path: str, which: str = 'latest', dtype: str = 'float32') -> Loaded:
    """Open a run or a local Hugging Face directory.

    Args:
        which: 'latest' or 'best' checkpoint of a run, or 'average', the averaged parameters of its latest.
        dtype: of the parameters, and so of the computation: 'float32' or 'bfloat16'.

    Raises:
        UserError: the path is neither, or cannot be used.
    """
    return Loaded(path, which, open_trained(init_from=path, which=which, dtype=dtype))
