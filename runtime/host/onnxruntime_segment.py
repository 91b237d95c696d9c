"""Nodes that run together in a session of ONNX Runtime."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...errors import ExecutionError
from .onnxruntime_session import OnnxRuntimeSession
from .registry import HostError, Runner

logger = logging.getLogger("graphc")


class OnnxRuntimeSegment:
    """Runs `session`, which holds the nodes called `names`.

    Where ONNX Runtime fails on a call's values, `in_python` runs the nodes: it either gives the
    results by their definition, such as those for no rows, or an error that names the node. Without
    it the failure is the error.
    """

    def __init__(
        self,
        session: OnnxRuntimeSession,
        names: Sequence[str],
        in_python: Callable[[], Runner] | None,
    ):
        self._session, self._names, self._in_python = session, tuple(names), in_python
        self._python: Runner | None = None
        self._has_warned = False

    def run(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        """The outputs by name. Raises `ExecutionError`, which names the nodes."""
        try:
            return self._session.run(feeds)
        except HostError as error:
            return self._after(error, feeds)

    def _after(self, failure: HostError, feeds: Mapping[str, Any]) -> dict[str, Any]:
        nodes = ", ".join(f"'{name}'" for name in self._names)
        error = ExecutionError(f"nodes {nodes}, which ONNX Runtime runs, failed: {failure}")
        if self._in_python is None:
            raise error from failure
        if self._python is None:  # threads may make two, of which one stays
            try:
                self._python = self._in_python()
            except (HostError, ImportError):
                raise error from failure
        results = self._python.run(feeds)
        if not self._has_warned:
            self._has_warned = True
            logger.warning(
                "ONNX Runtime failed on the values of a call, and nodes %s ran in Python, as they "
                "will where it fails again: %s", nodes, failure,
            )  # fmt: skip
        return results
