"""Pipelines whose stages are actors of Ray."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from .pipeline import AHEAD, CompiledStage, Values
from .ray_engine import require_ray


def run_on_actors(
    stages: Sequence[CompiledStage], feeds: Iterable[Values]
) -> Iterator[dict[str, np.ndarray]]:
    """Run `stages` as actors of Ray, which send each other values; yield the outputs in order."""
    ray = require_ray()
    actor = ray.remote(num_cpus=stages[0].threads)(_StageActor)
    actors = [actor.remote(stage) for stage in stages]
    waiting: deque[Any] = deque()
    for feed in feeds:
        values: Any = feed
        for each in actors:
            values = each.run.remote(values)
        waiting.append(values)
        if len(waiting) >= AHEAD * len(stages):
            yield ray.get(waiting.popleft())
    while waiting:
        yield ray.get(waiting.popleft())


class _StageActor:
    """A stage on a worker of Ray."""

    def __init__(self, stage: CompiledStage):
        self._stage = stage

    def run(self, values: Values) -> dict[str, np.ndarray]:
        """`CompiledStage.run`."""
        return self._stage.run(values)
