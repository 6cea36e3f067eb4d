# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Run the contracts on the layers of a library: `python -m conformance --library=NAME`.

    python -m conformance --make=x_transformers                          # its environment, in .conformance/
    python -m conformance --library=x_transformers --json=a.json --junit=a.xml
    python -m conformance --library=my_adapter.py --layer=MyAttention    # an adapter of one's own
    python -m conformance --board                                        # pages, from the committed results

A library that has an environment is run in it. Exit status 1 if a contract fails.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from conformance import environments
from conformance.contracts import CONTRACTS
from conformance.junit import junit
from conformance.run import FAIL, NOT_OFFERED, AdapterError, adapter_of, layers_of, libraries, provenance, run, text_of


def arguments() -> argparse.ArgumentParser:
    """Return the parser of the command's arguments."""
    made = [name for name in libraries() if name != 'saccade']  # Saccade is run where it is installed
    parser = argparse.ArgumentParser(prog='python -m conformance', description=__doc__.splitlines()[0])
    parser.add_argument('--library', metavar='NAME', help=f'an adapter file, or one of {", ".join(libraries())}')
    parser.add_argument(
        '--layer',
        action='append',
        metavar='NAME',
        help='only this layer; may be repeated; others in the JSON file are kept',
    )
    parser.add_argument('--contract', action='append', choices=CONTRACTS, metavar='NAME', help='only this contract')
    parser.add_argument('--json', type=Path, metavar='FILE', help='write the verdicts')
    parser.add_argument('--junit', type=Path, metavar='FILE', help='write the verdicts for a CI')
    parser.add_argument('--make', choices=made, metavar='NAME', help='make the environment of a library')
    parser.add_argument('--board', action='store_true', help='write the pages of conformance/results')
    return parser


def main(given: list[str]) -> int:
    """Run the command; return its exit status."""
    parser = arguments()
    asked = parser.parse_args(given)
    if asked.make:
        try:
            environments.make(asked.make)
        except (subprocess.CalledProcessError, FileNotFoundError) as error:
            parser.error(f'the environment of {asked.make} cannot be made: {error}')
    elif asked.board:
        from conformance.board import write  # needs Saccade

        write()
    elif asked.library:
        try:
            return _run(asked, given)
        except (AdapterError, OSError) as error:
            parser.error(str(error))
    else:
        parser.error('one of --library, --make and --board is needed')
    return 0


def _run(asked: argparse.Namespace, given: list[str]) -> int:
    name = asked.library
    ours = name in libraries()
    if not ours and not Path(name).is_file():
        raise AdapterError(f'--library={name}: no such file, and none of {", ".join(libraries())}')
    python = environments.python_of(name) if ours else Path(sys.executable)
    if ours and python.is_file() and Path(sys.prefix) != python.parents[1]:
        os.execv(python, [str(python), '-m', 'conformance', *given])
    adapter = adapter_of(name)
    layers = layers_of(adapter)
    if unknown := set(asked.layer or ()) - set(layers):
        raise AdapterError(f'{name} has no layer {", ".join(sorted(unknown))}; it has {", ".join(layers)}')
    chosen = {layer: layers[layer] for layer in asked.layer or layers}
    contracts = [CONTRACTS[each] for each in asked.contract or CONTRACTS]
    library = getattr(adapter, 'TITLE', Path(name).stem)
    about = {'library': library, **provenance(name, getattr(adapter, 'REQUIRES', ()))}
    earlier = _earlier(asked, about)
    start, results = time.perf_counter() - earlier.get('seconds', 0), earlier.get('layers', {})
    for layer, verdicts, seconds in run(chosen, contracts):
        results[layer] = verdicts
        print(_line(layer, verdicts, seconds), flush=True)
        found = {
            **about,
            'seconds': round(time.perf_counter() - start),
            'note': getattr(adapter, 'NOTE', ''),
            'layers': {each: results[each] for each in layers if each in results},
        }
        if asked.json:  # after each layer, as a library may take an hour
            asked.json.write_text(text_of(found))
    if asked.junit:
        asked.junit.write_text(junit(found))
    return int(any(each['verdict'] == FAIL for layer in chosen for each in results[layer].values()))


def _earlier(asked: argparse.Namespace, about: dict[str, Any]) -> dict[str, Any]:
    """Return what the JSON file has, if all contracts of some layers are asked for: other layers are kept."""
    if not (asked.layer and not asked.contract and asked.json and asked.json.is_file()):
        return {}
    try:
        found = json.loads(asked.json.read_text())
        changed = [name for name in ('library', 'versions', 'python') if found[name] != about[name]]
    except (ValueError, TypeError, KeyError):
        raise AdapterError(f'{asked.json} has no results of this command; name another file') from None
    if changed:
        raise AdapterError(f'{asked.json} was measured with another {changed[0]}; run all layers, or name another file')
    return found


def _line(layer: str, verdicts: dict[str, Any], seconds: float) -> str:
    failed = [
        f'    fails {name}: {each.get("difference", each.get("note"))}'
        for name, each in verdicts.items()
        if each['verdict'] == FAIL
    ]
    offered = sum(each['verdict'] != NOT_OFFERED for each in verdicts.values())
    return '\n'.join([f'{layer}: {offered - len(failed)} of {offered} pass ({seconds:.1f} s)', *failed])


if __name__ == '__main__':
    # Before an adapter imports JAX; the programs are small, and compiled for many lengths.
    os.environ.setdefault('JAX_PLATFORMS', 'cpu')
    os.environ.setdefault('XLA_FLAGS', '--xla_backend_optimization_level=0')
    sys.exit(main(sys.argv[1:]))
