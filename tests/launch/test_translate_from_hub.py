# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Translations by a Hugging Face directory, from the command line, beside what transformers makes of the same text."""

import json

import pytest

from saccade.data.tokenizer.byte import Byte

TEXT = 'a dog runs'
CONTEXT = 16
LAYERS = {'num_layers': 1, 'num_heads': 2, 'd_model': 32, 'd_kv': 16, 'd_ff': 64, 'n_positions': CONTEXT}
MARIAN = {
    'd_model': 32, 'max_position_embeddings': CONTEXT, 'encoder_layers': 1, 'decoder_layers': 1,
    'encoder_attention_heads': 2, 'decoder_attention_heads': 2, 'encoder_ffn_dim': 64, 'decoder_ffn_dim': 64,
    'forced_eos_token_id': None,
}  # fmt: skip


@pytest.mark.oracle
@pytest.mark.filterwarnings('ignore')  # of transformers and torch, which are not ours to mend
@pytest.mark.parametrize('family', ['T5', 'Marian'])
def test_a_hugging_face_directory_translates_as_transformers_does(runner, tmp_path, family):
    torch = pytest.importorskip('torch', reason='needs the extra [oracle]')
    transformers = pytest.importorskip('transformers', reason='needs the extra [oracle]')
    torch.manual_seed(0)
    tokenizer = Byte(end='</s>', specials=('<pad>',)).train([TEXT])
    pad = tokenizer.special('<pad>')
    marks = {'vocab_size': tokenizer.size, 'pad_token_id': pad, 'decoder_start_token_id': pad, 'bos_token_id': None}
    marks['eos_token_id'] = tokenizer.end
    if family == 'T5':
        model = transformers.T5ForConditionalGeneration(transformers.T5Config(**LAYERS, **marks))
    else:
        model = transformers.MarianMTModel(transformers.MarianConfig(**MARIAN, **marks))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0.0, 0.4)  # or else each token is followed by itself
    model.eval().save_pretrained(tmp_path)
    tokenizer.save(tmp_path)
    source = torch.tensor([[*tokenizer.encode(TEXT), tokenizer.end]])
    theirs = model.generate(source, max_new_tokens=CONTEXT, do_sample=False, num_beams=1)[0, 1:].tolist()

    done = runner.run('translate', f'--init_from={tmp_path}', f'--text={TEXT}', '--json')
    assert done.returncode == 0, done.stderr
    text = json.loads(done.stdout)['text']
    assert text
    assert text == tokenizer.decode(theirs)
