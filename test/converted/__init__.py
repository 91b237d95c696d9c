"""Models that other tools convert, a few for each of their operators or estimators.

::

    PYTHONPATH=test python -m converted torch-ops              # PyTorch's operator database
    PYTHONPATH=test python -m converted sklearn -k 'Forest'    # what skl2onnx converts
    PYTHONPATH=test python -m converted sklearn --resume       # goes on with what --output has

Each case is converted, run by ONNX Runtime, compiled, and called with the inputs that it comes
with, with other values, and where sizes have names with other sizes, in a process that may crash or
hang without harm to the others. What does not pass is listed in ``not_passing/`` with the reason;
anything else that fails is an error, and so is a case of the list that passes. What is not
converted, or gives something else in ONNX Runtime than in the framework, says nothing of graphc,
and is counted.
"""
