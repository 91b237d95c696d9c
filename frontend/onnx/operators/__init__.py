"""ONNX's operators: a file of converters for each family."""
