# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Training loop: trains the model of a config in the run's folder, with logs, evaluations and checkpoints."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, NoReturn

import jax

from saccade.data.pipeline import eval_batches, train_batches
from saccade.data.split import Row
from saccade.nearest import nearest
from saccade.progress import InterruptedWorkError, interrupted_by, listening
from saccade.train.backend import Backend, replace_params
from saccade.train.checkpoint import Checkpoints
from saccade.train.declared import declared, ranking, targets
from saccade.train.device_memory import device_limit, refused_bytes
from saccade.train.digests import keep, prepare, require_same_data, verified
from saccade.train.evaluate import (
    Evaluation,
    baseline_of,
    evaluate,
    evaluate_lengths,
    evaluation,
    prepare_lengths,
    require_sample,
    vocabulary_of,
    with_task_metrics,
)
from saccade.train.experiment import Experiment
from saccade.train.extend import extends, require_same_rates
from saccade.train.extension_schedule import extension_lines, rates_of
from saccade.train.fitting import TOO_LARGE, too_large
from saccade.train.learner import TrainState
from saccade.train.log.display import Display
from saccade.train.log.log import OUTCOME, PART, Log, RunConsole, read, solved_step
from saccade.train.log.provenance import changed_code, recorded
from saccade.train.meter import Meter
from saccade.train.plan import RunPlan, row_lines
from saccade.train.process.lock import locked
from saccade.train.process.memory import HELD, return_large_blocks
from saccade.train.process.processes import Stop, require_shared
from saccade.train.setup import (
    make_backend,
    ranked_lines,
    require_devices,
    require_lengths,
    require_parts,
    require_ranking,
)
from saccade.train.start import start_from
from saccade.train.trained import verified_folder
from saccade.train.workdir import BEFORE, FREE, Workdir
from saccade.types import Params, Prepared, Processor, Split, UserError


@dataclass(frozen=True)
class Options:
    """Options of a launch that are not part of the experiment.

    Attributes:
        profile: first and last step of a profiler window, written to the run's folder.
        quiet: print nothing.
        restart: start again from step 0, and move the run's earlier files to `before_restart/`.
        force: train even if a step far exceeds the memory of a device.
    """

    profile: tuple[int, int] | None = None
    quiet: bool = False
    restart: bool = False
    force: bool = False


def train(config: Mapping[str, Any], workdir: str, options: Options = Options()) -> dict[str, Any]:
    """Train to the end, resuming from the folder's checkpoints, and return the final evaluation.

    Raises:
        UserError: the config is inconsistent, or does not fit the data, the devices or the folder; or training
            diverged.
    """
    with Stop().heard() as stop:
        return Run(config, workdir, options).train(stop)


class Run:
    """Training run of a config in a folder; call `train` once.

    The constructor checks everything before anything is written to the folder, fast checks first: the config and the
    folder, the data, then tracing and compilation.

    Raises:
        UserError: the config is inconsistent, or does not fit the folder, the data or the devices.
    """

    def __init__(self, config: Mapping[str, Any], workdir: str, options: Options) -> None:
        self.experiment = experiment = Experiment.of(config)
        self.options = options
        self.display = Display(RunConsole(quiet=options.quiet or jax.process_index() > 0, highlight=False))
        self.data = experiment.data()
        self.sample = experiment.sample() if experiment.sample else None
        self.sinks = [sink() for sink in experiment.logging] if jax.process_index() == 0 else []
        there = Workdir.at(workdir)
        self.config, self.free = config, _free(there, config)
        self.workdir = there.require(config, free=self.free)
        self._require_same_rates()
        require_parts(experiment)
        require_devices(experiment)
        self.prepared, self.lengths = self._prepare(self._processor())
        with self.display.phase('building'):
            require_lengths(experiment)
            require_ranking(experiment)
        with self.display.phase('compiling'):
            self.backend = self._backend()
        self.tokens = experiment.tokens
        self.targets = targets(experiment)
        self.plan = RunPlan.of(_what(config), self.backend, experiment.model, self.tokens)
        self._require_memory()
        if self.plan.limit is not None and self.plan.peak_bytes * HELD > self.plan.limit:
            return_large_blocks()
        extended = [extension() for extension in experiment.extended]
        changes = extension_lines(experiment.schedule(), extended, experiment.steps)
        parts = {'config.model': experiment.model, 'config.task': experiment.task}
        devices = 1 if self.backend.traced else self.backend.devices
        mixed = row_lines(parts, experiment.batch_size, experiment.accumulate, devices)
        lines = [*self.plan.lines(), *mixed, *ranked_lines(experiment), *changes]
        self.display.say('\n'.join([*lines, f'live page   {self.workdir.live}']))

    def _require_same_rates(self) -> None:
        """Check that a changed number of steps does not change the learning rates of completed steps."""
        if self.workdir.config.exists():
            saved = [int(path.name) for path in self.workdir.checkpoints.glob('[0-9]*') if path.name.isdecimal()]
            require_same_rates(self.experiment, self.workdir.read_config()['steps'], max(saved, default=0))

    def _backend(self) -> Backend:
        """Compile the step.

        Raises:
            UserError: the compiler rejects it (on TPU) because it exceeds the memory of a device.
        """
        try:
            return make_backend(self.experiment)
        except jax.errors.JaxRuntimeError as error:
            needed, limit = refused_bytes(error), device_limit()
            if needed is None or limit is None:
                raise
            raise too_large(self.experiment, needed, limit) from error

    def _require_memory(self) -> None:
        """Check that a step does not far exceed the memory of a device.

        Raises:
            UserError: it does, and `force` is not set.
        """
        peak, limit = self.plan.peak_bytes, self.plan.limit
        if limit is not None and peak > TOO_LARGE * limit and not self.options.force:
            with self.display.phase('compiling a smaller batch'):
                refusal = too_large(self.experiment, peak, limit)
            raise refusal

    def _processor(self) -> Processor | None:
        """Return the processor of the run, or of its initial weights; None: it is made from the data.

        Raises:
            UserError: the model does not fit the processor.
        """
        folders = [verified(self.workdir)]
        if self.experiment.init_from:
            folders.append(verified_folder(self.experiment.init_from))
        opened = (self.data.open_processor(folder) for folder in folders)
        found = next((processor for processor in opened if processor is not None), None)
        self.data.require_model(self.experiment.model, found)
        return found

    def train(self, stop: Stop | None = None) -> dict[str, Any]:
        """Train to the last step, resuming from the latest checkpoint, and return the final evaluation.

        Args:
            stop: polled after each step, and each batch of an evaluation.

        Raises:
            UserError: another process is training the run, or training diverged.
        """
        first, mirror = jax.process_index() == 0, self.workdir.mirror
        with (
            listening(self.display.begin),
            locked(self.workdir.lock, self._refuse_second) if first else contextlib.nullcontext(),
            mirror.leased(self._refuse_second, self.display.say) if first else contextlib.nullcontext(),
        ):
            self._begin(self.prepared)
            return self._train(self.prepared, stop or Stop())

    def _train(self, prepared: Prepared, stop: Stop) -> dict[str, Any]:
        run, steps = self.experiment, self.experiment.steps
        with (
            recorded(self.workdir.provenance, self.config) as record,
            Checkpoints(
                self.workdir.checkpoints, run.keep_last, run.keep_best, ranking(run), self.workdir.mirror
            ) as checkpoints,
        ):
            state, start, lines = self._start(checkpoints)
            ended = start == steps or start == solved_step(read(self.workdir.metrics))
            concluded = ended and self._is_evaluated(start, 'validation')
            with self._log(start, lines) as log, stop.training() as stopped, interrupted_by(stop.now):
                done = start
                if not ended:
                    state, done, ended = self._steps(state, start, prepared, checkpoints, log, stopped)
                self._save(checkpoints, done, state, log)  # before the evaluation, which may be long, or killed
                found = None
                if ended:
                    with contextlib.suppress(InterruptedWorkError):
                        found, ranked = self._conclude(state, done, prepared, None if concluded else log)
                        checkpoints.add_metrics(done, ranked.metrics, {'lines': log.lines})
                record['status'] = 'finished' if found else 'stopped'
        if found is None:
            where = 'in the final evaluation' if ended else f'after step {done}'
            self.display.say(f'stopped by a signal {where}; saved. The same command continues.')
            return {}
        self.display.say('\n'.join(found.lines()))
        if self.targets:
            solved = f'at step {done:,} of {steps:,}' if self._is_solved(found) else f'not within {steps:,} steps'
            self.display.say(f'solved      {solved}')
        return found.record()

    def _prepare(self, processor: Processor | None) -> tuple[Prepared, list[tuple[Experiment, Split]]]:
        """Prepare the data, and the validation split at each length of the final evaluation.

        Raises:
            UserError: the data cannot be read, do not fit the model, or differ from the data of the run's first start.
        """
        with listening(self.display.begin), self.display.phase('preparing data'):
            prepared = prepare(self.data, processor)
            self.data.require_model(self.experiment.model, prepared.processor)
            vocabulary_of(self.experiment, prepared.processor)  # a baseline is refused now, not after training
            require_sample(self.experiment, prepared.processor)
            require_same_data(self.workdir, self.experiment, prepared)
            return prepared, prepare_lengths(self.experiment, prepared.processor)

    def _begin(self, prepared: Prepared) -> None:
        """Write the config and other descriptions of the run to its folder."""
        first, mirror = jax.process_index() == 0, self.workdir.mirror
        if self.options.restart and first:
            mirror.complete()
            if before := self.workdir.set_aside():
                self.display.say(f"restart     the run's earlier files are in {before}")
        if change := changed_code(self.workdir, self.config):
            self.display.say(f'resume      {change}')
        # Another run may have begun there since the check of the folder.
        self.workdir.require(self.config, free=self.free).store(self.config)
        require_shared(self.workdir.config)
        if first:
            declared(self.experiment).write(self.workdir.declarations)
        keep(self.workdir, prepared)
        if first:
            mirror.push()
            mirror.tidy()

    def _refuse_second(self, holder: str) -> NoReturn:
        raise UserError(f'{self.workdir.path}: is being trained by {holder}; wait for it, or stop it')

    def _start(self, checkpoints: Checkpoints) -> tuple[TrainState, int, int]:
        """Return the state to go on from, its step, and how many lines the log had then."""
        restored = checkpoints.restore_latest(_as_dict(self.backend.like))
        if restored is not None:
            if restored.step > self.experiment.steps:
                raise UserError(
                    f'{self.workdir.path}: the run is at step {restored.step}, past steps={self.experiment.steps}'
                )
            self.display.say(f'resume      from step {restored.step}')
            return self.backend.load(TrainState(**restored.state)), restored.step, restored.extra['lines']
        self.refuse_to_erase(checkpoints)
        state = self.backend.init(self.experiment.seed)
        if self.experiment.init_from:
            run = self.experiment
            learner = self.backend.learner
            initial = learner.adapter.merged(self.backend.unload(state).params)
            begun = start_from((run.init_from, run.init_part), initial, learner.axes, run.adapt)
            self.display.say('\n'.join(begun.lines()))
            state = replace_params(self.backend, state, begun.params)
        return state, 0, 0

    def refuse_to_erase(self, checkpoints: Checkpoints) -> None:
        """Check that a run with a later checkpoint does not start at step 0, since its log would be lost.

        A save waits for the previous one, so a log beyond the second save implies that the first was complete.

        Raises:
            UserError: no checkpoint can be used, but the log shows that one existed.
        """
        logged = max((record['step'] for record in read(self.workdir.metrics)), default=0)
        if checkpoints.any_traces() or 0 < 2 * self.experiment.checkpoint_every < logged:
            raise UserError(
                f'{self.workdir.path}: no checkpoint can be used, though the run had reached step {logged}: restore '
                f'its checkpoints, or start again from step 0 with --restart, which keeps the files in {BEFORE}/'
            )
        if logged:
            self.display.say(f'start       from step 0 again: the run ended at step {logged}, before a checkpoint')

    def _log(self, start: int, lines: int) -> Log:
        return Log(
            self.workdir.path,
            self.experiment.steps,
            start=start,
            lines=lines,
            display=self.display,
            config=self.config,
            sinks=self.sinks,
        )

    def _steps(
        self,
        state: TrainState,
        start: int,
        prepared: Prepared,
        checkpoints: Checkpoints,
        log: Log,
        stopped: Callable[[int], bool],
    ) -> tuple[TrainState, int, bool]:
        """Train until the last step, a solved task or a signal.

        Returns:
            The state; its step; True if the run has ended, at its last step or because the task is solved.
        """
        run, step, solved = self.experiment, start, False
        if start == 0:
            log.plan(self.plan.metrics())
        batches = train_batches(prepared.splits['train'], run.batch_size, run.seed, start, *self.backend.reads)
        meter = Meter(self.plan, self.backend)
        rates = rates_of(self.backend.learner.schedule, run.steps)
        between = 0 < start < run.steps and due(start, run.eval_every)
        if between and not self._is_evaluated(start, _name(self._part)):  # it was interrupted
            with contextlib.suppress(InterruptedWorkError):
                found, solved = self._evaluated(state, prepared, start, log)
                checkpoints.add_metrics(start, found.metrics, {'lines': log.lines})
        while step < run.steps and not solved and not stopped(step):
            rows = next(batches)
            batch = self.backend.place(rows)
            with self._profiled(step + 1):
                state, metrics = self.backend.train_step(state, batch, rates[step])
            step += 1
            log.step(step)
            meter.add(step, metrics, self._share(rows))
            evaluating = due(step, run.eval_every) and step < run.steps
            may_end = step == run.steps or (evaluating and self.targets)
            if may_end or due(step, run.log_every):
                log.write(step, 'train', meter.read())
            found = None
            if evaluating:
                with contextlib.suppress(InterruptedWorkError):
                    found, solved = self._evaluated(state, prepared, step, log)
                meter.restart()
            if due(step, run.checkpoint_every) and step < run.steps and not solved:
                meter.check()
                self._save(checkpoints, step, state, log, found)
        meter.check()
        return state, step, solved or step == run.steps

    def _evaluated(self, state: TrainState, prepared: Prepared, step: int, log: Log) -> tuple[Evaluation, bool]:
        """Evaluate during training. Return the evaluation, and True if it solves the task, in which case the final
        evaluation logs it.
        """
        part = self._part
        found = self.measure(state, prepared, step, part)
        if self._is_solved(found) and (not part or self._is_solved(self.measure(state, prepared, step))):
            return found, True
        self._report(found, state, prepared, log)
        return found, False

    def _is_solved(self, found: Evaluation) -> bool:
        """Return True if `stop_at` has values and an evaluation reaches all of them.

        Raises:
            UserError: the evaluation lacks one of the metrics.
        """
        for metric in self.targets:
            if metric.name not in found.metrics:
                near = nearest(metric.name, found.metrics)
                raise UserError(f"config.stop_at: an evaluation of these data has no '{metric.name}'{near}")
        signs = {'lowest': -1, 'highest': 1}
        return bool(self.targets) and all(
            signs[metric.best] * found.metrics[metric.name] >= signs[metric.best] * value
            for metric, value in self.targets.items()
        )

    def _is_evaluated(self, step: int, split: str) -> bool:
        """True if the log has the evaluation of a step, which a signal may have interrupted."""
        records = read(self.workdir.metrics)
        return any(record['step'] == step and record['split'] == split for record in records)

    @property
    def _part(self) -> int:
        """Number of batches of an evaluation during training; 0 if they cover the whole split."""
        batches, rows = self.experiment.eval_batches, self.prepared.splits['validation'].rows
        return batches if batches * self.experiment.batch_size < len(rows) else 0

    def _share(self, rows: Row) -> float:
        """Return the size of this process's rows relative to its share of the planned batch."""
        planned, ours = (sum(leaf.size for leaf in jax.tree.leaves(tree)) for tree in (self.backend.rows_like, rows))
        return ours * self.backend.reads[1] / planned

    def measure(self, state: TrainState, prepared: Prepared, step: int, limit: int = 0) -> Evaluation:
        """Evaluate the state, on the first `limit` batches of the validation split or on all."""
        split, batch_size = prepared.splits['validation'], self.experiment.batch_size
        batches = eval_batches(split, batch_size, *self.backend.reads, limit or None)
        backend = self.backend
        metrics = evaluate(lambda rows: backend.host(backend.eval_step(state.averaged, backend.place(rows))), batches)
        found = evaluation(step, _name(limit), split, metrics)
        return with_task_metrics(self.experiment, self._weights(state), split, found, limit or None, backend)

    def _conclude(
        self, state: TrainState, step: int, prepared: Prepared, log: Log | None
    ) -> tuple[Evaluation, Evaluation]:
        """Evaluate the trained model; log its baseline, evaluations at other lengths, the outcome, and then its own.

        Returns: evaluation of the whole split, with the baseline; evaluation of the rows of those during training, by
        which the checkpoint is compared with earlier ones.
        """
        found = self.measure(state, prepared, step)
        ranked = self.measure(state, prepared, step, self._part) if self._part else found
        baseline = baseline_of(self.experiment, prepared, found.split, found.step)
        if log is not None:
            # Evaluate everything before logging, so that an interruption leaves no partial results.
            others = [*evaluate_lengths(self.lengths, self._weights(state), found.step)]
            part = [] if ranked is found else [ranked]
            for other in (*([baseline] if baseline else []), *others, *part):
                log.write(other.step, other.split, other.metrics)
            if self.targets:
                log.write(step, OUTCOME, {'solved': int(self._is_solved(found))})
            self._report(found, state, prepared, log)
        return found.compared(baseline, self.experiment.baseline), ranked

    def _report(self, found: Evaluation, state: TrainState, prepared: Prepared, log: Log) -> None:
        """Log an evaluation, and a sample of the model's output."""
        log.write(found.step, found.split, found.metrics)
        if self.sample:
            key = jax.random.fold_in(jax.random.key(self.experiment.seed), found.step)
            log.sample(found.step, self.sample(self.experiment.model(), self._weights(state), prepared.processor, key))

    def _save(
        self, checkpoints: Checkpoints, step: int, state: TrainState, log: Log, found: Evaluation | None = None
    ) -> None:
        metrics, extra = {} if found is None else found.metrics, {'lines': log.lines}
        checkpoints.save(step, _as_dict(self.backend.unload(state)), metrics, extra)

    def _weights(self, state: TrainState) -> Params:
        return self.backend.learner.weights(self.backend.unload(state))

    @contextlib.contextmanager
    def _profiled(self, step: int) -> Iterator[None]:
        first, last = self.options.profile or (0, 0)
        if step == first:
            jax.profiler.start_trace(str(self.workdir.path / 'profile'))
        yield
        if step == last:
            jax.profiler.stop_trace()


def due(step: int, every: int) -> bool:
    """Return True if an action with an interval in steps is due after this step; 0 is never."""
    return every > 0 and step % every == 0


def _name(part: int) -> str:
    """Return the name of the split in the log; `part` is the number of its batches, 0 for all."""
    return f'validation{PART}' if part else 'validation'


def _as_dict(state: TrainState) -> dict[str, Any]:
    return {field.name: getattr(state, field.name) for field in fields(state)}


def _what(config: Mapping[str, Any]) -> str:
    data = config['data']
    source = data.get('path') or data.get('name') or data['use']
    return f'{config["task"]["use"]} with {config["model"]["use"]} on {source}, {config["steps"]} steps'


def _free(there: Workdir, config: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the fields in which a run may differ from its first start."""
    recorded = there.read_config() if there.config.is_file() else config
    return (*FREE, 'extended') if extends(recorded, config) else FREE
