# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Trained models in Python: `saccade.load('runs/a')` gives one to generate text with, to embed and to predict.

model = saccade.load('runs/a')
model.generate('def ', max_tokens=50)
model.embed('Return the value.').vectors          [T D], of each token
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

    Attributes: path of the run or of the Hugging Face directory; which checkpoint; trained, what was opened.
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
        """Its parameters, plain nested dicts of arrays."""
        return self.trained.params

    @property
    def config(self) -> dict[str, Any]:
        """The resolved config of the run; of a Hugging Face directory, that of the model alone."""
        return self.trained.config

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer.

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
            max_tokens: new tokens at most; None: as many as a Hugging Face folder says, else as the context has room
                for, up to 200.
            temperature: 0 is greedy; None: as a Hugging Face folder says, else 0.8.
            sampling: top_k, top_p and min_p, as `decode.sampling:Sampler` takes them; else as the folder says.

        Raises:
            UserError: the model is no language model, or the tokens do not fit the context.
        """
        generation = self.trained.generation or Generation.of_run(self.tokenizer)
        generation.warn()
        given = sampling if temperature is None else {'temperature': temperature, **sampling}
        writer = Writer(self.model, self.params, self.tokenizer, generation.sampler(**given), generation)
        (continuation,) = writer.write(prompt, jax.random.key(seed), max_tokens)
        return prompt + continuation.text

    def embed(self, text: str, layer: int = -1) -> Embedded:
        """Return the hidden states of a text's tokens; those of the last layer, or of another.

        Raises:
            UserError: the text has no token, or the model no such layer.
        """
        return Embedder(self.model, self.params, self.tokenizer, layer).embed(text)

    def predict(self, text: str, **more: str) -> Output:
        """Return what the task of the run predicts of one example.

        Args:
            text: of the data's first input.
            more: its other inputs by name, as `pair` or `context`.

        Raises:
            UserError: the model is no run, or was trained for something else.
        """
        if is_hub(self.path):
            raise UserError(f'{self.path}: a Hugging Face directory has no task; fine-tune it, and load the run')
        predictor = open_predictor(self.path, self.which, rows=1)
        first = next(iter(predictor.data.inputs))
        given = {name: [value] for name, value in {first: text, **more}.items()}
        ((_, output),) = predictor.predict(placed_records(predictor.data, given, None))
        return output


def load(path: str, which: str = 'latest') -> Loaded:
    """Open a run or a local Hugging Face directory.

    Args:
        which: 'latest' or 'best' checkpoint of a run, or the 'average' of its last.

    Raises:
        UserError: there is neither, or it cannot be used.
    """
    return Loaded(path, which, open_trained(init_from=path, which=which))
