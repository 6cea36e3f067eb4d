# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Models by name: what is downloaded from a server on the loopback, and the one line where nothing can be."""

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from fnmatch import fnmatch
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import huggingface_hub
import pytest

from saccade.data.tokenizer.word import Word
from saccade.hub import download
from saccade.hub.download import local, name_of
from saccade.train.trained import is_hub, open_trained
from saccade.types import UserError

ROOT = Path(__file__).parents[2]
COMMIT = '0123456789abcdef' * 2 + '01234567'
COMMAND = 'hf download ORG/NAME --local-dir DIR'


@pytest.fixture(autouse=True)
def nothing_known() -> Iterator[None]:
    download._downloaded.cache_clear()
    yield
    download._downloaded.cache_clear()


class Server(ThreadingHTTPServer):
    """One repository in the manner of huggingface.co. Attributes: files; paths that were asked for."""

    def __init__(self, folder: Path) -> None:
        super().__init__(('127.0.0.1', 0), Handler)
        self.files = {path.name: path.read_bytes() for path in folder.iterdir()}
        self.asked: list[str] = []


class Handler(BaseHTTPRequestHandler):
    """Answers about the repository `lab/tiny`, whose branch `main` and tag `v1` are one commit."""

    protocol_version = 'HTTP/1.1'

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.server.asked.append(path)
        for revision in ('main', 'v1', COMMIT):
            if path == f'/api/models/lab/tiny/revision/{revision}' or (path, revision) == (
                '/api/models/lab/tiny',
                'main',
            ):
                siblings = [{'rfilename': name} for name in self.server.files]
                return self._json({'id': 'lab/tiny', 'sha': COMMIT, 'siblings': siblings, 'private': False, 'tags': []})
            if path == f'/api/models/lab/tiny/tree/{revision}':
                return self._json(
                    [
                        {'type': 'file', 'path': name, 'size': len(data), 'oid': hashlib.sha1(data).hexdigest()}
                        for name, data in self.server.files.items()
                    ]
                )
            name = path.removeprefix(f'/lab/tiny/resolve/{revision}/')
            if name in self.server.files:
                return self._send(
                    self.server.files[name], {'ETag': f'"{hashlib.sha1(self.server.files[name]).hexdigest()}"'}
                )
        headers = {'X-Error-Code': 'RevisionNotFound' if '/lab/tiny/' in path else 'RepoNotFound'}
        return self._send(b'{}', headers, 404)

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, *words: str) -> None:
        pass

    def _json(self, value: object) -> None:
        self._send(json.dumps(value).encode(), {'Content-Type': 'application/json'})

    def _send(self, data: bytes, headers: dict[str, str], status: int = 200) -> None:
        self.send_response(status)
        for name, value in {**headers, 'X-Repo-Commit': COMMIT, 'Content-Length': str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == 'GET':
            self.wfile.write(data)


@pytest.fixture
def server(llama) -> Iterator[Server]:
    """A server of a small Llama folder with a tokenizer, and with files that no folder is read for."""
    llama.write_shards()
    Word(9, end='</s>', specials=('<s>', '<pad>')).train(['a b c d e']).save(llama.path)
    for name in ('pytorch_model.bin', 'modeling_mine.py', 'consolidated.safetensors', 'README.md'):
        (llama.path / name).write_text('not to be read')
    server = Server(llama.path)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def generate(folder: Path, endpoint: str, name: str) -> subprocess.CompletedProcess:
    environment = {**os.environ, 'HF_ENDPOINT': endpoint, 'HF_HOME': str(folder), 'HF_HUB_DISABLE_TELEMETRY': '1'}
    flags = (f'--init_from={name}', '--prompt=a b', '--max_tokens=2', '--greedy', '--json')
    command = [sys.executable, 'launch/generate.py', *flags]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240)


@pytest.mark.long
def test_a_model_is_downloaded_once_and_only_the_files_that_are_read(server, llama, tmp_path):
    endpoint, home = f'http://127.0.0.1:{server.server_port}', tmp_path / 'home'
    exact = generate(tmp_path / 'other', endpoint, str(llama.path))
    assert server.asked == []
    for name in ('hf:lab/tiny', 'hf:lab/tiny@v1', f'hf:lab/tiny@{COMMIT}'):
        done = generate(home, endpoint, name)
        assert done.returncode == 0, done.stderr
        assert done.stdout == exact.stdout
    names = [path.rpartition('/')[2] for path in server.asked if '/resolve/' in path]
    wanted = {'config.json', 'tokenizer.json', 'model-1.safetensors', 'model-2.safetensors'}
    assert {*names} == {*wanted, 'model.safetensors.index.json'}
    found = {path.name for path in home.glob('hub/models--lab--tiny/snapshots/*/*')}
    assert found == {*names}
    server.files.clear()  # what is in the cache is not fetched again, and needs no server
    again = generate(home, 'http://127.0.0.1:9', 'hf:lab/tiny')
    assert again.stdout == exact.stdout, again.stderr


@pytest.mark.long
@pytest.mark.parametrize(('name', 'words'), [('hf:lab/none', 'lab/none'), ('hf:lab/tiny@v2', 'v2')])
def test_a_name_or_a_revision_that_does_not_exist_is_one_line(server, tmp_path, name, words):
    done = generate(tmp_path / 'home', f'http://127.0.0.1:{server.server_port}', name)
    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f'error: {name}: cannot be downloaded')
    assert words in last
    assert 'hf download lab/' in last
    assert 'Traceback' not in done.stderr


@pytest.mark.long
def test_without_a_network_the_command_is_named(tmp_path):
    done = generate(tmp_path / 'home', 'http://127.0.0.1:9', 'hf:lab/tiny@v1')
    assert done.returncode == 2
    assert 'Traceback' not in done.stderr
    assert 'hf download lab/tiny --revision v1 --local-dir DIR' in done.stderr.splitlines()[-1]


def test_each_file_that_is_read_is_downloaded(monkeypatch):
    asked = []
    monkeypatch.setattr(huggingface_hub, 'snapshot_download', lambda name, **given: asked.append(given) or 'folder')
    assert local('hf:ORG/NAME') == 'folder'
    patterns = asked[0]['allow_patterns']
    read = (
        'config.json generation_config.json model.safetensors model-00001-of-00002.safetensors tokenizer.json '
        'model.safetensors.index.json tokenizer_config.json special_tokens_map.json added_tokens.json vocab.txt '
        'vocab.json merges.txt chat_template.jinja preprocessor_config.json processor_config.json modules.json '
        '1_Pooling/config.json'
    )
    assert all(any(fnmatch(name, pattern) for pattern in patterns) for name in read.split())
    others = ('pytorch_model.bin', 'consolidated.safetensors', 'README.md', 'onnx/model.onnx')
    assert not any(fnmatch(name, pattern) for name in others for pattern in patterns)


def test_any_other_path_is_left_as_it_is():
    assert local('runs/a') == 'runs/a'


@pytest.mark.parametrize(
    ('path', 'found'),
    [('hf:a/b', ('a/b', None)), ('hf:a/b@v1', ('a/b', 'v1')), ('runs/a@2', ('runs/a@2', None))],
)
def test_a_name_and_its_revision(path, found):
    assert name_of(path) == found


@pytest.mark.parametrize('name', ['hf:', 'hf:bert', 'hf:a/b/c', 'hf:@main', 'hf:../..//x'])
def test_a_name_in_another_form_is_refused(name):
    with pytest.raises(UserError, match=r'write hf:ORG/NAME or hf:ORG/NAME@REVISION'):
        open_trained(init_from=name)


def test_without_the_extra_the_commands_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, 'huggingface_hub', None)
    monkeypatch.setattr('saccade.extras.missing', lambda extra: ['huggingface-hub'])
    with pytest.raises(UserError) as error:
        local('hf:ORG/NAME')
    assert str(error.value) == (
        f'hf:ORG/NAME: this needs huggingface-hub: pip install "saccade[hub]"; or use the folder of {COMMAND}'
    )


def test_any_failure_of_the_library_is_one_line(monkeypatch):
    def fail(*given: object, **named: object) -> str:
        raise RuntimeError('no route\nto host')

    monkeypatch.setattr(huggingface_hub, 'snapshot_download', fail)
    with pytest.raises(UserError) as error:
        local('hf:ORG/NAME')
    assert str(error.value) == (
        f'hf:ORG/NAME: cannot be downloaded: no route; with a network, run {COMMAND}, and give DIR'
    )


@pytest.mark.parametrize(
    ('path', 'named'), [('bert-base-uncased', 'ORG/bert-base-uncased'), ('google/t5', 'google/t5')]
)
def test_a_bare_name_is_told_how_to_download(path, named):
    with pytest.raises(UserError) as error:
        is_hub(path)
    assert str(error.value) == (
        f'{path}: there is no such folder; a run is made by launch/train.py; for a model of huggingface.co write '
        f'hf:{named}, or first run hf download {named} --local-dir DIR'
    )


def test_other_paths_get_no_such_advice():
    assert not is_hub('/nowhere/run')
    assert not is_hub('./bert')
