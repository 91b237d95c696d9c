"""Every operator that ONNX Runtime has, at realistic sizes, beside ONNX Runtime."""
