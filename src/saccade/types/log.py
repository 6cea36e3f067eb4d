# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Protocol of a log sink."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from saccade.types.task import Metrics


@runtime_checkable
class Sink(Protocol):
    """Log sink: destination of a run's metrics and samples. Only process 0 creates it, before compilation.

    All methods are called in one thread, which is not the main thread. If one raises, or is so slow that the queue
    fills, the run prints a warning and continues without the sink.
    """

    def open(self, folder: Path, config: Mapping[str, Any], start: int) -> None:
        """Start the log of the run in a folder, or continue it after step `start`; 0 for a new log.

        Steps after `start` that were already logged are logged again: the run resumed from its checkpoint.
        """
        ...

    def write(self, step: int, split: str, metrics: Metrics) -> None:
        """Log the metrics of one step of one split; step 0 of split 'plan' has the estimated costs of the run."""
        ...

    def sample(self, step: int, text: str) -> None:
        """Log a text that the model generated at one step."""
        ...

    def close(self) -> None:
        """Close the log after the last step or after an error. Called once, if `open` returned."""
        ...
