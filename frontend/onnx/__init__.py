"""How ONNX models come in. Only this folder imports `onnx`."""

from .importer import import_onnx

__all__ = ["import_onnx"]
