"""Models that other tools convert, a few for each of their operators or estimators.

::

    PYTHONPATH=test python -m converted torch-ops              # PyTorch's operator database
    PYTHONPATH=test python -m converted sklearn -k 'Forest'    # what skl2onnx converts
    PYTHONPATH=test python -m converted sklearn --resume       # goes on with what --output has

Each case is converted, run by ONNX Runtime, compiled, and called with its own inputs, with other
values, and, if sizes have names, with other sizes. This happens in a process that may crash or hang
without harm to the others. Cases that do not pass are listed in ``not_passing/`` with the reason.
Any other failure is an error, and so is a listed case that passes. Cases that are not converted, or
for which ONNX Runtime and the framework disagree, say nothing about graphc; they are only counted.
"""
