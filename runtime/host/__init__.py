"""Operators that have no compiled form and run on the host.

Only models with such operators need this folder, and with it the package `onnx`. `evaluator.py`
runs graphs node by node; an operator is one of the table (`registry.py`), which the other files
fill, or runs by its definition in `onnx.reference` (`reference.py`).
"""
