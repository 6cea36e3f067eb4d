# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Text from a Hugging Face directory, from the command line, beside what transformers makes of it."""

import json

import pytest

from saccade.data.tokenizer.byte import Byte

PROMPT = 'def attend('
TOKENS = 12


@pytest.mark.oracle
@pytest.mark.filterwarnings('ignore')  # of transformers and torch, which are not ours to mend
def test_a_hugging_face_directory_generates_what_transformers_does(runner, tmp_path):
    torch = pytest.importorskip('torch', reason='needs the extra [oracle]')
    transformers = pytest.importorskip('transformers', reason='needs the extra [oracle]')
    torch.manual_seed(0)
    tokenizer = Byte(end='<|endoftext|>').train([PROMPT])
    settings = {'vocab_size': tokenizer.size, 'n_positions': 64, 'n_embd': 32, 'n_layer': 2, 'n_head': 4}
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**settings, initializer_range=0.5)).eval()
    model.save_pretrained(tmp_path)
    tokenizer.save(tmp_path)
    prompt = torch.tensor([tokenizer.encode(PROMPT)])
    theirs = model.generate(prompt, max_new_tokens=TOKENS, do_sample=False, eos_token_id=None, pad_token_id=0)

    flags = [f'--init_from={tmp_path}', f'--prompt={PROMPT}', f'--max_tokens={TOKENS}', '--greedy', '--json']
    done = runner.run('generate', *flags)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)['samples'][0]['tokens'] == theirs[0, prompt.shape[1] :].tolist()
