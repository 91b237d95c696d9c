"""Programs that run as they stand: op by op, on the numpy meanings of the graph dialect."""

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from .dialects.graph.interpreter import evaluate_function
from .errors import UsageError
from .mlir import ir


class InterpretedSession:
    """Runs the function `function` of `module`; stands where a `Session` does in a CompiledModel.

    Calls from several threads take turns.
    """

    def __init__(self, name: str, module: ir.Module, function: Any):
        self._name = name
        self._module: ir.Module | None = module  # the function does not keep it alive
        self._function = function
        self._lock = threading.Lock()

    def invoke(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """One array per output, which belongs to the caller.

        Raises `ExecutionError`, which names the node, and `FeedError`.
        """
        with self._lock:
            if self._module is None:
                raise UsageError(f"model '{self._name}' is closed")
            return [np.array(result) for result in evaluate_function(self._function, inputs)]

    def close(self) -> None:
        """Free the program."""
        with self._lock:
            self._module = self._function = None
