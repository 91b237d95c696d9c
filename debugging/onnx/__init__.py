"""ONNX models for the debugging tools. Of these, only this folder imports `onnx`."""
