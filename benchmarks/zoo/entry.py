"""Entries of the catalogue: packages, models in them, and the sizes at which they are measured."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

Shape = tuple[int, ...]
Shapes = Mapping[str, Shape]
"""Shapes of the inputs of a model, by name; the first one is the label of the size."""
Maker = Callable[[Shape], np.ndarray]
FeedMaker = Callable[[Shapes], dict[str, np.ndarray]]


@dataclass(frozen=True)
class ZooPackage:
    """A package with models, in the version that is measured."""

    name: str
    version: str

    @property
    def requirement(self) -> str:
        """The package as pip takes it."""
        return f"{self.name}=={self.version}"

    @property
    def wheel_prefix(self) -> str:
        """The beginning of the names of its wheels, in lower case."""
        return f"{re.sub(r'[-_.]+', '_', self.name).lower()}-{self.version}-"


@dataclass(frozen=True)
class ZooModel:
    """One model of a package, and the inputs that it is measured with."""

    name: str
    """The name by which it is chosen."""
    task: str
    """The task that it does, in a few words."""
    package: ZooPackage
    file: str
    """The path of the model in the wheel."""
    drawn: str
    """The inputs, in a few words."""
    make: FeedMaker = field(compare=False)
    sizes: tuple[Shapes, ...] = field(compare=False)
    dtypes: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Element types of the inputs that are not ``float32``."""


def size_label(shapes: Shapes) -> str:
    """``1x3x48x320``, the shape of the first input."""
    return "x".join(map(str, next(iter(shapes.values()))))


def each(makers: Mapping[str, Maker]) -> FeedMaker:
    """A feed of inputs that are made one by one."""
    return lambda shapes: {name: makers[name](shape) for name, shape in shapes.items()}
