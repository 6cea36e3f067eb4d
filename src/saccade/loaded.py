# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Trained models in Python: `saccade.load('runs/a')` returns a model that generates, embeds and predicts.

model = saccade.load('runs/a')
model(ids)                                        logits [B T V] of token ids [B T]
model.generate('def ', max_tokens=50)
model.translate('The house is small.')            of an encoder-decoder
model.fill('The [MASK] sat.')                     of a masked language model, or a denoising encoder-decoder
model.embed('Return the value.').vectors          [T D], one per token
model.encode(['A film like no other.'])           [1 D], one per text
model.predict('A film like no other.').label
model.run_with_cache('The cat sat', names='layers.*.mixer.pattern')
model.run_with_patch('The cat sat', {'layers.3.mixer.heads.2': 0.0})
model.attention('The cat sat').show()
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from saccade.data.image.rows import ImageFiles
from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.decode.batches import COMPARED
from saccade.decode.embed import Embedded, Embedder
from saccade.decode.fill import Filler
from saccade.decode.generation import Generation
from saccade.decode.inputs import placed_records
from saccade.decode.predict import Output
from saccade.decode.sample import Writer
from saccade.decode.zero_shot import ZeroShot
from saccade.inside.activations import Activations, Inside
from saccade.inside.attention import maps_of
from saccade.inside.interventions import edits_of
from saccade.inside.maps import Explored
from saccade.inside.reading import Reading, read_image, read_text
from saccade.paths import expanded
from saccade.train.predictive_folder import INPUTS, predictive_of
from saccade.train.searching import sentence_encoder
from saccade.train.trained import Trained, open_trained
from saccade.train.translating import LENGTH_PENALTY, open_gap_filler, translator_of
from saccade.train.zero_shot import open_zero_shot
from saccade.types import ImageTextModel, Params, Seq2Seq, UserError


@dataclass(frozen=True, eq=False)
class Loaded:
    """Trained model in Python.

    Attributes: path of the run or of the Hugging Face directory; which checkpoint; trained, the opened model; dtype of
    its parameters.
    """

    path: str
    which: str
    trained: Trained = field(repr=False)  # thousands of lines of weights
    dtype: str = 'float32'

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

    def __call__(self, *inputs: Any, **more: Any) -> Any:
        """Return the model's output for its own inputs, such as the logits [B T V] of token ids [B T]."""
        return self.model.apply({'params': self.params}, *inputs, **more)

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
        _require_text(prompt=prompt)
        generation = self.trained.generation or Generation.of_run(self.tokenizer)
        generation.warn()
        given = sampling if temperature is None else {'temperature': temperature, **sampling}
        writer = Writer(self.model, self.params, self.tokenizer, generation.sampler(**given), generation)
        (continuation,) = writer.write(prompt, jax.random.key(seed), max_tokens)
        return prompt + continuation.text

    def translate(self, text: str, beams: int = 0, alpha: float = LENGTH_PENALTY, start: str | None = None) -> str:
        """Return the text that an encoder-decoder writes for a source, such as its translation.

        Args:
            beams: of beam search; 1 is greedy, 0 uses the search of the run's evaluation, or else greedy.
            alpha: exponent of the length penalty of several beams.
            start: for a Hugging Face directory, the special token that starts a target; None: as the directory says.

        Raises:
            UserError: the model is not a sequence-to-sequence model, or the text is too long.
        """
        _require_text(text=text)
        (found,) = translator_of(self.trained, beams, alpha, start).translate([text])
        return found.text

    def fill(self, text: str, turns: int = 1, mode: str | None = None) -> str:
        """Return a text with each [MASK] filled in; a denoising encoder-decoder writes any number of tokens for one.

        Args:
            turns: of mask-predict, by a masked language model.
            mode: special token before the text, for a denoising model with several modes.

        Raises:
            UserError: the model fills no masks, the text has none or does not fit, or an argument has no effect on this
                model.
        """
        _require_text(text=text)
        if isinstance(self.model, Seq2Seq):
            if turns != 1:
                raise UserError(f'turns={turns} has no effect on a sequence-to-sequence model')
            return open_gap_filler(self.trained, mode).fill(text).text
        if mode is not None:
            raise UserError(f'mode={mode!r} has no effect on a masked language model')
        return Filler(self.model, self.params, self.tokenizer).filled(text, turns)

    def embed(self, text: str, layer: int | None = None) -> Embedded:
        """Return the hidden states of a text's tokens.

        Args:
            layer: 0 for the embeddings, l for the output of layer l, -1 for that of the last; None too, but in a
                Hugging Face directory after the final norm, as `last_hidden_state` in transformers.

        Raises:
            UserError: the text has no tokens, or the layer does not exist.
        """
        _require_text(text=text)
        layer = -1 if layer is None and self.trained.folder is None else layer
        return Embedder(self.model, self.params, self.tokenizer, layer).embed(text)

    def encode(self, texts: Sequence[str]) -> Float[np.ndarray, '_ D']:
        """Return one vector for each text, as `launch/search.py` and `launch/zero_shot.py` compare.

        It is that of the head for sentences, of the pooling of a directory of sentence-transformers, or the mean of the
        last layer; of a model of images and texts, that of its text encoder.

        Raises:
            UserError: the model reads no texts, or one text is given instead of several.
        """
        if isinstance(texts, str):
            raise UserError('texts: must be several, as a list; for one text give [text]')
        if isinstance(self.model, ImageTextModel):
            return self._zero_shot().texts(list(texts))
        return sentence_encoder(self.trained).encode(list(texts))

    def encode_images(self, paths: Sequence[str]) -> Float[np.ndarray, '_ D']:
        """Return one unit vector for each image file, to be compared with the vectors of `encode`.

        Raises:
            UserError: the model does not compare images with texts, or a file is missing or no image.
        """
        return self._zero_shot().images(ImageFiles([expanded(path) for path in paths]))

    def _zero_shot(self) -> ZeroShot:
        return open_zero_shot(self.path, self.which, COMPARED, self.dtype)

    def predict(self, text: str, **more: str) -> Output:
        """Return the prediction for one example: a class, a number, tags or an answer.

        Args:
            text: value of the data's first input.
            more: values of its other inputs by name, as `pair` or `context`.

        Raises:
            UserError: the model makes no such predictions, or reads other inputs.
        """
        _require_text(text=text, **more)
        predictor = predictive_of(None, self.path, INPUTS[: 1 + ('pair' in more)]).open(self.which, 1)
        first = next(iter(predictor.data.inputs))
        given = {name: [value] for name, value in {first: text, **more}.items()}
        ((_, output),) = predictor.predict(placed_records(predictor.data, given, None))
        return output

    def token(self, word: str) -> int:
        """Return the id of a token, given by its spelling in the vocabulary or by a text that encodes to it.

        Raises:
            UserError: it is not one known token.
        """
        _require_text(word=word)
        return Embedder(self.model, self.params, self.tokenizer).single(word)

    def reading(self, text: str | None = None, target: str | None = None, image: str | None = None) -> Reading:
        """Return the model's inputs for a text (and what a sequence-to-sequence model writes) or an image.

        Raises:
            UserError: not exactly one of text and image is given, or the model cannot read it.
        """
        if (text is None) == (image is None):
            raise UserError('give either a text or an image')
        given = {'text': text, 'target': target, 'image': image}
        _require_text(**{name: value for name, value in given.items() if value is not None})
        return read_text(self.trained, text, target) if image is None else read_image(self.trained, image, self.path)

    def inside(self, reading: Reading) -> Inside:
        """Return the model on given inputs, to look at and change its activations."""
        return Inside(self.model, self.params, reading.arguments, reading.method)

    def attention(self, text: str | None = None, target: str | None = None, image: str | None = None) -> Explored:
        """Return the attention of every layer on a text or an image: `.show()`, or `.save(Path('attention.html'))`.

        Raises:
            UserError: no layer has attention, or the model cannot read the inputs.
        """
        reading = self.reading(text, target, image)
        of_image = f'image {image} of the validation data' if image and image.isdigit() else image
        shown = ' \N{RIGHTWARDS ARROW} '.join(filter(None, (text or of_image, target)))
        maps = maps_of(self.inside(reading), reading)
        return Explored(shown, self.path, self.trained.step, maps, reading.pixels)

    def run_with_cache(
        self, text: str | None = None, names: str | Iterable[str] = '*', **inputs: str
    ) -> tuple[Any, Activations]:
        """Return the model's output for a text, and its activations by name; see `inside.activations`.

        Args:
            names: names or patterns of the activations, as 'layers.*.mixer.pattern'.
            inputs: target or image, as for `reading`.

        Raises:
            UserError: a name is unknown, the activations exceed the memory, or the model cannot read the inputs.
        """
        return self.inside(self.reading(text, **inputs)).run(names)

    def run_with_patch(
        self, text: str | None, changes: Mapping[str, Any], names: str | Iterable[str] = (), **inputs: str
    ) -> tuple[Any, Activations]:
        """Return the output for a text with changed activations, and the activations of these names.

        Args:
            changes: by name, a number or array that takes the activation's place, or an `inside.interventions:Change`.

        Raises:
            UserError: as `run_with_cache`, or an activation cannot be changed.
        """
        inside = self.inside(self.reading(text, **inputs))
        return inside.run(names, edits_of(inside.places, changes))


def _require_text(**given: Any) -> None:
    for name, value in given.items():
        if not isinstance(value, str):
            raise UserError(f'{name}: must be one str, not {type(value).__name__}; for several texts, call it for each')


def load(path: str, which: str = 'latest', dtype: str = 'float32') -> Loaded:
    """Open a run or a local Hugging Face directory.

    Args:
        which: 'latest' or 'best' checkpoint of a run, or 'average', the averaged parameters of its latest.
        dtype: of the parameters, and so of the computation: 'float32' or 'bfloat16'.

    Raises:
        UserError: the path is neither, or cannot be used.
    """
    return Loaded(path, which, open_trained(init_from=path, which=which, dtype=dtype), dtype)
