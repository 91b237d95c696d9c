"""The draws: functions that add one or more nodes to a graph. Each family has its own file."""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass

from .builder import GraphBuilder

Draw = Callable[[GraphBuilder], None]


@dataclass(frozen=True)
class Registered:
    """A draw and its weight."""

    draw: Draw
    weight: float
    since: int
    """The first opset that has the operators of the draw."""
    within: bool
    """True if the draw may occur in a subgraph."""

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.draw.__name__


_draws: dict[str, Registered] = {}


def draws(weight: float = 1.0, since: int = 1, within: bool = True) -> Callable[[Draw], Draw]:
    """Register the decorated function. Raises `ValueError` if its name is taken."""

    def register(draw: Draw) -> Draw:
        if draw.__name__ in _draws:
            raise ValueError(f"there are two draws called '{draw.__name__}'")
        _draws[draw.__name__] = Registered(draw, weight, since, within)
        return draw

    return register


def all_draws() -> list[Registered]:
    """All draws, sorted by name."""
    from . import families

    for module in pkgutil.iter_modules(families.__path__):
        importlib.import_module(f"{families.__name__}.{module.name}")
    return [_draws[name] for name in sorted(_draws)]
