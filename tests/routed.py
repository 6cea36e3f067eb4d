# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Feed-forward layers of a catalogue."""

from typing import Any

from saccade.analysis.catalogue.catalogue import FEEDFORWARD, ROUTER, Catalogue
from saccade.feedforward.mixture import Mixture


def feedforwards(catalogue: Catalogue) -> dict[str, dict[str, Any]]:
    """Every feed-forward layer; and the mixture of experts with every router."""
    mixture = FEEDFORWARD.spec(Mixture)
    layers, routers = catalogue.specs(FEEDFORWARD), catalogue.specs(ROUTER).items()
    routed = {f'Mixture, {name}': {**mixture, 'router': router} for name, router in routers}
    return layers | {name: spec for name, spec in routed.items() if spec not in layers.values()}
