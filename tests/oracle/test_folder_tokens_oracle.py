# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Folders against transformers itself: ids of texts, greedy texts and translations, and filled masks.

Weights are drawn so that the two highest logits differ by more than `LEAST_GAP` at each step.
"""

import inspect
import itertools
import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import jax
import numpy as np
import published
import pytest
import tokenizers
from theirs import torch, transformers

import saccade
from saccade.data.rows.frame import Frame
from saccade.data.tokenizer.file import find_tokenizer, open_tokenizer
from saccade.data.tokenizer.settings import TokenizerSettings
from saccade.decode.beam import Beam
from saccade.decode.fill import Filler
from saccade.decode.generation import Generation
from saccade.decode.sample import Writer
from saccade.train.trained import open_trained
from saccade.train.translating import TranslationOptions, open_translator

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings('ignore')]

LEAST_GAP = 1e-3
NEW = 12
PROMPT = 'The cat sat on'
BATTERY = [
    '', 'a', PROMPT, ' two  spaces\ttab\nline ', 'naïve Café Größe', '東京都 はとても', 'मैं ठीक हूँ। สวัสดี', '🙂 z̈',
    '\u2028x\u0085y\x0bz\r\n', 'ﬁ Ⅷ ①', 'İSTANBUL ẞ', '“quoted”, isn\u2019t it?',
]  # fmt: skip
SEEDS = {'gpt2': 1, 'llama': 1, 't5': 48, 'marian': 8}
TRANSLATORS = ['t5', 'marian']
MASKED = {'bert': 'bert', 'roberta': 'roberta', 'albert': 'albert', 'distilbert': 'bert', 'electra': 'cased bert'}


@pytest.fixture(scope='module', params=published.TOKENIZERS)
def tokenizer_folder(request, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp(request.param.replace(' ', '_'))
    published.TOKENIZERS[request.param]().save_pretrained(folder)
    return folder


def test_texts_have_their_ids_and_their_frames(tokenizer_folder):
    theirs = transformers.AutoTokenizer.from_pretrained(tokenizer_folder)
    ours = open_tokenizer(find_tokenizer(tokenizer_folder))
    for text in BATTERY:
        ids = ours.encode(text)
        assert ids == theirs(text, add_special_tokens=False)['input_ids'], text
        assert ours.framed(ids) == theirs(text)['input_ids'], text
        assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=True), text


def test_rows_of_one_text_and_of_two(tokenizer_folder):
    theirs = transformers.AutoTokenizer.from_pretrained(tokenizer_folder)
    ours = open_tokenizer(find_tokenizer(tokenizer_folder))
    frame = Frame.of(ours, 256)
    singles, pairs = [(text,) for text in BATTERY], itertools.pairwise(text for text in BATTERY if text)
    for texts in (*singles, *pairs):
        read, row = theirs(*texts, return_token_type_ids=True), frame.row(*map(ours.encode, texts))
        used = row['segments'] > 0
        assert row['tokens'][used].tolist() == read['input_ids'], texts
        assert row['types'][used].tolist() == read['token_type_ids'], texts


def test_a_text_that_spells_special_tokens_has_none_of_them(tokenizer_folder):
    ours = open_tokenizer(find_tokenizer(tokenizer_folder))
    theirs = transformers.AutoTokenizer.from_pretrained(tokenizer_folder, split_special_tokens=True)
    special = set(ours.specials.values()) - ours.unknown
    unigram = json.loads(ours.backend.to_str())['model']['type'] == 'Unigram'
    for name in ours.specials:
        for text in (name, f'the {name} cat', f'a{name}b', f'{name}{name} {name.upper()} {name.lower()}'):
            ids = ours.encode(text)
            assert special.isdisjoint(ids), text
            # The library's own Unigram takes the name for a piece, which SentencePiece does not.
            assert unigram or ids == theirs(text, add_special_tokens=False)['input_ids'], text
            assert not unigram or len(ids) > 1


SPACED = "The cat , it 's mine . do n't ! we 've ' x ' ? they 're I 'm"


@pytest.mark.parametrize(
    'settings', [{}, {'clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output': True}]
)
def test_spaces_before_punctuation_are_cleaned_up(tokenizer_folder, tmp_path, settings):
    shutil.copytree(tokenizer_folder, tmp_path, dirs_exist_ok=True)
    published.change(tmp_path / 'tokenizer_config.json', clean_up_tokenization_spaces=True, **settings)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    ours = open_tokenizer(find_tokenizer(tmp_path))
    for text in (SPACED, *BATTERY):
        ids = ours.encode(text)
        assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=True), text


def test_each_parameter_of_a_tokenizer_class_is_obeyed_required_or_harmless(tokenizer_folder, caplog):
    theirs = transformers.AutoTokenizer.from_pretrained(tokenizer_folder)
    ours = TokenizerSettings.next_to(find_tokenizer(tokenizer_folder))
    bases = [base.__init__ for base in type(theirs).__mro__ if '__init__' in vars(base)]
    names = {name for base in bases for name in inspect.signature(base).parameters}
    inner = {'self', 'args', 'kwargs', '_spm_precompiled_charsmap'}  # the last is written to tokenizer.json alone
    for name in names - inner:
        ours.config.setdefault(name, None)
    ours.obeyed_by(tokenizers.Tokenizer.from_file(str(tokenizer_folder / 'tokenizer.json')))
    assert not caplog.records


OLDER = {
    'gpt2': ('gpt2', {}),
    'roberta': ('roberta', {}),
    'a space before': ('gpt2', {'add_prefix_space': True}),
    'opt': ('opt', {'add_bos_token': True}),
    'opt, with an end': ('opt', {'add_bos_token': True, 'add_eos_token': True}),
    'opt, with only an end': ('opt', {'add_bos_token': False, 'add_eos_token': True}),
    'opt, with neither': ('opt', {'add_bos_token': False}),
    'gpt2 with the tokens of a row': ('gpt2', {'cls_token': '<|endoftext|>', 'sep_token': '<|endoftext|>'}),
    'roberta with a start': ('roberta', {'add_bos_token': True}),
}


@pytest.mark.parametrize('case', OLDER)
def test_a_vocabulary_and_its_merges(tmp_path, case):
    name, settings = OLDER[case]
    published.TOKENIZERS[name]().save_pretrained(tmp_path)
    backend = json.loads((tmp_path / 'tokenizer.json').read_text())['model']
    (tmp_path / 'vocab.json').write_text(json.dumps(backend['vocab']))
    (tmp_path / 'merges.txt').write_text('\n'.join(['#version: 0.2', *map(' '.join, backend['merges'])]) + '\n')
    (tmp_path / 'tokenizer.json').unlink()
    published.change(tmp_path / 'tokenizer_config.json', **settings)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    ours = open_tokenizer(find_tokenizer(tmp_path))
    for text in BATTERY:
        assert ours.framed(ours.encode(text)) == theirs(text)['input_ids'], text
    row = Frame.of(ours, 8).row(ours.encode('a'), ours.encode('a'))
    assert row['tokens'][row['segments'] > 0].tolist() == theirs('a', 'a')['input_ids']
    assert (ours.end, ours.role('mask_token')) == (theirs.eos_token_id, theirs.mask_token_id)


ADDED = {
    'a token of text': {'added_tokens_decoder': {'{next}': {'content': 'sat o', 'special': False}}},
    'a special token': {'additional_special_tokens': ['<turn>']},
    'a role': {'mask_token': '<hole>'},
}


@pytest.mark.parametrize('case', ADDED)
@pytest.mark.parametrize('name', ['gpt2', 'llama', 'bert', 'albert'])  # transformers numbers those of a T5 anew
def test_added_tokens(tmp_path, name, case):
    made = published.TOKENIZERS[name]()
    made.save_pretrained(tmp_path)
    settings = json.loads(json.dumps(ADDED[case]).replace('{next}', str(len(made))))
    published.change(tmp_path / 'tokenizer_config.json', **settings)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    ours = open_tokenizer(find_tokenizer(tmp_path))
    assert (ours.size, ours.backend.get_vocab()) == (len(theirs), theirs.get_vocab())
    for text in BATTERY:
        assert ours.encode(text) == theirs(text, add_special_tokens=False)['input_ids'], text


BERT_SETTINGS = {
    'accents': {'strip_accents': False},
    'no accents, cased': {'strip_accents': True, 'do_lower_case': False},
    'characters together': {'tokenize_chinese_chars': False},
}


@pytest.mark.parametrize('case', BERT_SETTINGS)
@pytest.mark.parametrize('file', ['tokenizer.json', 'vocab.txt'])
def test_settings_of_bert(tmp_path, case, file):
    made = published.bert()
    made.save_pretrained(tmp_path)
    if file == 'vocab.txt':
        lines = sorted(made.get_vocab(), key=made.get_vocab().__getitem__)
        (tmp_path / file).write_text('\n'.join(lines) + '\n')
        (tmp_path / 'tokenizer.json').unlink()
    published.change(tmp_path / 'tokenizer_config.json', strip_accents=None)
    published.change(tmp_path / 'tokenizer_config.json', **BERT_SETTINGS[case])
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    ours = open_tokenizer(find_tokenizer(tmp_path))
    usual = published.bert()
    assert any(ours.encode(text) != usual(text, add_special_tokens=False)['input_ids'] for text in BATTERY)
    for text in BATTERY:
        assert ours.encode(text) == theirs(text, add_special_tokens=False)['input_ids'], text


class CloseError(Exception):
    """Two logits are so close that rounding may change their order: the weights are to be drawn again."""


def greedy(folder: Path, texts: list[str]) -> list[list[int]]:
    """New tokens by transformers, without the end token.

    Raises:
        CloseError: a token was not chosen by more than LEAST_GAP.
    """
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    config = transformers.AutoConfig.from_pretrained(folder)
    kind = transformers.AutoModelForSeq2SeqLM if config.is_encoder_decoder else transformers.AutoModelForCausalLM
    model, found = kind.from_pretrained(folder), []
    for text in texts:
        read = tokenizer(text, return_tensors='pt', return_token_type_ids=False)
        limit = {} if model.generation_config.max_length else {'max_new_tokens': NEW}
        written = model.generate(
            **read, **limit, do_sample=False, num_beams=1, output_scores=True, return_dict_in_generate=True
        )
        for scores in written.scores:
            first, second = scores[0].topk(2).values.tolist()
            if first - second <= LEAST_GAP:
                raise CloseError
        new = written.sequences[0, -len(written.scores) :].tolist()
        ends = model.generation_config.eos_token_id
        ends = ends if isinstance(ends, list) else [ends]
        found.append(new[:-1] if new[-1] in ends else new)
    return found


def ours(folder: Path, texts: list[str]) -> list[list[int]]:
    """The same by the launchers' own path."""
    trained = open_trained(init_from=str(folder))
    if hasattr(trained.model, 'source_context_length'):
        translator = open_translator(TranslationOptions(None, str(folder), 'latest', 1, 0.6, None, 2, 'float32'))
        return [each.ids for each in translator.translate(texts)]
    sampler = trained.generation.sampler(temperature=0.0)
    writer = Writer(trained.model, trained.params, trained.tokenizer, sampler, trained.generation)
    most = None if trained.generation.max_length else NEW
    return [writer.write(text, jax.random.key(0), most)[0].tokens for text in texts]


TEXTS = [PROMPT, 'the dog', 'a']
Made = Callable[[list[list[int]]], dict[str, Any]]
RULES: dict[str, Made] = {
    'nothing': lambda free: {},
    'several ends': lambda free: {'eos_token_id': [free[0][4], free[1][2]]},
    'no end': lambda free: {'eos_token_id': None},
    'bad words': lambda free: {'bad_words_ids': [[free[0][1]], free[1][2:5], free[2][:2]]},
    'suppressed': lambda free: {'suppress_tokens': [free[0][2], free[1][0]]},
    'suppressed at first': lambda free: {'begin_suppress_tokens': [each[0] for each in free]},
    'a forced last': lambda free: {'forced_eos_token_id': 5},
    'a forced first': lambda free: {'forced_bos_token_id': 7, 'begin_suppress_tokens': [*free[0][:2], free[1][1]]},
    'at least so many': lambda free: {'eos_token_id': [free[0][2], free[1][1]], 'min_new_tokens': 5},
    'a least length': lambda free: {'eos_token_id': [free[0][2], free[1][1]], 'min_length': 9},
    'a forced end that is suppressed': lambda free: {'forced_eos_token_id': [3, 5], 'suppress_tokens': [3]},
}


def by_rule(folder: Path, family: str, seed: int) -> dict[str, list[list[int]]]:
    """What a model with drawn weights writes under each rule, by transformers; under 'nothing' too little is no use."""
    published.publish(folder, family, published.TOKENIZERS[family](), seed)
    file, limit = folder / 'generation_config.json', {'max_length': NEW + 1} if family in TRANSLATORS else {}
    published.change(file, **{'eos_token_id': None, **limit})
    free, before = greedy(folder, TEXTS), file.read_text()
    if min(len(set(each)) for each in free) <= 3:
        raise CloseError
    written = {}
    for rule, change in RULES.items():
        published.change(file, **change(free))
        written[rule] = greedy(folder, TEXTS)
        file.write_text(before)
        if rule not in ('nothing', 'no end') and written[rule] == free:
            raise CloseError
    return written


@pytest.fixture(scope='module', params=SEEDS)
def published_folder(request, tmp_path_factory) -> tuple[Path, dict[str, list[list[int]]]]:
    """A folder, and what transformers writes with it under each rule; trained tokenizers are not the same each time."""
    family = request.param
    for seed in range(SEEDS[family], SEEDS[family] + 40):
        folder = tmp_path_factory.mktemp(family)
        with suppress(CloseError):
            return folder, by_rule(folder, family, seed)
    raise AssertionError('no weights were drawn whose choices are clear')


@pytest.fixture
def generating(published_folder) -> tuple[Path, list[list[int]]]:
    """A folder, and what it writes without a rule."""
    folder, written = published_folder
    return folder, written['nothing']


@pytest.mark.parametrize('rule', RULES)
def test_greedy_tokens_by_generation_config(published_folder, rule):
    folder, written = published_folder
    file = folder / 'generation_config.json'
    before = file.read_text()
    try:
        published.change(file, **RULES[rule](written['nothing']))
        assert ours(folder, TEXTS) == written[rule]
    finally:
        file.write_text(before)


# They change no token, by themselves or with what is done here: caches, speculation, what is returned, files.
HARMLESS_IN_GENERATION = {
    'use_cache', 'cache_implementation', 'cache_config', 'max_cache_len', 'low_memory', 'prefill_chunk_size',
    'compile_config', 'disable_compile', 'continuous_batching_config', 'use_mtp', 'is_assistant',
    'num_assistant_tokens', 'num_assistant_tokens_schedule', 'assistant_confidence_threshold',
    'prompt_lookup_num_tokens', 'max_matching_ngram_size', 'assistant_early_exit', 'assistant_lookbehind',
    'target_lookbehind', 'assistant_ensemble_weight', 'speculation_type', 'output_attentions',
    'output_hidden_states', 'output_scores', 'output_logits', 'return_dict_in_generate', 'remove_invalid_values',
    'pad_token_id', 'transformers_version', '_from_model_config',
}  # fmt: skip


class Consulted(dict):
    """Settings that record which of them are asked for."""

    def __init__(self):
        self.names = set()

    def get(self, name, default=None):
        self.names.add(name)
        return default


def test_each_setting_of_generation_is_obeyed_or_ignored_with_a_warning(tmp_path):
    published.gpt2().save_pretrained(tmp_path)
    settings, tokenizer = Consulted(), open_tokenizer(find_tokenizer(tmp_path))
    Generation.of_folder(settings, tokenizer, tokenizer.size, '')
    assert vars(transformers.GenerationConfig()).keys() - HARMLESS_IN_GENERATION <= settings.names
    assert not settings.names & HARMLESS_IN_GENERATION


def test_a_beam_obeys_the_rules(generating):
    folder, free = generating
    file = folder / 'generation_config.json'
    before = file.read_text()
    never, end = free[0][0], free[0][3]
    try:
        published.change(file, suppress_tokens=[never], bad_words_ids=[free[1][:2]], eos_token_id=[end, free[1][4]])
        trained = open_trained(init_from=str(folder))
        if hasattr(trained.model, 'source_context_length'):
            translator = open_translator(TranslationOptions(None, str(folder), 'latest', 3, 0.0, None, 1, 'float32'))
            found = [each.ids for each in translator.translate(TEXTS)]
        else:
            sampler = trained.generation.sampler(temperature=0.0)
            writer = Writer(trained.model, trained.params, trained.tokenizer, sampler, trained.generation)
            found = [writer.search(text, Beam(3), NEW)[0].tokens for text in TEXTS]
        for new in found:
            assert never not in new
            assert end not in new
            assert free[1][:2] not in [new[at : at + 2] for at in range(len(new))]
    finally:
        file.write_text(before)


def test_config_json_says_it_where_there_is_no_generation_config(generating, tmp_path):
    folder, free = generating
    shutil.copytree(folder, tmp_path / 'older')
    written = json.loads((folder / 'generation_config.json').read_text())
    start = written.get('decoder_start_token_id')
    (tmp_path / 'older/generation_config.json').unlink()
    published.change(
        tmp_path / 'older/config.json', eos_token_id=[free[0][4], free[1][2]], decoder_start_token_id=start
    )
    new = [[*each, *NEW * [-1]][:NEW] for each in free]  # as far as free text went on
    ends = (free[0][4], free[1][2])
    stops = [next((at for at, token in enumerate(each) if token in ends), NEW) for each in new]
    found = ours(tmp_path / 'older', TEXTS)
    assert [each[:NEW] for each in found] == [each[:stop] for each, stop in zip(new, stops, strict=True)]
    # A generation_config.json replaces it as a whole.
    (tmp_path / 'older/generation_config.json').write_text(json.dumps({**written, 'eos_token_id': free[0][6]}))
    assert ours(tmp_path / 'older', TEXTS)[0] == free[0][: free[0].index(free[0][6])]


def test_saccade_load_and_embed_frame_a_text_as_the_folder_does(tmp_path):
    folder = published.publish(tmp_path, 'llama', published.llama(), 3)
    model = transformers.AutoModel.from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        read = tokenizer(PROMPT, return_tensors='pt', return_token_type_ids=False)
        states = model(**read, output_hidden_states=True).hidden_states[1][0]
    loaded = saccade.load(str(folder))
    np.testing.assert_allclose(loaded.embed(PROMPT, layer=1).vectors, states.numpy(), atol=1e-3, rtol=1e-4)
    (new,) = greedy(folder, [PROMPT])
    whole = loaded.generate(PROMPT, max_tokens=NEW, temperature=0.0)
    assert whole == PROMPT + loaded.tokenizer.decode([*loaded.tokenizer.encode(PROMPT), *new]).removeprefix(PROMPT)


@pytest.mark.parametrize('family', MASKED)
def test_masks_are_filled_alike(tmp_path, family):
    tokenizer = published.TOKENIZERS[MASKED[family]]()
    published.publish(tmp_path, family, tokenizer, 0)
    model = transformers.AutoModelForMaskedLM.from_pretrained(tmp_path)
    again = transformers.AutoTokenizer.from_pretrained(tmp_path)
    trained = open_trained(init_from=str(tmp_path))
    filler = Filler(trained.model, trained.params, trained.tokenizer)
    for text in ('The {} sat on the mat.', '{} naïve {}', 'the dog {}', 'a [SEP] b {}'):
        masked = text.replace('{}', again.mask_token)
        spelled = text.replace('[SEP]', '[ SEP ]').replace('{}', again.mask_token)
        read = again(spelled, return_tensors='pt')
        with torch.no_grad():
            logits = model(**read).logits[0][read['input_ids'][0] == again.mask_token_id]
        logits[:, sorted({*trained.tokenizer.specials.values()})] = -np.inf  # we never fill in one
        shares = logits.softmax(-1)
        found = filler.fill(masked if family != 'roberta' and family != 'albert' else spelled, 3)
        assert len(found) == text.count('{}')
        for one, other in zip(found, shares, strict=True):
            best = other.topk(3)
            assert one.tokens == [again.decode([number]) for number in best.indices.tolist()]  # as in the pipeline
            np.testing.assert_allclose(one.probabilities, best.values.numpy(), atol=1e-4)


def test_a_mask_of_another_name_and_tokens_by_role(tmp_path):
    vocabulary = {name: at for at, name in enumerate(['<p>', '<u>', '<c>', '<s>', '<hole>', 'the', 'cat', 'dog'])}
    roles = dict(zip(('pad_token', 'unk_token', 'cls_token', 'sep_token', 'mask_token'), vocabulary, strict=False))
    published.publish(tmp_path, 'bert', transformers.BertTokenizer(vocab=vocabulary, **roles), 0)
    trained = open_trained(init_from=str(tmp_path))
    filler = Filler(trained.model, trained.params, trained.tokenizer)
    again = transformers.AutoTokenizer.from_pretrained(tmp_path)
    read = again('the <hole> cat', return_tensors='pt')
    with torch.no_grad():
        logits = transformers.AutoModelForMaskedLM.from_pretrained(tmp_path)(**read).logits[0, 2]
    assert filler.fill('the <hole> cat', 1)[0].tokens == again.convert_ids_to_tokens([5 + int(logits[5:].argmax())])
