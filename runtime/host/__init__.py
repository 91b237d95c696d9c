"""Operators that have no compiled form and run on the host.

Only models with such operators need this folder, and the package `onnx`. `evaluator.py` runs graphs
node by node. The implementation of an operator is an entry of the table (`registry.py`), which the
other files fill, or its definition in `onnx.reference` (`reference.py`).
"""
