"""Variants: further programs of a model, for calls that the main program does not cover.

A program may assume that equations between sizes hold or not, as the ranks of values can depend on
them (``Squeeze`` without axes). It has constants for inputs with defaults, and one size for each
dimension name. A call that violates these assumptions runs a program of its own, which is compiled
(JIT) at the first such call.
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
    """The class of calls that a program is compiled for.

    They feed the inputs `overridden`, which have defaults. `equations` says which equations between
    sizes hold and which do not. Dimensions with the same name may differ in size if the name is in
    `independent_dims`.
    """

    overridden: frozenset[str] = frozenset()
    equations: frozenset[tuple[str, bool]] = frozenset()
    independent_dims: frozenset[str] = frozenset()

    @property
    def options(self) -> dict[str, Any]:
        """The options of `graphc.compile` for such calls."""
        return {
            "overridden": sorted(self.overridden),
            "assume": dict(sorted(self.equations)),
            "independent_dims": sorted(self.independent_dims),
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
    """The programs besides the main one, which `metadata` describes and which covers `calls`.

    `compile_` compiles them; it is None if the model is not available.
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
        """The program for `feeds`; None if it is the main one.

        Raises `FeedError` if it cannot be compiled here, and the errors of compilation.
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

    def with_independent_dims(self, names: frozenset[str]) -> M:
        """The program for differing sizes of `names`. Raises the errors of compilation, the same
        one again after a failure."""
        names |= self._calls.independent_dims
        calls = replace(self._calls, independent_dims=names, equations=frozenset())
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
            return None  # the main program, which also reports sizes that no program covers
        equations = frozenset({**self._known, **holds}.items())
        return self._find(replace(self._calls, equations=equations))

    def _holds(self, shapes: Sequence[tuple[int, ...]]) -> dict[str, bool]:
        """The truth values of the equations that the shapes of the inputs determine."""
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
    except ValueError:  # not an array, which is refused later
        return ()


def has_variants(metadata: ModelMetadata) -> bool:
    """True if there may be calls that the program of `metadata` does not cover."""
    return any(metadata.options.get(key) for key in (ASSUMED_KEY, OVERRIDABLE_KEY))
