"""How ONNX models come in. Only this folder imports `onnx`."""

from .external import external_files
from .model_import import ASSUMED, OVERRIDABLE, import_onnx
from .plan import HostPiece, NativePiece, Plan, make_plan
from .preflight import Preflight, check_nodes
from .values import ModelNode, list_nodes

__all__ = [
    "ASSUMED",
    "OVERRIDABLE",
    "HostPiece",
    "ModelNode",
    "NativePiece",
    "Plan",
    "Preflight",
    "check_nodes",
    "external_files",
    "import_onnx",
    "list_nodes",
    "make_plan",
]
