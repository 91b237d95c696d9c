"""The segments of a host part, opened: sessions of ONNX Runtime, and nodes in Python."""

import logging
from collections.abc import Mapping

import onnx

from ...errors import MissingPackageError
from .engine_choice import ONNXRUNTIME, PYTHON
from .engines import (
    deviation,
    is_as_fast_in_python,
    joins_session_after,
    joins_session_before,
    needs_threads,
)
from .onnxruntime_session import OnnxRuntimeSession, is_installed
from .registry import HostError
from .segments import Divider, EngineSegment, segment_model

EXTRA = "pip install 'graphc[onnxruntime]'"
NOT_INSTALLED = f"the package onnxruntime is not installed: {EXTRA}"

logger = logging.getLogger("graphc")


class SegmentOpener:
    """Decides which nodes of `model` run where, and opens the segments.

    With `AUTO` a session gets the nodes that it is faster at; with `ONNXRUNTIME` it gets all that
    ONNX Runtime accepts, and the package must be installed, or else this raises
    `MissingPackageError`.
    """

    def __init__(self, model: onnx.ModelProto, engine: str, threads: int):
        self._model, self._engine, self._threads = model, engine, threads
        self._divider = Divider(model.graph)
        self._deviations = [deviation(node, model) for node in model.graph.node]
        self.reasons: dict[int, str] = {}
        """The reasons why nodes run in Python that ONNX Runtime would be faster at."""
        if engine == ONNXRUNTIME and not is_installed():
            raise MissingPackageError("host='onnxruntime'", "onnxruntime", "onnxruntime")

    def open(self) -> list[tuple[EngineSegment, OnnxRuntimeSession | None]]:
        """The segments in execution order, with the sessions of those that have one."""
        in_session = self._in_session()
        self._warn_of_missing_package()
        while any(in_session):
            opened: list[tuple[EngineSegment, OnnxRuntimeSession | None]] = []
            refused: dict[int, str] = {}
            for segment in self._divider.divide(in_session):
                try:
                    session = self._session(segment) if segment.in_session else None
                except (HostError, ImportError) as error:
                    refused |= self._refused(segment, str(error))
                    continue
                opened.append((segment, session))
            if not refused:
                return opened
            self._warn(refused)
            self.reasons |= refused
            in_session = self._in_session()
        return [(each, None) for each in self._divider.divide(in_session)]

    def _in_session(self) -> list[bool]:
        """For each node whether it is to run in a session."""
        nodes = self._model.graph.node
        if self._engine == PYTHON:
            return [False] * len(nodes)
        if self._engine == ONNXRUNTIME:
            return [index not in self.reasons for index in range(len(nodes))]
        for index, node in enumerate(nodes):
            if not is_as_fast_in_python(node) and index not in self.reasons:
                self._leave_to_python(index)
        wanted = [
            index not in self.reasons and not is_as_fast_in_python(node)
            for index, node in enumerate(nodes)
        ]
        if not any(wanted):
            return wanted
        allowed = [
            index not in self.reasons and self._deviations[index] is None
            for index in range(len(nodes))
        ]
        between = self._divider.pull_in(wanted, allowed)
        return self._divider.join_border(
            between,
            [may and joins_session_after(node) for may, node in zip(allowed, nodes, strict=True)],
            [may and joins_session_before(node) for may, node in zip(allowed, nodes, strict=True)],
        )

    def _leave_to_python(self, index: int) -> None:
        """Note the reason why node `index` runs in Python, if there is one."""
        node, deviation_ = self._model.graph.node[index], self._deviations[index]
        if deviation_ is not None:
            self.reasons[index] = f"ONNX Runtime deviates from ONNX: {deviation_}"
            logger.info("node '%s' (%s) runs in Python: %s", node.name, node.op_type, deviation_)
        elif not is_installed():
            self.reasons[index] = NOT_INSTALLED

    def _session(self, segment: EngineSegment) -> OnnxRuntimeSession:
        model = segment_model(self._model, segment)
        for each in model.graph.input:
            if each.type.WhichOneof("value") is None:
                raise HostError(f"the type of '{each.name}' is not known")
        threads = self._threads if any(map(needs_threads, model.graph.node)) else 1
        return OnnxRuntimeSession(model.SerializeToString(), threads)

    def _refused(self, segment: EngineSegment, reason: str) -> dict[int, str]:
        """The nodes of `segment` that ONNX Runtime refuses alone, or else all of them, with the
        reasons."""
        if len(segment.nodes) == 1:
            return dict.fromkeys(segment.nodes, reason)
        refused: dict[int, str] = {}
        for index in segment.nodes:
            try:
                self._session(self._divider.alone(index))
            except (HostError, ImportError) as error:
                refused[index] = str(error)
        return refused or dict.fromkeys(segment.nodes, reason)

    def _warn_of_missing_package(self) -> None:
        nodes = self._model.graph.node
        slow = [nodes[i].name for i, reason in self.reasons.items() if reason == NOT_INSTALLED]
        if slow:
            logger.warning(
                "nodes %s run in Python, which is slower than ONNX Runtime: %s",
                ", ".join(f"'{name}'" for name in slow), NOT_INSTALLED,
            )  # fmt: skip

    def _warn(self, refused: Mapping[int, str]) -> None:
        for index, reason in refused.items():
            node = self._model.graph.node[index]
            logger.warning(
                "node '%s' (%s) runs in Python, as ONNX Runtime does not take it: %s",
                node.name, node.op_type, reason,
            )  # fmt: skip
