"""What runs on the host: operators that have no compiled form, by their definition in ONNX.

Only models with such operators need this folder, and with it the package `onnx`.
"""
