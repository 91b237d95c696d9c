"""Interpretation of programs: op by op, with the numpy semantics of the graph dialect."""

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dialects.graph.interpreter import evaluate_function
from ..errors import OutOfMemoryError, UsageError
from ..mlir import ir
from ..runtime.execution.execution_context import CallSpec


class InterpretedSession:
    """Runs the function `function` of `module`; takes the place of a `Session` in a CompiledModel.

    Calls from several threads are serialized.
    """

    device = None
    """None: feeds must be on the host."""

    def __init__(self, name: str, module: ir.Module, function: Any):
        self._name = name
        self._module: ir.Module | None = module  # the function does not keep it alive
        self._function = function
        self._lock = threading.Lock()

    def invoke(self, inputs: Sequence[np.ndarray], call_spec: CallSpec) -> list[np.ndarray]:
        """Run the program; return one array for each output of `call_spec`, owned by the caller.

        Raises `ExecutionError`, which names the node, and `FeedError`.
        """
        if call_spec.staying:
            raise UsageError(f"model '{self._name}' is interpreted: its outputs are on the host")
        with self._lock:
            if self._module is None:
                raise UsageError(f"model '{self._name}' is closed")
            results = evaluate_function(self._function, inputs)
            try:
                return [np.array(results[index]) for index in call_spec.outputs]
            except MemoryError as error:
                raise OutOfMemoryError(
                    f"model '{self._name}' failed: there is no memory for its outputs: {error}"
                ) from error

    def close(self) -> None:
        """Free the program."""
        with self._lock:
            self._module = self._function = None
