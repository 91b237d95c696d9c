"""Other programs of a model, for calls that the one at hand was not compiled for.

A program may take for granted that equations between sizes hold or not, as the ranks of values
depend on it (``Squeeze`` without axes), and has constants for inputs with defaults. A call that is
not so runs with a program of its own, which is compiled the first time that there is such a call.
"""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import FeedError
from .formulas import evaluate
from .metadata import ASSUMED_KEY, OVERRIDABLE_KEY, ModelMetadata, TensorSpec

if TYPE_CHECKING:
    from .model import CompiledModel

logger = logging.getLogger("graphc")

Compile = Callable[[Sequence[str], Mapping[str, bool]], "CompiledModel"]
"""Compiles the model for calls that give the inputs with defaults that are named, and for which
equations between sizes hold as the mapping says."""


class Variants:
    """The programs beside the one that `metadata` describes.

    `compile_` makes them; None where the model is not at hand. `overridden` and `known` are what
    the program at hand was compiled for.
    """

    def __init__(
        self,
        metadata: ModelMetadata,
        compile_: Compile | None,
        overridden: Sequence[str] = (),
        known: Mapping[str, bool] | None = None,
    ):
        self._metadata = metadata
        self._compile = compile_
        self._overridden = frozenset(overridden)
        self._known = known or {}
        self._assumed: Mapping[str, bool] = metadata.options.get(ASSUMED_KEY, {})
        self._overridable = frozenset(metadata.options.get(OVERRIDABLE_KEY, ()))
        self._tensors = [spec for spec in metadata.inputs if isinstance(spec, TensorSpec)]
        self._made: dict[tuple[frozenset[str], frozenset[tuple[str, bool]]], CompiledModel] = {}
        self._lock = threading.Lock()
        self._last: tuple[Sequence[tuple[int, ...]], CompiledModel | None] | None = None
        """The shapes of the last call, and the program for them."""

    def other(self, feeds: Any) -> "CompiledModel | None":
        """The program for `feeds`; None where it is the one at hand.

        Raises `FeedError` where it cannot be compiled here, and what compiling raises.
        """
        if not isinstance(feeds, Mapping):
            return None
        names = self._overridable.intersection(feeds)
        if names:
            return self._find(self._overridden | names, {})
        if not self._assumed:
            return None
        shapes = [_shape(feeds.get(spec.name)) for spec in self._tensors]
        last = self._last
        if last is None or last[0] != shapes:
            self._last = last = shapes, self._for_shapes(shapes)
        return last[1]

    def _for_shapes(self, shapes: Sequence[tuple[int, ...]]) -> "CompiledModel | None":
        holds = self._holds(shapes)
        if all(now in (self._assumed[text], self._known.get(text)) for text, now in holds.items()):
            return None  # or no program suits such sizes, and this one says so
        return self._find(self._overridden, {**self._known, **holds})

    def close(self) -> None:
        """Free the programs."""
        with self._lock:
            for model in self._made.values():
                model.close()
            self._made, self._last = {}, None

    def _holds(self, shapes: Sequence[tuple[int, ...]]) -> dict[str, bool]:
        """Which of the equations hold, as far as the shapes of the inputs tell."""
        sizes: dict[str, int] = {}
        for spec, shape in zip(self._tensors, shapes, strict=True):
            if len(shape) == len(spec.shape):
                named = zip(spec.shape, shape, strict=True)
                sizes |= {name: size for name, size in named if isinstance(name, str)}
        found = {}
        for text in self._assumed:
            left, right = (evaluate(side, sizes) for side in text.split(" == "))
            if left is not None and right is not None:
                found[text] = left == right
        return found

    def _find(self, names: frozenset[str], holds: Mapping[str, bool]) -> "CompiledModel":
        key = names, frozenset(holds.items())
        with self._lock:
            if key not in self._made:
                self._made[key] = self._make(sorted(names), holds)
            return self._made[key]

    def _make(self, names: Sequence[str], holds: Mapping[str, bool]) -> "CompiledModel":
        given = [f"values for {', '.join(names)}"] if names else []
        true = [text for text, now in holds.items() if now]
        given += [f"sizes of which {', '.join(true) or 'no equation'} holds"] if holds else []
        what = f"model '{self._metadata.name}' is given {' and '.join(given)}"
        if self._compile is None:
            options = [f"overridden={names}"] if names else []
            options += [f"assume={dict(holds)}"] if holds else []
            raise FeedError(
                f"{what}, which takes a program of its own, and only this one is here: "
                f"compile the model with {', '.join(options)}"
            )
        logger.warning("%s: a program for that is compiled", what)
        return self._compile(names, holds)


def _shape(value: Any) -> tuple[int, ...]:
    shape = getattr(value, "shape", None)
    try:
        return np.shape(value) if shape is None else tuple(shape)
    except ValueError:  # what is no array is refused later
        return ()


def has_variants(metadata: ModelMetadata) -> bool:
    """Whether there may be calls that the program of `metadata` was not compiled for."""
    return any(metadata.options.get(key) for key in (ASSUMED_KEY, OVERRIDABLE_KEY))
