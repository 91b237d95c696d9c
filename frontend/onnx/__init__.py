"""The ONNX frontend. Only this folder imports `onnx`."""

from typing import Any

from ... import aliases
from .importing.external_files import external_files
from .importing.model_import import ASSUMED, OVERRIDABLE, import_onnx
from .importing.model_nodes import ModelNode, list_nodes
from .partitioning.check import Preflight, check_nodes
from .partitioning.plan import HostPartModel, NativePartModel, PartitionPlan, make_plan

__all__ = [
    "ASSUMED",
    "OVERRIDABLE",
    "HostPartModel",
    "ModelNode",
    "NativePartModel",
    "PartitionPlan",
    "Preflight",
    "check_nodes",
    "external_files",
    "import_onnx",
    "list_nodes",
    "make_plan",
]


def __getattr__(name: str) -> Any:
    return aliases.attribute(__name__, name)
