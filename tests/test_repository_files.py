# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Files for a host of the repository: issue forms have GitHub's fields; the Dockerfile and the workflow work."""

import json
import os
import re
import shutil
import subprocess
import venv
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
DOCKERFILE = (ROOT / 'Dockerfile').read_text()
FORMS = sorted((ROOT / '.github/ISSUE_TEMPLATE').glob('*.yml'))
# https://docs.github.com/en/communities/using-templates-to-encourage-useful-issues-and-pull-requests
KEYS = {'name', 'description', 'title', 'labels', 'assignees', 'body'}
KINDS = {'markdown', 'textarea', 'input', 'dropdown', 'checkboxes'}


@pytest.mark.parametrize('path', [path for path in FORMS if path.stem != 'config'], ids=lambda path: path.stem)
def test_a_form_has_the_fields_of_github(path):
    form = yaml.safe_load(path.read_text())
    assert {'name', 'description', 'body'} <= {*form} <= KEYS
    assert {field['type'] for field in form['body']} <= KINDS
    assert all({*field} <= {'type', 'id', 'attributes', 'validations'} for field in form['body'])
    assert len({field['id'] for field in form['body']}) == len(form['body'])
    assert all(field['attributes']['label'] for field in form['body'])


def test_the_workflow_publishes_what_make_docs_builds():
    workflow = yaml.safe_load((ROOT / '.github/workflows/pages.yml').read_text())
    (job,) = workflow['jobs'].values()
    (command,) = (step['run'] for step in job['steps'] if 'run' in step)
    rule = re.search(rf'^{command.removeprefix("make ")}:.*\n(.*)$', (ROOT / 'Makefile').read_text(), re.M)[1]
    actions = {step['uses'].partition('@')[0]: step for step in job['steps'] if 'uses' in step}
    assert rule.endswith(f' {actions["actions/upload-pages-artifact"]["with"]["path"]}')
    assert actions['actions/deploy-pages']['id'] in job['environment']['url']
    assert workflow['permissions'] == {'contents': 'read', 'pages': 'write', 'id-token': 'write'}
    newest = re.findall(r'Python :: (3\.\d+)"', (ROOT / 'pyproject.toml').read_text())[-1]
    assert actions['actions/setup-python']['with']['python-version'] == newest


@pytest.mark.long
def test_the_commands_of_the_dockerfile_work_in_an_empty_environment(tmp_path):
    skipped = shutil.ignore_patterns(*(ROOT / '.dockerignore').read_text().replace('**/', '').split())
    shutil.copytree(ROOT, tmp_path / 'clone', ignore=skipped)
    venv.create(tmp_path / 'venv', with_pip=True)
    path = f'{tmp_path / "venv/bin"}:{os.environ["PATH"]}'
    given = {**os.environ, 'PATH': path, 'EXTRA': re.search(r'^ARG EXTRA=(\w+)$', DOCKERFILE, re.M)[1]}
    for command in re.findall(r'^RUN (.*)$', DOCKERFILE, re.M):
        done = subprocess.run(command, shell=True, cwd=tmp_path / 'clone', env=given, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    entry = [*json.loads(re.search(r'^ENTRYPOINT (.*)$', DOCKERFILE, re.M)[1]), 'train']
    arguments = '--config=causal_lm/quickstart', '--config.steps=5', '--print_config'
    printed = subprocess.run([*entry, *arguments], cwd=tmp_path, env=given, capture_output=True, text=True)
    assert json.loads(printed.stdout)['steps'] == 5, printed.stderr
