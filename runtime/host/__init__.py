"""Operators that have no compiled form and run on the host.

Only models with such operators need this folder, and the package `onnx`. A part (`part.py`) is
divided (`segments.py`) between sessions of ONNX Runtime and Python, by the tables in `engines.py`.
`evaluator.py` runs graphs node by node. The implementation of an operator in Python is an entry of
the table (`registry.py`), which the other files fill, or its definition in `onnx.reference`
(`reference.py`).
"""
