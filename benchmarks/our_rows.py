# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Our side of the rows of `accelerator`: each method measures one, and returns figures and a line in words."""

import os
import threading
import time
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks import kernels
from benchmarks.utilisation import Options, matrix_rate, utilisation
from saccade.analysis.report.figures import machine
from saccade.attention.auto import choices
from saccade.decode.generate import generate
from saccade.decode.sampling import Sampler
from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.process.compilation_cache import use_compilation_cache
from saccade.types import LayerContext, UserError

Row = dict[str, Any]


class Rows:
    """Rows that are measured in this process, on the devices that JAX finds. It ends with the process that asks."""

    def __init__(self) -> None:
        use_compilation_cache()
        parent = os.getppid()

        def watch() -> None:
            while os.getppid() == parent:
                time.sleep(0.5)
            os._exit(1)

        threading.Thread(target=watch, daemon=True).start()

    def devices(self) -> Row:
        """Platform, kind and number of the devices, and versions."""
        device, count = jax.devices()[0], jax.device_count()
        memory = (device.memory_stats() or {}).get('bytes_limit')
        found = {
            'platform': device.platform,
            'kind': device.device_kind,
            'count': count,
            'memory_bytes': memory,
            'compute_capability': getattr(device, 'compute_capability', None),
            'machine': machine(),
        }
        room = '' if memory is None else f', {memory / 2**30:,.0f} GiB each'
        versions = ', '.join(f'{name} {version}' for name, version in found['machine']['versions'].items())
        return {**found, 'words': f'{count} x {device.device_kind} ({device.platform}){room}; {versions}'}

    def matrix_rate(self, rows: int) -> Row:
        """FLOP/s of square bfloat16 matrix products."""
        matrix_rate(rows, products=1)
        rate = matrix_rate(rows)
        return {
            'flops_per_second': rate,
            'words': f'{rate / 1e12:,.2f} TFLOP/s in products of {rows} x {rows}, bfloat16',
        }

    def agree(self, kernel: str, tokens: int, cases: Sequence[str]) -> Row:
        """Distance of a kernel's outputs and gradients from the whole matrix in float32, for each case and dtype."""
        found, beyond, refused = {}, [], 0
        for dtype, near in kernels.NEAR.items():
            for case in cases:
                name = f'{case}, {dtype}'
                found[name] = apart = kernels.differences(kernel, case, dtype, tokens)
                if isinstance(apart, str):
                    refused += 1
                elif not max(apart) <= near:  # nor where it is no number
                    beyond.append(f'{name} ({max(apart):.1e})')
        words = f'{len(found) - refused - len(beyond)} cases agree, {refused} refused'
        if beyond:
            words += f'; APART: {", ".join(beyond)}'
        if refused == len(found):
            words = f'refused: {next(iter(found.values()))}'
        return {'cases': found, 'near': kernels.NEAR, 'apart': beyond, 'words': words}

    def attention(self, kernel: str, lengths: Sequence[int], calls: int) -> Row:
        """Milliseconds and temporary bytes of causal attention, forward and backward, by length."""
        found = {}
        for length in lengths:
            taken = kernels.bytes_or_words(kernel, length, jax.devices()[0])
            if isinstance(taken, str):
                return {'refused': taken, 'words': f'refused: {taken}'}
            if taken is None:
                break  # nor will longer ones fit
            seconds = kernels.seconds_or_words(kernel, length, calls)
            found[length] = {'temp_bytes': taken, 'seconds': seconds}
        each = (f'T = {n}: {1000 * f["seconds"]:,.2f} ms, {f["temp_bytes"] / 2**20:,.1f} MiB' for n, f in found.items())
        return {'lengths': found, 'words': '; '.join(each)}

    def train(self, config: str, overrides: Sequence[str], rounds: int, steps: int, matrix: int, trace: str) -> Row:
        """Matrix utilisation and tokens/s of a config, the kernel of its layers, and its three largest costs."""
        options = Options(rounds, steps, matrix, trace, force=True)
        start = time.perf_counter()
        try:
            with choices() as made:
                figures = utilisation(config, overrides, options).figures
        except UserError as error:
            return {'refused': str(error), 'words': f'refused: {error}'}
        chosen = sorted({choice.name for choice in made})
        words = f'{figures["matrix_utilisation"]:.1%} of the matrix rate, {figures["tokens_per_second"]:,.0f} tokens/s'
        if chosen:
            words += f', chosen: {", ".join(chosen)}'
        costs = '; '.join(f'{cost["what"]} {cost["share"]:.0%}' for cost in figures['costs'])
        words += f'; largest costs: {costs}'
        return {**figures, 'chosen': chosen, 'seconds_in_all': time.perf_counter() - start, 'words': words}

    def decode(self, config: str, overrides: Sequence[str], rows: int, prompt: int, new: int) -> Row:
        """New tokens/s of greedy decoding in bfloat16 by a randomly initialised model, prompt included in the time."""
        model = Experiment.of(load_config(config, overrides)).model()
        tokens = jnp.zeros((1, prompt), jnp.int32)
        context = LayerContext(jnp.arange(prompt)[None])
        params = jax.jit(lambda key: model.init(key, tokens, context, False)['params'])(jax.random.key(0))
        params = jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), params)
        prompts = np.random.default_rng(rows).integers(model.vocabulary, size=(rows, prompt)).tolist()

        def seconds() -> float:
            start = time.perf_counter()
            generate(model, params, prompts, Sampler(temperature=0.0), new, jax.random.key(0))
            return time.perf_counter() - start

        seconds()
        rate = rows * new / seconds()
        return {'tokens_per_second': rate, 'words': f'{rate:,.0f} new tokens/s, {rows} rows, {prompt} + {new} tokens'}
