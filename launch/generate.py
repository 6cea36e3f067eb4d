# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Generate text: continue a prompt with a language model or a masked diffusion model, or chat with it.

python launch/generate.py --workdir=runs/a --prompt="def " --temperature=0.8 --samples=3
python launch/generate.py --workdir=runs/a --prompt="def " --samples=16 --paged --page_size=64
python launch/generate.py --workdir=runs/a --prompt="def " --cache=int8
python launch/generate.py --workdir=runs/a --prompt="def " --beams=4
python launch/generate.py --workdir=runs/a --prompt="def " --draft=runs/small
python launch/generate.py --init_from=DIR --chat
python launch/generate.py --workdir=runs/diffusion --prompt="def " --steps=64
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from absl import flags

from saccade.train.process.given import DTYPES, refuse_given
from saccade.train.process.main import run_main
from saccade.types import UserError

if TYPE_CHECKING:
    from saccade.decode.sample import Continuation

WORKDIR = flags.DEFINE_string('workdir', None, "The run's folder.")
INIT_FROM = flags.DEFINE_string('init_from', None, 'A run, a Hugging Face directory or hf:ORG/NAME; or --workdir.')
DTYPE = flags.DEFINE_enum('dtype', 'float32', DTYPES, 'Type of the parameters and of the computation.')
PROMPT = flags.DEFINE_string('prompt', '', 'Text to continue; empty: a document from its beginning.')
MAX_TOKENS = flags.DEFINE_integer(
    'max_tokens', None, 'Maximum number of new tokens; default: 200, or the rest of the context.', 1
)
SAMPLES = flags.DEFINE_integer('samples', 1, 'Number of continuations.', 1)
TEMPERATURE = flags.DEFINE_float('temperature', 0.8, 'Logits are divided by it; 0 is greedy.')
TOP_K = flags.DEFINE_integer('top_k', 0, 'Sample from this number of most probable tokens; 0 for all.')
TOP_P = flags.DEFINE_float('top_p', 1.0, 'Sample from the most probable tokens with this total probability; 1 for all.')
MIN_P = flags.DEFINE_float('min_p', 0.0, 'Minimum probability, as a share of the highest; 0 for all.')
GREEDY = flags.DEFINE_bool('greedy', False, 'Always the most probable token.')
BEAMS = flags.DEFINE_integer('beams', 0, 'Beams of beam search; 0 samples.', 0, 1000)
ALPHA = flags.DEFINE_float('alpha', 0.6, 'Exponent of the length penalty of --beams.', 0.0)
CACHE = flags.DEFINE_enum(
    'cache', 'exact', ('exact', 'int8'), 'Keys and values of the KV cache: as computed, or in int8, which rounds them.'
)
PAGED = flags.DEFINE_bool('paged', False, 'Keep the KV cache in pages; samples share the pages of the prompt.')
PAGE_SIZE = flags.DEFINE_integer('page_size', 64, 'Tokens of a page of --paged.', 16, 256)
PAGES = flags.DEFINE_integer('pages', None, 'Pages of the pool of --paged; default: enough for every sample.', 1)
DRAFT = flags.DEFINE_string(
    'draft',
    None,
    'A smaller model with the same tokenizer, for speculative decoding: a run or a Hugging Face directory.',
)
DRAFT_TOKENS = flags.DEFINE_integer('draft_tokens', 4, 'Tokens that --draft writes before each check.', 1, 64)
STEPS = flags.DEFINE_integer('steps', None, 'Steps of masked diffusion, for a model trained on it.', 1)
SEED = flags.DEFINE_integer('seed', 0, 'Seed of sampling; equal seeds give equal texts.', 0, 2**32 - 1)
SETTINGS = (TEMPERATURE, TOP_K, TOP_P, MIN_P)  # defaults come from a Hugging Face folder
CHAT = flags.DEFINE_bool('chat', False, 'Talk line by line, until an empty line or the end of the input.')
JSON = flags.DEFINE_bool('json', False, 'Print one JSON object.')


def main(overrides: list[str]) -> None:
    """Print continuations of a prompt, or hold a conversation.

    Raises:
        UserError: overrides are given, or flags exclude each other.
    """
    import jax

    from saccade.decode.beam import Beam
    from saccade.decode.chat import chat, typed_lines
    from saccade.decode.diffuse import Diffuser
    from saccade.decode.generation import Generation
    from saccade.decode.paged import Paging
    from saccade.decode.sample import Writer
    from saccade.decode.sampling import Sampler
    from saccade.train.trained import open_trained

    if overrides:
        raise UserError(f"'{overrides[0]}': a model generates with its training config")
    if CHAT.value and (JSON.value or SAMPLES.value > 1):
        raise UserError('--chat is interactive: it does not combine with --json or --samples')
    _refuse_without_effect()
    settings = {flag.name: flag.value for flag in SETTINGS if flag.present}
    if GREEDY.value:
        settings['temperature'] = 0.0
    Sampler(**settings)  # raises an error before a model is read
    trained, key = open_trained(WORKDIR.value, INIT_FROM.value, dtype=DTYPE.value), jax.random.key(SEED.value)
    generation = trained.generation or Generation.of_run(trained.tokenizer)
    generation.warn()
    sampler = generation.sampler(**settings)
    if STEPS.value:
        diffuser = Diffuser(trained.model, trained.params, trained.tokenizer, STEPS.value, sampler)
        samples, passes = diffuser.write(PROMPT.value, key, MAX_TOKENS.value, SAMPLES.value)
        _show(samples, {'passes': passes}, f'{STEPS.value} steps took {passes} forward passes')
        return
    int8 = CACHE.value == 'int8'
    writer = Writer(trained.model, trained.params, trained.tokenizer, sampler, generation, int8)
    if CHAT.value:
        for said in chat(writer, typed_lines(), key, MAX_TOKENS.value, PROMPT.value):
            print(said, flush=True)
        return
    numbers, line = {}, ''
    if BEAMS.value:
        beam = Beam(BEAMS.value, alpha=ALPHA.value)
        samples = writer.search(PROMPT.value, beam, MAX_TOKENS.value, SAMPLES.value)
    elif PAGED.value:
        paging = Paging(PAGE_SIZE.value, PAGES.value)
        samples, usage = writer.write_paged(PROMPT.value, key, paging, MAX_TOKENS.value, SAMPLES.value)
        numbers, line = {'cache': asdict(usage) | {'bytes': usage.bytes}}, str(usage)
    elif DRAFT.value:
        small = open_trained(None, DRAFT.value, dtype=DTYPE.value)
        drafter = Writer(small.model, small.params, small.tokenizer, sampler, int8=int8)
        count = DRAFT_TOKENS.value
        samples, use = writer.write_drafted(PROMPT.value, key, drafter, count, MAX_TOKENS.value, SAMPLES.value)
        numbers, line = {'draft': asdict(use)}, str(use)
    else:
        samples = writer.write(PROMPT.value, key, MAX_TOKENS.value, SAMPLES.value)
    _show(samples, numbers, line)


def _show(samples: 'Sequence[Continuation]', numbers: dict[str, Any], line: str) -> None:
    """Print the texts and, on standard error, a line; or one JSON object with the samples and the numbers."""
    if JSON.value:
        print(json.dumps({'prompt': PROMPT.value, 'samples': [asdict(sample) for sample in samples], **numbers}))
        return
    print('\n---\n'.join(PROMPT.value + sample.text for sample in samples))
    if line:
        print(line, file=sys.stderr)


def _refuse_without_effect() -> None:
    """Raise a UserError for flags without an effect on the chosen decoding method."""
    if STEPS.value:
        refuse_given('with --steps', CHAT, BEAMS, PAGED, DRAFT, CACHE)
    if not PAGED.value:
        refuse_given('without --paged', PAGE_SIZE, PAGES)
    if not DRAFT.value:
        refuse_given('without --draft', DRAFT_TOKENS)
    elif PAGED.value or BEAMS.value or CHAT.value:
        raise UserError('--draft is for samples of a prompt: it does not combine with --paged, --beams or --chat')
    if PAGED.value and (BEAMS.value or CHAT.value):
        raise UserError('--paged is for samples of a prompt: it does not combine with --beams or --chat')
    if not BEAMS.value:
        refuse_given('without --beams', ALPHA)
        if GREEDY.value:
            refuse_given('with --greedy', *SETTINGS, SEED)
        if TEMPERATURE.value == 0:
            refuse_given('with --temperature=0', TOP_K, TOP_P, MIN_P, SEED)
        return
    refuse_given('with --beams', *SETTINGS, GREEDY, SEED)
    if CHAT.value:
        raise UserError('--chat samples its answers: it does not combine with --beams')
    if SAMPLES.value > BEAMS.value:
        raise UserError(f'--samples={SAMPLES.value}: {BEAMS.value} beams find {BEAMS.value} texts; raise --beams')


if __name__ == '__main__':
    run_main(main)
