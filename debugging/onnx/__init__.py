"""ONNX models as the tools of this folder need them. Only this folder of it imports `onnx`."""
