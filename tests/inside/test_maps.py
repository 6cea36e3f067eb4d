# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Attention maps and their files: which weights they hold, what they are called, what is refused."""

import base64
import hashlib
import html
import json
import re
import struct
import sys
import webbrowser
import zlib

import numpy as np
import pytest

from saccade.inside import explorer
from saccade.inside.maps import MEAN, AttentionMap, Explored
from saccade.inside.pictures import picture
from saccade.types import UserError

TOKENS = ('<s>', ' $x$', '漢', '</script>')


def weights(*shape, seed=0, sign=False):
    drawn = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
    return drawn if sign else np.abs(drawn) / np.abs(drawn).sum(axis=-1, keepdims=True)


def explored(**changes):
    causal = np.tril(weights(2, 4, 4))
    maps = (
        AttentionMap('decoder.layers.0.mixer', causal, TOKENS, TOKENS),
        AttentionMap('decoder.layers.1.mixer', weights(3, 4, 4, seed=1), TOKENS, TOKENS, note='a note'),
        AttentionMap('decoder.layers.1.cross', weights(2, 4, 3, seed=2), TOKENS, ('a', 'b', 'c')),
        AttentionMap('decoder.layers.1.pass_2.mixer', weights(2, 4, 4, seed=3, sign=True), TOKENS, TOKENS),
    )
    return Explored(**{'text': 'x & y\nz', 'run': 'runs/a', 'step': 1200, 'maps': maps, **changes})


def about(page):
    return json.loads(re.search('<script type="application/json" id="about">(.*?)</script>', page)[1])


def block(page, name):
    return zlib.decompress(
        base64.b64decode(re.search(f'<script type="text/plain" id="{name}">(.*?)</script>', page)[1])
    )


def test_kinds_of_attention_are_told_from_names_labels_and_weights():
    kinds = [each.kind for each in explored().maps]
    causal, bidirectional = 'causal self-attention', 'bidirectional self-attention'
    assert kinds == [causal, bidirectional, 'cross-attention', bidirectional]
    with_memory = AttentionMap('layers.0.mixer', np.tril(weights(1, 3, 5), 2), TOKENS[:3], ('m', 'n', *TOKENS[:3]))
    assert with_memory.kind == causal
    assert AttentionMap('decoder.layers.0.cross', weights(1, 4, 4), TOKENS, TOKENS).kind == 'cross-attention'
    assert AttentionMap('decoder.cross', weights(1, 4, 4), TOKENS, TOKENS).kind == 'cross-attention'


def test_weights_that_are_no_numbers_are_refused():
    with pytest.raises(UserError, match=r'^layers\.0\.mixer: its attention weights are infinite or not numbers'):
        AttentionMap('layers.0.mixer', np.full((1, 1, 1), np.nan, np.float32), ('a',), ('a',))


def test_exact_values_are_in_npz(tmp_path):
    given = explored()
    given.save(tmp_path / 'a.npz')
    with np.load(tmp_path / 'a.npz') as arrays:
        for each in given.maps:
            np.testing.assert_array_equal(arrays[each.name], each.weights)
            assert arrays[f'{each.name}.queries'].tolist() == list(each.queries)
            assert arrays[f'{each.name}.keys'].tolist() == list(each.keys)
        assert (arrays['text'], arrays['run'], arrays['step']) == ('x & y\nz', 'runs/a', 1200)
    given.save(tmp_path / 'b.npz', 'decoder.layers.1.mixer', MEAN)
    with np.load(tmp_path / 'b.npz') as arrays:
        assert set(arrays) >= {'decoder.layers.1.mixer.heads.mean', 'decoder.layers.1.mixer.keys'}
        np.testing.assert_allclose(arrays['decoder.layers.1.mixer.heads.mean'], given.maps[1].weights.mean(0))
        assert not [name for name in arrays if '.0.' in name or 'cross' in name]


def test_a_page_holds_exact_weights_below_the_limit(tmp_path):
    given = explored()
    given.save(tmp_path / 'a.html', 'decoder.layers.1', 1)
    page = (tmp_path / 'a.html').read_text()
    for number, each in enumerate(given.maps):
        for head, expected in enumerate(each.weights):
            found = np.frombuffer(block(page, f'weights-{number}-{head}'), '<f4').reshape(expected.shape)
            np.testing.assert_array_equal(found, expected)
    found = about(page)
    assert found['exact']
    assert found['first'] == {'map': 1, 'head': 1}
    assert [(each['set'], each['layer'], each['isSigned']) for each in found['maps']] == [
        ('decoder.mixer: causal self-attention', '0', False),
        ('decoder.mixer: bidirectional self-attention', '1', False),
        ('decoder.cross: cross-attention', '1', False),
        ('decoder.mixer: bidirectional self-attention', '1, pass 2', True),
    ]
    assert [found['labels'][found['maps'][2][side]] for side in ('queries', 'keys')] == [list(TOKENS), ['a', 'b', 'c']]
    assert found['maps'][1]['note'] == 'a note'
    np.testing.assert_array_equal(found['maps'][0]['most'], given.maps[0].weights.max(axis=(1, 2)))


@pytest.mark.parametrize(('sign', 'error'), [(False, 0.0040), (True, 0.0080)])
def test_above_the_limit_weights_are_in_8_bits_and_near_to_their_row(sign, error, tmp_path, monkeypatch):
    monkeypatch.setattr(explorer, 'EXACT', 100)
    given = weights(1, 40, 50, sign=sign) * np.geomspace(1e-3, 1e2, 40, dtype=np.float32)[:, None]
    given[0, 3] = 0
    tokens = tuple(map(str, range(50)))
    Explored('a', 'b', None, (AttentionMap('layers.0.mixer', given, tokens[:40], tokens),)).save(tmp_path / 'a.html')
    page = (tmp_path / 'a.html').read_text()
    data = block(page, 'weights-0-0')
    most, roots = np.frombuffer(data[:160], '<f4'), np.frombuffer(data[160:], np.int8 if sign else np.uint8)
    shares = roots.reshape(40, 50).astype(float) / (127 if sign else 255)
    found = most[:, None] * shares * np.abs(shares)
    np.testing.assert_array_equal(most, np.abs(given[0]).max(axis=1))
    assert (np.abs(found - given[0]) <= error * most[:, None]).all()
    assert not about(page)['exact']
    assert f"within {100 * error:.1f}% of each query's largest; exact ones are 8,000 bytes, in .npz" in page


def test_the_title_names_text_run_and_step_and_nothing_is_loaded(tmp_path):
    explored().save(tmp_path / 'a.html')
    page = (tmp_path / 'a.html').read_text()
    assert '<title>Attention: x &amp; y z · runs/a, step 1,200</title>' in page
    assert not re.search(r'https?://(?!jax)|src=|@import|url\(', page)
    (script,) = re.findall('<script>(.*?)</script>', page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:" in page
    assert page.count('</script>') == page.count('<script')  # the token is escaped
    explored(step=None).save(tmp_path / 'b.html')
    assert '· runs/a</title>' in (tmp_path / 'b.html').read_text()


def test_measures_are_shown_by_head():
    given = explored()
    page = explorer.page(given, given.maps[0], None, {given.maps[0].name: {'entropy': np.array([0.5, np.nan])}})
    assert [each['measures'] for each in about(page)['maps']] == [{'entropy': [0.5, None]}, {}, {}, {}]


@pytest.mark.parametrize(
    'choice', [(), ('decoder.layers.1',), ('decoder.layers.1.mixer', 2), ('decoder.layers.1.cross', MEAN)]
)
def test_a_picture_is_a_png_of_some_size_and_nothing_else_is_left(choice, tmp_path):
    explored().save(tmp_path / 'map.png', *choice)
    content = (tmp_path / 'map.png').read_bytes()
    assert content.startswith(b'\x89PNG')
    width, height = struct.unpack('>II', content[16:24])
    assert width > 200
    assert height > 150
    assert [file.name for file in tmp_path.iterdir()] == ['map.png']


def test_a_picture_says_what_it_shows():
    given = explored()
    large = picture(given, given.maps[2:3], 1, 'svg').decode()
    axes = ('attention weight', 'source tokens, read', 'target tokens, written')
    for text in ('x &amp; y z', 'runs/a, step 1,200', 'decoder.layers.1.cross.heads.1', '␣$x$', '漢', *axes):
        assert f'{text}<' in large
    small = picture(given, given.maps, None, 'svg').decode()
    for text in ('head 0', 'head 2', *(each.name for each in given.maps)):
        assert f'>{text}<' in small
    assert '>head 3<' not in small


def test_patches_are_read_by_the_class_token_or_by_the_mean_of_all():
    labels = tuple(map(str, range(7)))
    with_class = AttentionMap('layers.0.mixer', weights(2, 7, 7), labels, labels, grid=(2, 3))
    np.testing.assert_array_equal(with_class.over_patches(1), with_class.weights[1, 0, 1:].reshape(2, 3))
    np.testing.assert_array_equal(with_class.over_patches(MEAN), with_class.weights.mean(0)[0, 1:].reshape(2, 3))
    without = AttentionMap('layers.0.mixer', weights(2, 6, 6), labels[:6], labels[:6], grid=(3, 2))
    np.testing.assert_array_equal(without.over_patches(0).ravel(), without.weights[0].mean(axis=0))


@pytest.mark.parametrize('channels', [1, 3])
def test_an_image_is_drawn_with_the_heads_of_its_last_layer(channels):
    labels, pixels = tuple(map(str, range(5))), weights(8, 8, channels)
    maps = [AttentionMap(f'layers.{n}.mixer', weights(2, 5, 5), labels, labels, grid=(2, 2)) for n in range(2)]
    given = Explored('a.png', 'runs/vit', 3, tuple(maps), pixels)
    shown = picture(given, given.maps, None, 'svg').decode()
    assert [
        f'>{text}<' in shown for text in ('layers.1.mixer', 'head 0', 'head 1', 'layers.0.mixer', 'head 2')
    ] == 3 * [True] + 2 * [False]
    page = explorer.page(given, given.maps[0], None)
    found = np.frombuffer(block(page, 'pixels'), np.uint8).reshape(8, 8, 4)
    np.testing.assert_array_equal(found[..., :3], np.broadcast_to(np.rint(255 * pixels), (8, 8, 3)))
    assert (found[..., 3] == 255).all()
    assert about(page)['pixels'] == [8, 8]


@pytest.mark.parametrize(
    ('path', 'choice', 'message'),
    [
        ('map.txt', (), r'map\.txt: attention is written to a file that ends in \.html, \.pdf, \.png, \.svg, \.npz'),
        (
            'a.html',
            ('decoder.layers.7',),
            "layer 'decoder.layers.7': there is no such .* did you mean 'decoder.layers.1",
        ),
        ('a.html', ('decoder.layers.1.mixer', 3), r'head 3: the heads of decoder\.layers\.1\.mixer are 0 to 2; -1 is'),
        ('a.png', (None, -2), 'head -2: the heads'),
        ('none/a.html', (), 'none'),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_left(path, choice, message, tmp_path):
    with pytest.raises(UserError, match=message):
        explored().save(tmp_path / path, *choice)
    assert not list(tmp_path.iterdir())


def test_a_model_without_attention_is_refused(tmp_path):
    with pytest.raises(UserError, match='runs/a: no layer has attention weights'):
        explored(maps=()).save(tmp_path / 'a.html')


def test_a_notebook_frames_the_page():
    frame = explored()._repr_html_()
    page = html.unescape(
        re.fullmatch('<iframe title="Attention" srcdoc="(.*?)" style="[^"]*"></iframe>', frame, re.DOTALL)[1]
    )
    assert page.startswith('<!doctype html>')
    assert len(about(page)['maps']) == 4


def test_elsewhere_a_browser_opens_it(monkeypatch, tmp_path):
    opened = []
    monkeypatch.setattr(webbrowser, 'open', opened.append)
    monkeypatch.setattr('tempfile.mkdtemp', lambda prefix: str(tmp_path))
    monkeypatch.delitem(sys.modules, 'IPython', raising=False)
    explored().show()
    assert opened == [(tmp_path / 'attention.html').as_uri()]
    assert (tmp_path / 'attention.html').read_text().startswith('<!doctype html>')
