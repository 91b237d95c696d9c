"""Language models: from a folder of ONNX to text."""
