"""The draws: functions that add one or more nodes to a graph. Each family has its own file."""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass

from .builder import GraphBuilder

Draw = Callable[[GraphBuilder], None]
MIXED, QDQ = FAMILIES = ("mixed", "qdq")
"""Families of graphs. A graph has draws of one family only, because a family has its own check."""


@dataclass(frozen=True)
class Registered:
    """A draw and its weight."""

    draw: Draw
    weight: float
    since: int
    """The first opset that has the operators of the draw."""
    within: bool
    """True if the draw may occur in a subgraph."""
    family: str
    """The family of graphs that the draw occurs in."""

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.draw.__name__


_draws: dict[str, Registered] = {}


def draws(
    weight: float = 1.0, since: int = 1, within: bool = True, family: str = MIXED
) -> Callable[[Draw], Draw]:
    """Register the decorated function. Raises `ValueError` if its name is taken."""

    def register(draw: Draw) -> Draw:
        if draw.__name__ in _draws:
            raise ValueError(f"there are two draws called '{draw.__name__}'")
        _draws[draw.__name__] = Registered(draw, weight, since, within, family)
        return draw

    return register


def all_draws(family: str = MIXED) -> list[Registered]:
    """All draws of `family`, sorted by name."""
    from . import families

    for module in pkgutil.iter_modules(families.__path__):
        importlib.import_module(f"{families.__name__}.{module.name}")
    return [each for _, each in sorted(_draws.items()) if each.family == family]
