# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A run on each kind of data that is not text, from the command line: trained, resumed, evaluated, on eight devices.

What is particular to a kind, as what it is asked when it is trained, has a test of its own below.
"""

import functools
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import scipy.io.wavfile
from PIL import Image
from refused import assert_refused

from saccade.train.log.log import read

EXPERIMENTS = Path(__file__).parents[2] / 'experiments'
SAME = 1e-5  # relative: the order of sums differs
SHORT = (
    'steps=4', 'log_every=1', 'eval_every=2', 'checkpoint_every=2', 'schedule.warmup=1', 'model.width=16',
    'model.layers=1',
)  # fmt: skip
CONTEXT = 'violet, sky blue, brick red'  # of a question about an image

pytestmark = pytest.mark.long


def sounds(folder):
    draw = np.random.default_rng(0)
    for name in ('high', 'low'):
        (folder / name).mkdir()
        for number in range(10):
            tone = np.sin((0.3 + (name == 'high')) * np.arange(2000)) + 0.1 * draw.normal(size=2000)
            scipy.io.wavfile.write(folder / name / f'{number}.wav', 16_000, (10_000 * tone).astype(np.int16))
    return folder


def images(folder):
    draw = np.random.default_rng(0)
    for name in ('dark', 'light', 'striped'):
        (folder / name).mkdir()
        for number in range(10):
            pixels = draw.integers(0, 100, (20, 24, 3)) + 120 * (name == 'light')
            pixels[::2] += 100 * (name == 'striped')
            Image.fromarray(pixels.astype(np.uint8)).save(folder / name / f'{number}.png')
    return folder


def graphs(folder, **third):
    """Paths of four carbons or more, and the same with an oxygen at the end; the third line may be changed."""
    found = []
    for number in range(20):
        nodes = [*(4 + number % 3) * ['C'], 'CO'[number % 2]]
        edges = [[node, node + 1, 'single'] for node in range(len(nodes) - 1)]
        found.append(dict(nodes=nodes, edges=edges, label=('without', 'with')[number % 2]))
    found[2] |= third
    (folder / 'graphs.jsonl').write_text('\n'.join(map(json.dumps, found)))
    return folder / 'graphs.jsonl'


def proteins(folder, sixth=None):
    """Proteins of two classes, one of which begins with M; the sixth line may be changed."""
    lines = []
    for number in range(20):
        lines += [f'>p{number} {"ab"[number % 2]}', 'MK'[number % 2] + number * 'lvW' + 'Q']
    lines[5] = sixth or lines[5]
    (folder / 'proteins.fasta').write_text('\n'.join(lines))
    return folder / 'proteins.fasta'


class Kind(NamedTuple):
    """Kind of data.

    Attributes: experiment; config fields; what training prints; function that writes data of the user's own, if any.
    """

    experiment: str
    fields: Sequence[str]
    said: Sequence[str] = ()
    write: Callable[[Path], Path] | None = None


KINDS = {
    'frames': Kind('audio/tones', ('batch_size=8', 'data.train=64', 'data.validation=24')),
    'sounds': Kind(
        'audio/wav',
        ('batch_size=8', 'data.classes=2', 'data.context_length=20'),
        ('launch/predict.py --sound=sound.wav',),
        sounds,
    ),
    'images': Kind(
        'vision/vit',
        ('batch_size=16', 'dtype=float32', 'model.width=12', 'model.context_length=5', 'model.embed.embed.patch=8',
         'model.position.rows=2', 'model.position.columns=2', 'data.classes=3', 'data.processor.size=(16,16)',
         'data.processor.resize=16',
         'data.validation=0.2'),
        ('launch/predict.py --image=image.png', 'a step      80 tokens'),  # 16 images of 5 places
        images,
    ),
    'questions about images': Kind(
        'vision/questions',
        ('batch_size=16', 'model.block.mixer.heads=2', 'data.train=64', 'data.validation=24'),
        ('a step      512 tokens', 'exact match'),  # 16 rows of 4 patches and 28 tokens
    ),
    'graphs': Kind(
        'graphs/files',
        ('batch_size=4', 'data.context_length=24', 'data.node_features=2', 'data.edge_types=1',
         'data.identifiers.count=3'),
        ('launch/predict.py --file=graphs.jsonl',),
        graphs,
    ),
    'proteins': Kind(
        'protein/fasta',
        ('batch_size=4', 'model.context_length=24'),
        ("launch/fill_mask.py '--text=MALWMRLLPLL[MASK]LLALWGPD'",
         'launch/embed.py --text=MALWMRLLPLLALLALWGPD --text=MALWTRLRPLLALLALWPPP'),
        proteins,
    ),
    'diagnostics': Kind(
        'diagnostics/recall',
        ('batch_size=8', 'data.validation=16', 'data.train=100', 'data.generator.vocabulary=64', 'model.vocabulary=64'),
        ('baseline',),
    ),
}  # fmt: skip


def flags(kind, data=None):
    experiment, fields, *_ = KINDS[kind]
    path = () if data is None else (f'data.path={data}',)
    return f'--config={EXPERIMENTS}/{experiment}.py', *(f'--config.{field}' for field in (*SHORT, *fields, *path))


class Trained(NamedTuple):
    """Finished run. Attributes: its folder, its data, its flags, and what it printed."""

    workdir: Path
    data: Path | None
    flags: Sequence[str]
    said: str


@pytest.fixture(scope='module')
def trained(runner, tmp_path_factory):
    @functools.cache
    def train(kind):
        folder = tmp_path_factory.mktemp('kind')
        (folder / 'data').mkdir()
        data = KINDS[kind].write and KINDS[kind].write(folder / 'data')
        done = runner.run('train', *flags(kind, data), f'--workdir={folder / "run"}')
        assert done.returncode == 0, done.stderr
        return Trained(folder / 'run', data, flags(kind, data), done.stdout)

    return train


def losses(workdir, split='train'):
    return [line['loss'] for line in read(workdir / 'metrics.jsonl') if line['split'] == split]


@pytest.mark.parametrize('kind', KINDS)
def test_it_resumes_to_the_same_losses(trained, runner, tmp_path, kind):
    run = trained(kind)
    assert len(losses(run.workdir)) == 4
    assert all(words in run.said for words in KINDS[kind].said)
    again = shutil.copytree(run.workdir, tmp_path / 'again')
    shutil.rmtree(again / 'checkpoints/4')
    resumed = runner.run('train', *run.flags, f'--workdir={again}')
    assert 'from step 2' in resumed.stdout, resumed.stderr
    assert losses(again) == losses(run.workdir)


@pytest.mark.parametrize('kind', KINDS)
def test_it_is_evaluated_as_it_was_during_training(trained, runner, kind):
    workdir = trained(kind).workdir
    found = runner.run('evaluate', f'--workdir={workdir}', '--json')
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)['loss'] == pytest.approx(losses(workdir, 'validation')[-1], rel=SAME)


@pytest.mark.parametrize('kind', ['frames', 'images', 'questions about images'])
def test_eight_devices_learn_the_same(trained, runner, tmp_path, kind):
    run = trained(kind)
    mesh = '--config.mesh.fsdp=2', '--config.mesh.tensor=2'
    done = runner.run('train', *run.flags, *mesh, f'--workdir={tmp_path / "run"}', devices=8)
    assert done.returncode == 0, done.stderr
    assert losses(tmp_path / 'run') == pytest.approx(losses(run.workdir), rel=SAME)


@pytest.mark.parametrize(
    ('kind', 'launcher', 'arguments', 'words'),
    [
        ('frames', 'embed', ['--text=a'], 'reads frames in this run, and has no tokenizer for text'),
        ('frames', 'generate', ['--prompt=a'], 'reads frames in this run, and has no tokenizer for text'),
        ('frames', 'predict', ['--text=a'], 'data.synthetic.tones:Tones, does not support predictions'),
        (
            'sounds',
            'predict',
            ['--sound={wrong}/a.wav'],
            'a.wav: has 8000 samples a second, where data.processor.rate is 16000',
        ),
        ('images', 'predict', ['--image={wrong}/none.png'], 'none.png: there is no such file'),
        (
            'questions about images',
            'predict',
            ['--image={wrong}/none.png', '--question=Where?', f'--context={CONTEXT}'],
            'none.png: there is no such file',
        ),
        (
            'graphs',
            'predict',
            ['--file={wrong}/new.jsonl'],
            'new.jsonl, line 1: the edge [0, 2] has an end 2, but the nodes are 0 to 1',
        ),
        ('proteins', 'embed', ['--text=MK-V'], "the tokenizer cannot encode '-'"),
        ('diagnostics', 'generate', ['--prompt=a'], 'tokenizer'),
        (
            'diagnostics',
            'evaluate',
            ['--config.steps=3'],
            'a run is evaluated with its training config; only config.data may change',
        ),
        (
            'diagnostics',
            'evaluate',
            ['--config.data.tokenizer.vocabulary=9'],
            'a run is evaluated with its training tokenizer',
        ),
        (
            'diagnostics',
            'evaluate',
            ['--config.data.generator.vocabulary=99'],
            'config.model.vocabulary: 64, but data.generator has 99 tokens',
        ),
        ('diagnostics', 'evaluate', ['--config.data.generator.pears=2'], 'pears'),
    ],
)
def test_what_a_run_cannot_do_is_refused_in_one_line(trained, runner, tmp_path, kind, launcher, arguments, words):
    scipy.io.wavfile.write(tmp_path / 'a.wav', 8000, np.zeros(2000, np.int16))
    (tmp_path / 'new.jsonl').write_text(json.dumps(dict(nodes=['C', 'O'], edges=[[0, 2]])))
    given = [each.format(wrong=tmp_path) for each in arguments]
    assert_refused(runner.run(launcher, f'--workdir={trained(kind).workdir}', *given), words)


EMBEDS = "model.embed={'use': 'embed.%s'}"


@pytest.mark.parametrize(
    ('kind', 'write', 'field', 'words'),
    [
        (
            'frames',
            None,
            EMBEDS % 'token:TokenEmbedding',
            'model.encoder:Encoder embeds tokens from a batch; config.data, data.synthetic.tones:Tones, has frames',
        ),
        ('images', images, 'model.embed.embed.patch=5', 'patches of 5 pixels do not divide images of 16 by 16'),
        (
            'graphs',
            functools.partial(graphs, nodes=[]),
            'seed=0',
            "graphs.jsonl, line 3: 'nodes' must be a list of at least one node, not []",
        ),
        (
            'proteins',
            functools.partial(proteins, sixth='MK1V'),
            'seed=0',
            "proteins.fasta, line 6: '1' is not an amino acid; the codes are",
        ),
        (
            'diagnostics',
            None,
            "data.generator={'use': 'data.diagnostic.copying:Copy', 'symbols': 99}",
            'config.model.vocabulary: 64, but data.generator has 101 tokens; set it to 101',
        ),
    ],
)
def test_what_cannot_be_trained_is_refused_before_anything_is_written(runner, tmp_path, kind, write, field, words):
    given = flags(kind, write and write(tmp_path))
    done = runner.run('train', *given, f'--config.{field}', f'--workdir={tmp_path / "run"}')
    assert_refused(done, words)
    assert not list((tmp_path / 'run').glob('checkpoints/*'))


@pytest.mark.parametrize(
    ('field', 'words'),
    [
        (
            EMBEDS % 'frame:FrameEmbedding',
            'model.encoder:Encoder embeds frames from a batch; config.data, data.synthetic.sorting:Sorting',
        ),
        ('model.vocabulary=None', 'config.model.vocabulary'),
    ],
)
def test_a_model_that_embeds_something_else_than_tokens_is_refused(runner, tmp_path, field, words):
    config = f'--config={EXPERIMENTS}/finetune/sort.py'
    assert_refused(runner.run('train', config, f'--config.{field}', f'--workdir={tmp_path / "run"}'), words)
    assert not (tmp_path / 'run').exists()


def asked(runner, launcher, workdir, *arguments):
    """What a launcher prints as JSON, one object a line."""
    done = runner.run(launcher, f'--workdir={workdir}', *arguments, '--json')
    assert done.returncode == 0, done.stderr
    return list(map(json.loads, done.stdout.splitlines()))


def test_the_processor_of_frames_is_kept_and_no_other_is_used(trained, runner, tmp_path):
    run = trained('frames')
    assert 'launch/predict.py' not in run.said  # which predicts of texts
    assert not list(run.workdir.glob('*tokenizer*'))
    digests = json.loads((run.workdir / 'digests.json').read_text())
    assert set(digests['processor']) == {'processor.json', 'classes.json'}
    again = shutil.copytree(run.workdir, tmp_path / 'again')
    (again / 'processor.json').write_text('{"mean": [0], "deviation": [1]}')
    words = 'processor.json: is not the one that the run was trained with: put back the file that training wrote'
    assert_refused(runner.run('evaluate', f'--workdir={again}'), words)


@pytest.mark.parametrize('kind', ['frames', 'images'])
def test_it_is_looked_into(trained, runner, kind):
    assert runner.run('inside', f'--workdir={trained(kind).workdir}').returncode == 0


def test_a_class_of_a_sound_is_predicted(trained, runner):
    run = trained('sounds')
    (answer,) = asked(runner, 'predict', run.workdir, f'--sound={run.data}/low/1.wav')
    assert answer['probabilities'].keys() == {'high', 'low'}


def test_chirps_are_trained_on(runner, tmp_path):
    small = '--config.data.train=16', '--config.data.validation=8', '--config.batch_size=8'
    short = (f'--config.{field}' for field in SHORT)
    done = runner.run('train', f'--config={EXPERIMENTS}/audio/chirps.py', *short, *small, f'--workdir={tmp_path}/run')
    assert done.returncode == 0, done.stderr


def test_classes_of_images_are_predicted_and_a_picture_is_drawn(trained, runner, tmp_path):
    run = trained('images')
    drawn = runner.run('inside', 'attention', f'--workdir={run.workdir}', '--image=0', f'--out={tmp_path / "map.png"}')
    assert drawn.returncode == 0, drawn.stderr
    with Image.open(tmp_path / 'map.png') as picture:
        assert min(picture.size) > 100
    files = [run.data / 'dark/1.png', run.data / 'light/2.png']
    answers = asked(runner, 'predict', run.workdir, *(f'--image={file}' for file in files))
    assert [answer['image'] for answer in answers] == list(map(str, files))
    assert all(answer['probabilities'].keys() == {'dark', 'light', 'striped'} for answer in answers)
    Image.open(files[0]).convert('LA').save(tmp_path / 'grey.png')  # which this run converts
    asked(runner, 'predict', run.workdir, f'--image={tmp_path}/grey.png')


@pytest.fixture(scope='module')
def picture(tmp_path_factory):
    path = tmp_path_factory.mktemp('pictures') / 'a.png'
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (16, 16, 3), dtype=np.uint8)).save(path)
    return path


def test_a_question_about_an_image_is_answered_by_a_span(trained, runner, picture):
    workdir = trained('questions about images').workdir
    assert {path.name for path in workdir.iterdir()} >= {'tokenizer.json', 'processor.json'}
    question = '--question=What colour is the cross on the left?', f'--context={CONTEXT}'
    (answer,) = asked(runner, 'predict', workdir, f'--image={picture}', *question)
    assert answer['image'] == str(picture)
    assert CONTEXT[answer['start'] : answer['stop']] == answer['answer'] != ''


def test_questions_about_images_of_ones_own_are_learned_and_asked(runner, picture, tmp_path):
    folder = tmp_path / 'mine'
    folder.mkdir()
    for number in range(6):
        shutil.copy(picture, folder / f'{number}.png')
    records = [
        dict(image=f'{number % 6}.png', question=f'what is at {number}?', context='a hat or a cat', answer='a cat')
        for number in range(30)
    ]
    file = folder / 'questions.jsonl'
    file.write_text('\n'.join(map(json.dumps, records)))
    fields = (
        *SHORT, 'steps=2', 'batch_size=4', 'model.block.mixer.heads=2', 'data.images.size=(32,32)',
        'data.images.resize=32', 'model.vocabulary=64', 'model.context_length=132',
        'model.embed.image_position.rows=2', 'model.embed.image_position.columns=2', f'data.path={file}',
    )  # fmt: skip
    given = f'--config={EXPERIMENTS}/vision/question_files.py', *(f'--config.{field}' for field in fields)
    done = runner.run('train', *given, f'--workdir={tmp_path}/run')
    assert done.returncode == 0, done.stderr
    assert len(asked(runner, 'predict', tmp_path / 'run', f'--file={file}')) == 30
    file.write_text('\n'.join(map(json.dumps, [*records, records[0] | {'answer': 'a dog'}])))
    words = "questions.jsonl, line 31: the answer 'a dog' is not in the context"
    assert_refused(runner.run('train', *given, f'--workdir={tmp_path}/other'), words)


def test_the_class_of_a_graph_is_predicted(trained, runner, tmp_path):
    workdir, new = trained('graphs').workdir, tmp_path / 'new.jsonl'
    new.write_text(json.dumps(dict(nodes=['C', 'O'], edges=[[0, 1]])))
    (found,) = asked(runner, 'predict', workdir, f'--file={new}')
    assert found['label'] in ('with', 'without')
    assert sum(found['probabilities'].values()) == pytest.approx(1, abs=SAME)
    assert "['C', 'O']" in runner.run('predict', f'--workdir={workdir}', f'--file={new}').stdout


def test_proteins_are_embedded_and_give_a_classifier_its_encoder(trained, runner, tmp_path):
    run, vectors = trained('proteins'), tmp_path / 'vectors.npy'
    assert 'masked_accuracy' in asked(runner, 'evaluate', run.workdir)[0]
    texts = '--text=MKVwq', '--text=MKVWQ', f'--text={20 * "MKV"}'
    (embedded,) = asked(runner, 'embed', run.workdir, *texts, f'--out={vectors}')
    lower, upper, other = np.load(vectors)
    np.testing.assert_array_equal(lower, upper)
    assert not np.allclose(upper, other)
    assert embedded['texts'][0]['tokens'] == ['[CLS]', *'MKVWQ', '[SEP]']
    fields = (
        'steps=4', 'eval_every=2', 'batch_size=4', 'schedule.warmup=1', f'init_from={run.workdir}',
        'data.label=description', f'data.path={run.data}', 'data.context_length=24',
    )  # fmt: skip
    given = f'--config={EXPERIMENTS}/protein/order.py', *(f'--config.{field}' for field in fields)
    done = runner.run('train', *given, f'--workdir={tmp_path / "classes"}')
    assert done.returncode == 0, done.stderr
    (found,) = asked(runner, 'predict', tmp_path / 'classes', '--text=MLVWQ')
    assert found['label'] in ('a', 'b')


def test_a_diagnostic_is_measured_at_another_length_and_on_other_data(trained, runner):
    workdir = trained('diagnostics').workdir
    assert asked(runner, 'evaluate', workdir, '--length=128')[0]['unit'] == 'sequences'
    (own,), (others,) = (
        asked(runner, 'evaluate', workdir, *more) for more in ((), ('--config.data.generator.pairs=2', '--length=128'))
    )
    assert own['loss'] != others['loss']
    assert others['baseline']['loss'] != own['baseline']['loss']
