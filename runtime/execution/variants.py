"""Other programs of a model, for calls that the one at hand was not compiled for.

A program may take for granted that equations between sizes hold or not, as the ranks of values
depend on it (``Squeeze`` without axes); it has constants for inputs with defaults, and one size for
each name. A call that is not so runs with a program of its own, which is compiled the first time
that there is such a call.
"""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from ...errors import FeedError, GraphcError
from ..metadata import ASSUMED_KEY, OVERRIDABLE_KEY, ModelMetadata, TensorSpec
from .size_expressions import evaluate

logger = logging.getLogger("graphc")


@dataclass(frozen=True)
class Calls:
    """The calls that a program is compiled for.

    They feed the inputs `overridden`, which have defaults. `equations` says which equations between
    sizes hold and which do not. Sizes that share one of the names `apart` may differ.
    """

    overridden: frozenset[str] = frozenset()
    equations: frozenset[tuple[str, bool]] = frozenset()
    apart: frozenset[str] = frozenset()

    @property
    def options(self) -> dict[str, Any]:
        """The options of `graphc.compile` for such calls."""
        return {
            "overridden": sorted(self.overridden),
            "assume": dict(sorted(self.equations)),
            "apart": sorted(self.apart),
        }

    def __str__(self) -> str:
        given = [f"{name}={value}" for name, value in self.options.items() if value]
        return ", ".join(given)


class _Closable(Protocol):
    def close(self) -> None: ...


M = TypeVar("M", bound=_Closable)
"""A compiled model."""

Compile = Callable[[Calls], M]
"""Compiles the model for some calls."""


class Variants(Generic[M]):
    """The programs beside the one that `metadata` describes, which is for `calls`.

    `compile_` makes them; None where the model is not at hand.
    """

    def __init__(
        self, metadata: ModelMetadata, compile_: Compile[M] | None, calls: Calls | None = None
    ):
        self._name = metadata.name
        self._compile = compile_
        self._calls = calls or Calls()
        self._known = dict(self._calls.equations)
        self._assumed: Mapping[str, bool] = metadata.options.get(ASSUMED_KEY, {})
        self._overridable = frozenset(metadata.options.get(OVERRIDABLE_KEY, ()))
        self._tensors = [spec for spec in metadata.inputs if isinstance(spec, TensorSpec)]
        self._made: dict[Calls, M] = {}
        self._failed: dict[Calls, GraphcError] = {}
        self._lock = threading.Lock()
        self._last: tuple[Sequence[tuple[int, ...]], M | None] | None = None
        """The shapes of the last call, and the program for them."""

    @property
    def can_compile(self) -> bool:
        """True if the model is available, to compile other programs."""
        return self._compile is not None

    def other(self, feeds: Any) -> M | None:
        """The program for `feeds`; None where it is the one at hand.

        Raises `FeedError` where it cannot be compiled here, and what compiling raises.
        """
        if not isinstance(feeds, Mapping):
            return None
        names = self._overridable.intersection(feeds)
        if names:
            overridden = self._calls.overridden | names
            return self._find(replace(self._calls, overridden=overridden, equations=frozenset()))
        if not self._assumed:
            return None
        shapes = [_shape(feeds.get(spec.name)) for spec in self._tensors]
        last = self._last
        if last is None or last[0] != shapes:
            self._last = last = shapes, self._for_shapes(shapes)
        return last[1]

    def apart(self, names: frozenset[str]) -> M:
        """The program for sizes of `names` that differ. Raises what compiling raised, if it did."""
        apart = self._calls.apart | names
        calls = replace(self._calls, apart=apart, equations=frozenset())
        if calls in self._failed:
            raise self._failed[calls]
        try:
            return self._find(calls)
        except GraphcError as error:
            self._failed[calls] = error
            raise

    def close(self) -> None:
        """Free the programs."""
        with self._lock:
            for model in self._made.values():
                model.close()
            self._made, self._last = {}, None

    def _for_shapes(self, shapes: Sequence[tuple[int, ...]]) -> M | None:
        holds = self._holds(shapes)
        if all(now in (self._assumed[text], self._known.get(text)) for text, now in holds.items()):
            return None  # or no program suits such sizes, and this one says so
        equations = frozenset({**self._known, **holds}.items())
        return self._find(replace(self._calls, equations=equations))

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

    def _find(self, calls: Calls) -> M:
        with self._lock:
            if calls not in self._made:
                self._made[calls] = self._make(calls)
            return self._made[calls]

    def _make(self, calls: Calls) -> M:
        if self._compile is None:
            raise FeedError(
                f"model '{self._name}' takes a program of its own for such a call, and only this "
                f"one is here: compile the model with {calls}"
            )
        logger.warning("model '%s' is compiled anew for such calls: %s", self._name, calls)
        return self._compile(calls)


def _shape(value: Any) -> tuple[int, ...]:
    shape = getattr(value, "shape", None)
    try:
        return np.shape(value) if shape is None else tuple(shape)
    except ValueError:  # what is no array is refused later
        return ()


def has_variants(metadata: ModelMetadata) -> bool:
    """True if calls are possible that the program of `metadata` was not compiled for."""
    return any(metadata.options.get(key) for key in (ASSUMED_KEY, OVERRIDABLE_KEY))
