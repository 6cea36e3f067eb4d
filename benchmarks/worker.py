# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Worker process of a variant under measurement: one JSON line in, one JSON line out.

    ["method", {"argument": ...}]  ->  {"value": ...}, or {"error": "..."}, after which it ends

The first line out says that the variant has been made. Everything else that is printed goes to standard error.
"""

import json
import os
import pkgutil
import sys
from collections.abc import Callable, Iterable
from io import TextIOBase
from typing import Any

from saccade.train.process.memory import keep_freed_memory


def serve(make: Callable[[], Any], requests: Iterable[str], replies: TextIOBase) -> None:
    """Make the variant and answer requests with its methods until there are no more."""

    def reply(**answer: Any) -> None:
        print(json.dumps(answer), file=replies, flush=True)

    try:
        variant = make()
        reply(value=None)
        for line in requests:
            method, arguments = json.loads(line)
            reply(value=getattr(variant, method)(**arguments))
    except Exception as error:
        reply(error=f'{type(error).__name__}: {error}')
        raise


def main(target: str, arguments: str) -> None:
    """Serve the class at an import path, 'package.module:Class', made with arguments in JSON."""
    keep_freed_memory()  # as a run has it; and the peers alike, whatever they gain by it
    replies = os.fdopen(os.dup(sys.stdout.fileno()), 'w')
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def make() -> Any:
        return pkgutil.resolve_name(target)(**json.loads(arguments))

    serve(make, sys.stdin, replies)


if __name__ == '__main__':
    main(*sys.argv[1:])
