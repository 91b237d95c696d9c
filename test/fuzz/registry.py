"""The draws: functions that add a node, or a few, to a graph. One file for each family."""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass

from .builder import GraphBuilder

Draw = Callable[[GraphBuilder], None]


@dataclass(frozen=True)
class Registered:
    """A draw, and how often it is taken."""

    draw: Draw
    weight: float
    since: int
    """The first opset that has what it draws."""
    within: bool
    """Whether it may stand in a subgraph."""

    @property
    def name(self) -> str:
        """Of the function."""
        return self.draw.__name__


_draws: dict[str, Registered] = {}


def draws(weight: float = 1.0, since: int = 1, within: bool = True) -> Callable[[Draw], Draw]:
    """Registers the decorated function. Raises `ValueError` where its name is taken."""

    def register(draw: Draw) -> Draw:
        if draw.__name__ in _draws:
            raise ValueError(f"there are two draws called '{draw.__name__}'")
        _draws[draw.__name__] = Registered(draw, weight, since, within)
        return draw

    return register


def all_draws() -> list[Registered]:
    """Every draw, by name."""
    from . import families

    for module in pkgutil.iter_modules(families.__path__):
        importlib.import_module(f"{families.__name__}.{module.name}")
    return [_draws[name] for name in sorted(_draws)]
