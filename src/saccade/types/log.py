# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Protocol of a log sink."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from saccade.types.task import Metrics


@runtime_checkable
class Sink(Protocol):
    """Log sink: where a run's metrics and samples are written. Process 0 alone makes it, before compilation.

    All its methods are called in one thread, which is not the main thread. If one raises, or takes so long that the log
    piles up, the run says so and goes on without the sink.
    """

    def open(self, folder: Path, config: Mapping[str, Any], start: int) -> None:
        """Begin the log of the run in a folder, or go on with it after step `start`; 0 begins anew.

        Later steps that were logged before will come again: the run was stopped and goes on from its checkpoint.
        """
        ...

    def write(self, step: int, split: str, metrics: Metrics) -> None:
        """Take the metrics of one step of one split; those of step 0, split 'plan', say what the run will cost."""
        ...

    def sample(self, step: int, text: str) -> None:
        """Take a text that the model generated at one step."""
        ...

    def close(self) -> None:
        """Close the log after the last step or after an error. It is called once, if `open` returned."""
        ...
