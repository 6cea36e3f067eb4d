# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Trust: which classes and functions the config of a run may name when somebody else wrote it.

Opening a run builds the parts that its config.json names, and building a part imports and calls it. So before
anything is imported, each name is looked up. It is decided on names alone:

- a part: a name that a file of ours declares in `__all__` (`saccade/parts.py`). Files of other kinds, as those that
  write files and those that run the training, declare none.
- a name of THEIRS: of jax and of optax, each one written out.
- a name that the user trusts: `--trust=my_lab.attention:Mine`, or SACCADE_TRUST in the environment. A module of the
  user's own may be trusted as a whole, with those below it: `--trust=my_lab`. Of an installed library or of Python
  only exact names can be trusted: `numpy` as a whole has functions that write files.

A config that the user launches is the user's own program, and may name anything.
"""

import os
import re
import sys
from collections.abc import Iterable
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

from saccade.parts import parts, uses
from saccade.types import UserError

VARIABLE = 'SACCADE_TRUST'

# The only list by hand: libraries also have what reads and writes files and what calls back into Python.
THEIRS = {
    'jax.nn': 'celu elu gelu glu hard_sigmoid hard_silu hard_swish hard_tanh identity leaky_relu log_sigmoid '
    'log_softmax mish relu relu6 selu sigmoid silu soft_sign softmax softplus sparse_plus sparse_sigmoid squareplus '
    'standardize swish tanh',
    'jax.nn.initializers': 'constant delta_orthogonal glorot_normal glorot_uniform he_normal he_uniform kaiming_normal '
    'kaiming_uniform lecun_normal lecun_uniform normal ones orthogonal truncated_normal uniform variance_scaling '
    'xavier_normal xavier_uniform zeros',
    'jax.numpy': 'abs arctan cos exp sin square tanh',
    'optax': 'identity scale_by_adadelta scale_by_adam scale_by_adamax scale_by_adan scale_by_amsgrad scale_by_belief '
    'scale_by_factored_rms scale_by_lion scale_by_novograd scale_by_optimistic_gradient scale_by_param_block_norm '
    'scale_by_param_block_rms scale_by_radam scale_by_rms scale_by_rprop scale_by_rss scale_by_sign scale_by_sm3 '
    'scale_by_stddev scale_by_trust_ratio scale_by_yogi trace',
    'optax.contrib': 'scale_by_acprop scale_by_ademamix scale_by_adopt scale_by_muon scale_by_simplified_ademamix',
}

_MODULE = re.compile(r'[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)*')
_NAME = re.compile(rf'{_MODULE.pattern}:[A-Za-z_][A-Za-z0-9_]*')
_OURS = Path(__file__).parent
_LISTED = 5  # names in one message


def trust(names: Iterable[str]) -> None:
    """Trust names, or modules and those below them, in this process and in those that it starts.

    Raises:
        UserError: one is neither the name of a class or function nor that of a module of the user's own.
    """
    names = [*trusted(), *names]
    for name in names:
        module, colon, attribute = name.partition(':')
        if not _MODULE.fullmatch(module) or bool(colon) != attribute.isidentifier():
            raise UserError(f"--trust={name}: name a class or function, as in 'my_lab.attention:Mine', or a module")
        if not colon and _is_installed(module):
            raise UserError(f"--trust={name}: is installed code; trust exact names of it, as in '{name}:NAME'")
    os.environ[VARIABLE] = ','.join(dict.fromkeys(names))


def trusted() -> list[str]:
    """Names and modules that the user trusts."""
    return [name.strip() for name in os.environ.get(VARIABLE, '').split(',') if name.strip()]


def require_trusted(config: Any, where: str) -> None:
    """Refuse a config that names code which is neither ours nor trusted. Nothing is imported.

    Args:
        config: a whole config, or a spec.
        where: the file that contains it.

    Raises:
        UserError: it names such code; all of its fields, and the flag that would allow it, are named.
    """
    others = [(path, use) for path, use in uses(config) if not (_is_ours(use) or _is_trusted(use))]
    if not others:
        return
    shown = ', '.join(f'{path}: {_shown(use)}' for path, use in others[:_LISTED])
    more = f', and {len(others) - _LISTED} more,' if len(others) > _LISTED else ''
    one = len(others) == 1
    raise UserError(
        f'{where}: {shown}{more} {"is" if one else "are"} no part of Saccade, and opening would run '
        f'{"it" if one else "them"}; {_remedy([use for _, use in others])}'
    )


def foreign(config: Any) -> list[str]:
    """Names of a config that are not ours: what `--trust` needs to open its run."""
    return sorted({use for _, use in uses(config) if not _is_ours(use)})


def outside(config: Any) -> list[str]:
    """Modules outside the package that a config names, without those of the standard library."""
    modules = {use.partition(':')[0] for _, use in uses(config) if not _is_ours(use)}
    return sorted(module for module in modules if _is_elsewhere(module.partition('.')[0]))


def _is_ours(use: str) -> bool:
    """True for a part of the package and for a listed name of jax or optax."""
    module, _, name = use.removeprefix('saccade.').partition(':')
    return name in parts().get(module, ()) or name in THEIRS.get(module, '').split()


def _is_trusted(use: str) -> bool:
    module = use.partition(':')[0]
    return any(use == name or module == name or module.startswith(f'{name}.') for name in trusted())


def _is_elsewhere(root: str) -> bool:
    """True if a top-level module may be one of the user's: neither ours nor the standard library's."""
    ours = root == 'saccade' or (_OURS / root).is_dir() or (_OURS / f'{root}.py').is_file()
    return bool(_MODULE.fullmatch(root)) and root not in sys.stdlib_module_names and not ours


def _is_installed(module: str) -> bool:
    """True if a module is Python's, ours, or of a distribution that is installed."""
    root = module.partition('.')[0]
    return not _is_elsewhere(root) or root in packages_distributions()


def _remedy(uses: Iterable[str]) -> str:
    """The flag that would allow these names; none where one is installed code, or no name of code at all."""
    names = sorted(set(uses))
    if any(not _NAME.fullmatch(name) or _is_installed(name.partition(':')[0]) for name in names):
        return 'it is not opened'
    return f'if you trust whoever wrote it, add --trust={",".join(names)} (in Python, set SACCADE_TRUST)'


def _shown(use: str) -> str:
    return repr(use if len(use) <= 80 else f'{use[:77]}...')
