# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Exported folders opened by transformers itself: every tensor is used, none is missing, and the outputs are ours."""

import inspect
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_dual_encoders import random_model
from test_encoder_hub_oracle import CASES as ENCODERS
from test_encoder_hub_oracle import model_of
from test_heads_oracle import FAMILIES as HEADS
from test_heads_oracle import model_of as headed
from test_hub_oracle import CASES as DECODERS
from test_seq2seq_hub_oracle import CASES as TRANSLATORS
from test_seq2seq_hub_oracle import NEW_TOKENS, READ, SOURCE, Loaded, marian
from test_vision_hub_oracle import SIZES
from theirs import torch, transformers

from saccade.build import build
from saccade.data.tokenizer.bpe import BPE
from saccade.data.tokenizer.byte import Byte
from saccade.data.tokenizer.mixed_word import MixedWord
from saccade.data.tokenizer.tokenizer import BERT, Tokenizer
from saccade.data.tokenizer.unigram import Unigram
from saccade.data.tokenizer.word import Word
from saccade.data.tokenizer.word_piece import WordPiece
from saccade.decode.sample import Writer
from saccade.hub import export as exporting
from saccade.hub.export import Format, Source, export
from saccade.hub.load import load
from saccade.hub.tokenizer import write_tokenizer
from saccade.model.decoder import Decoder
from saccade.model.dual_encoder import DualEncoder
from saccade.model.encoder import Encoder
from saccade.model.encoder_decoder import EncoderDecoder
from saccade.model.reread import Reread
from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.trained import open_trained
from saccade.types import LayerContext, Part

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings('ignore')]

ROOT = Path(__file__).parents[2]
TOLERANCE = 1e-4  # greatest difference of a logit
ROUNDING = 1e-5  # of a function that has several names
IDS = ('bos_token_id', 'eos_token_id', 'pad_token_id', 'decoder_start_token_id', 'forced_eos_token_id')
TEXTS = ['the model reads a token', 'another  token, after every word!', 'naïve Café 東京']
VISION = {
    f'{name}, {" ".join(changes) or "usual"}': (name, changes)
    for name in ('ViTForImageClassification', 'ViTModel', 'DeiTForImageClassification', 'DeiTModel')
    for changes in ({}, {'hidden_act': 'relu', 'layer_norm_eps': 1e-2, 'num_channels': 1})
}


def written(model: Any, folder: Path) -> Path:
    """The folder of a model of transformers."""
    model.save_pretrained(folder)
    return folder


def vision(name: str, changes: dict[str, Any]) -> Any:
    torch.manual_seed(0)
    made = getattr(transformers, name)
    return made(made.config_class(**SIZES, **changes))


LLAMA_LIKE = {
    'vocab_size': 32, 'max_position_embeddings': 64, 'hidden_size': 32, 'intermediate_size': 44,
    'num_hidden_layers': 2, 'num_attention_heads': 4, 'num_key_value_heads': 2, 'bos_token_id': 0, 'eos_token_id': 1,
}  # fmt: skip
LIKE_LLAMA = {
    'mistral, all tokens, wide heads': ('MistralForCausalLM', {'sliding_window': None, 'head_dim': 10}),
    'gemma2, unbounded': (
        'Gemma2ForCausalLM',
        {
            'head_dim': 8,
            'num_hidden_layers': 4,
            'attn_logit_softcapping': None,
            'final_logit_softcapping': None,
        },
    ),
    'phi3, all tokens': ('Phi3ForCausalLM', {'pad_token_id': 0}),
    'qwen3, biases, tied': ('Qwen3ForCausalLM', {'head_dim': 8, 'attention_bias': True, 'tie_word_embeddings': True}),
}


def like_llama(name: str, changes: dict[str, Any]) -> Any:
    torch.manual_seed(0)
    made = getattr(transformers, name)
    return made(made.config_class(**{**LLAMA_LIKE, **changes}))


MODELS = {
    **{name: lambda folder, case=case: written(like_llama(*case), folder) for name, case in LIKE_LLAMA.items()},
    **{
        name: lambda folder, case=case: written(model_of(case[0], case[1], **case[2]), folder)
        for name, case in ENCODERS.items()
    },
    **{name: lambda folder, case=case: written(case[0](**case[1]), folder) for name, case in DECODERS.items()},
    **{name: lambda folder, case=case: case[0](folder, **case[1]) and folder for name, case in TRANSLATORS.items()},
    **{
        f'{family}{ending}': lambda folder, name=f'{family}{ending}': (
            marian(folder, name, eos_token_id=13, decoder_start_token_id=3) and folder
        )
        for family in ('Bart', 'MBart')
        for ending in ('ForSequenceClassification', 'ForQuestionAnswering')
    },
    **{name: lambda folder, name=name: written(headed(name), folder) for name in HEADS},
    **{name: lambda folder, case=case: written(vision(*case), folder) for name, case in VISION.items()},
    **{
        name: lambda folder, name=name: written(random_model(name, None), folder)
        for name in ('CLIPModel', 'SiglipModel')
    },
}


SKIPS = ('roberta', 'xlm-roberta', 'bart', 'mbart', 'opt')


# Tensors without use in a classifier of images, which ours lacks.
UNUSED = {
    'CLIPForImageClassification': r'vision_model\.post_layernorm\..*',
    'SiglipForImageClassification': r'vision_model\.head\..*',
}


def used(architecture: str, names: Iterable[str]) -> set[str]:
    return {name for name in names if not re.fullmatch(UNUSED.get(architecture, ''), name)}


def opened(folder: Path, architecture: str) -> Any:
    """The model that transformers has of a folder, with all of the folder's tensors and no others."""
    made, found = getattr(transformers, architecture).from_pretrained(folder, output_loading_info=True)
    assert not used(architecture, found['missing_keys'])
    assert not found['unexpected_keys']
    assert not found['mismatched_keys']
    return made.eval()


def outputs(model: Any) -> list[Any]:
    """What a model of transformers makes of random inputs."""
    read, config = inspect.signature(model.forward).parameters, model.config
    given = {
        name: torch.tensor([[2, 3, 4, 5, 6, 13], [8, 9, 10, 11, 12, 13]])
        for name in ('input_ids', 'decoder_input_ids')
        if name in read
    }
    if 'pixel_values' in read:
        images = getattr(config, 'vision_config', config)
        shape = 2, images.num_channels, images.image_size, images.image_size
        given['pixel_values'] = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        return [output for output in model(**given, return_dict=False) if isinstance(output, torch.Tensor)]


@pytest.mark.parametrize('name', MODELS)
def test_a_folder_that_comes_in_goes_out_bit_by_bit(name, tmp_path, monkeypatch, record_property):
    (tmp_path / 'in').mkdir()
    config = json.loads((MODELS[name](tmp_path / 'in') / 'config.json').read_text())
    pretrained, (architecture,) = load(tmp_path / 'in'), config['architectures']
    # The tokens that the folder names, as if its tokenizer had them.
    ids = {key: config.get(key) for key in IDS}
    ids |= {f'text_config.{key}': config['text_config'].get(key) for key in IDS if 'text_config' in config}
    monkeypatch.setattr(exporting, 'special_ids', lambda *given: ids)
    monkeypatch.setattr(exporting, 'write_tokenizer', lambda *given: None)
    source = Source(build(pretrained.spec), pretrained.params, Byte().train(()), architecture)
    assert export(source, tmp_path / 'out', Format(config['model_type'])).config['architectures'] == [architecture]
    before, after = (opened(tmp_path / folder, architecture) for folder in ('in', 'out'))
    theirs, ours = before.state_dict(), after.state_dict()
    names = used(architecture, theirs)
    assert names == used(architecture, ours)
    for tensor in names:
        value = theirs[tensor]
        # The first rows of some tables of positions belong to padding, and ours have no such rows.
        skips = config['model_type'] in SKIPS and re.search(r'position_embeddings|embed_positions', tensor)
        assert torch.equal(value[2:], ours[tensor][2:]) if skips else torch.equal(value, ours[tensor]), tensor
    for output, expected in zip(outputs(after), outputs(before), strict=True):
        difference = float((output - expected).abs().max())
        assert difference < ROUNDING
        record_property(f'{config["model_type"]} out', difference)


EXPERIMENTS = {
    'causal_lm/quickstart': ('LlamaForCausalLM', {'model.width': 24, 'model.vocabulary': 300}),
    'causal_lm/llama_tiny': ('LlamaForCausalLM', {'model.width': 32, 'model.layers': 2}),
    'causal_lm/gpt2_124m': ('GPT2LMHeadModel', {'model.width': 24, 'model.layers': 2, 'model.vocabulary': 300}),
    'masked_lm/bert_tiny': ('BertForPreTraining', {'model.width': 24, 'model.vocabulary': 300}),
    'masked_lm/roberta_base': ('BertForMaskedLM', {'model.width': 24, 'model.layers': 2, 'model.vocabulary': 300}),
    'masked_lm/albert_base': ('AlbertForPreTraining', {'model.width': 24, 'model.vocabulary': 300}),
}


@pytest.mark.parametrize('name', EXPERIMENTS)
def test_an_experiment_of_ours_has_the_same_logits_there(name, tmp_path):
    architecture, sizes = EXPERIMENTS[name]
    fields = [f'--config.{field}={value}' for field, value in sizes.items()]
    common = ['--config.dtype=float32', '--config.model.block.mixer.heads=4']
    config = load_config(str(ROOT / f'experiments/{name}.py'), [*fields, *common])
    model = Experiment.of(config).model
    tokens = jax.random.randint(jax.random.key(0), (2, 9), 5, 90)
    context = LayerContext(jnp.tile(jnp.arange(9), (2, 1)), jnp.ones((2, 9), int))
    params = model().init(jax.random.key(1), tokens, context, False)['params']
    params = jax.tree.map(lambda leaf: leaf + 0.2 * jax.random.normal(jax.random.key(leaf.size), leaf.shape), params)
    found = export(Source(model, params), tmp_path / 'out').config
    assert found['architectures'] == [architecture]
    theirs = getattr(transformers, architecture).from_pretrained(tmp_path / 'out').eval()
    with torch.no_grad():
        output = theirs(torch.tensor(np.asarray(tokens)))
    ours = model().apply({'params': params}, tokens, context, False)
    wanted = ours['masked'] if isinstance(ours, dict) else ours
    logits = output.prediction_logits if hasattr(output, 'prediction_logits') else output.logits
    assert np.asarray(wanted).std() > 100 * TOLERANCE
    np.testing.assert_allclose(logits.numpy(), wanted, atol=TOLERANCE)


def test_a_translation_model_of_ours_has_the_same_logits_there(tmp_path):
    """Norms before the branches, no biases of attention, and sinusoids in the order of the paper: Pegasus."""
    sizes = 'encoder.width=24', 'decoder.width=24', 'encoder.layers=2', 'decoder.layers=2', 'encoder.vocabulary=90'
    config = load_config(
        str(ROOT / 'experiments/translation/multi30k.py'),
        [*(f'--config.model.{size}' for size in sizes), '--config.data.path=x', '--config.dtype=float32'],
    )
    model = Experiment.of(config).model
    source, target = jax.random.randint(jax.random.key(0), (2, 2, 9), 5, 90)
    context = LayerContext(jnp.tile(jnp.arange(9), (2, 1)), jnp.ones((2, 9), int))
    params = model().init(jax.random.key(1), source, context, target, context, False)['params']
    params = jax.tree.map(lambda leaf: leaf + 0.2 * jax.random.normal(jax.random.key(leaf.size), leaf.shape), params)
    assert export(Source(model, params), tmp_path / 'out').config['model_type'] == 'pegasus'
    ours = model().apply({'params': params}, source, context, target, context, False)
    theirs = opened(tmp_path / 'out', 'PegasusForConditionalGeneration')
    with torch.no_grad():
        logits = theirs(torch.tensor(np.asarray(source)), decoder_input_ids=torch.tensor(np.asarray(target))).logits
    assert np.asarray(ours).std() > 100 * TOLERANCE
    np.testing.assert_allclose(logits.numpy(), ours, atol=TOLERANCE)


@pytest.mark.parametrize('name', TRANSLATORS)
def test_an_encoder_decoder_without_a_tokenizer_generates_there(name, tmp_path):
    (tmp_path / 'in').mkdir()
    make, settings = TRANSLATORS[name]
    make(tmp_path / 'in', **settings)
    pretrained = load(tmp_path / 'in')
    config = export(Source(build(pretrained.spec), pretrained.params), tmp_path / 'out').config
    theirs = opened(tmp_path / 'out', *config['architectures'])
    found = theirs.generate(torch.tensor(SOURCE), max_new_tokens=NEW_TOKENS, do_sample=False, num_beams=1)
    start = config['decoder_start_token_id']
    assert start in range(config['vocab_size'])
    np.testing.assert_array_equal(found, Loaded(tmp_path / 'out').greedy(np.ones_like(READ), start))


TRAINERS = {
    'bytes': Byte(), 'bpe': BPE(vocabulary=300), 'words': Word(vocabulary=20), 'word pieces': WordPiece(vocabulary=60),
    'unigram': Unigram(vocabulary=40), 'words and characters': MixedWord(vocabulary=60),
}  # fmt: skip


def tokenizer_of(trainer: Any, **given: Any) -> Tokenizer:
    return type(trainer)(**{**trainer.__dict__, **given}).train(TEXTS * 5)


@pytest.mark.parametrize('name', TRAINERS)
@pytest.mark.parametrize('use', [Decoder, Encoder, EncoderDecoder, DualEncoder, Reread])
def test_a_tokenizer_of_ours_gives_the_same_ids_there(name, use, tmp_path):
    """With the special tokens that the data of such a model put around a text."""
    specials = {'end': None, 'specials': BERT} if use in (Encoder, DualEncoder, Reread) else {}
    tokenizer = tokenizer_of(TRAINERS[name], **specials)
    write_tokenizer(tmp_path, tokenizer, Part(use), {'type_vocab_size': 2})
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    for text in TEXTS[:2]:
        ids = tokenizer.encode(text)
        framed = {
            Decoder: lambda ids: ids,
            Encoder: lambda ids: [tokenizer.special('[CLS]'), *ids, tokenizer.special('[SEP]')],
            Reread: lambda ids: [tokenizer.special('[CLS]'), *ids, tokenizer.special('[SEP]')],
            DualEncoder: lambda ids: [tokenizer.special('[CLS]'), *ids, tokenizer.special('[SEP]')],
            EncoderDecoder: lambda ids: [*ids, tokenizer.end],
        }[use](ids)
        assert theirs(text)['input_ids'] == framed
        assert theirs.decode(ids) == tokenizer.decode(ids)


def test_a_quickstart_continues_a_prompt_as_in_saccade(tmp_path):
    config = load_config(
        str(ROOT / 'experiments/causal_lm/quickstart.py'),
        [f'--config.model.{size}' for size in ('width=24', 'layers=2', 'block.mixer.heads=2', 'vocabulary=300')],
    )
    tokenizer, model = tokenizer_of(BPE(vocabulary=300)), Experiment.of(config).model
    tokens = jnp.zeros((1, 4), int)
    params = model().init(jax.random.key(0), tokens, LayerContext(jnp.arange(4)[None]), False)['params']
    params = jax.tree.map(lambda leaf: leaf + 0.3 * jax.random.normal(jax.random.key(leaf.size), leaf.shape), params)
    export(Source(model, params, tokenizer), tmp_path / 'out')
    pipe = transformers.pipeline('text-generation', str(tmp_path / 'out'))
    prompt = 'the model'
    (theirs,) = pipe(prompt, do_sample=False, max_new_tokens=12, return_full_text=False)
    trained = open_trained(init_from=str(tmp_path / 'out'))
    generation = trained.generation
    writer = Writer(trained.model, trained.params, trained.tokenizer, generation.sampler(temperature=0.0), generation)
    (ours,) = writer.write(prompt, jax.random.key(0), 12)
    assert theirs['generated_text'] == ours.text
