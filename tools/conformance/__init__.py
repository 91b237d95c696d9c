"""The test suite for backends that comes with ONNX, run as a whole.

::

    python -m graphc.tools.conformance                     # all cases
    python -m graphc.tools.conformance -k 'reduce|softmax'  # those whose names match

Every case is compiled and run in a process that may crash or hang without harm to the others, and
compared strictly: shape, element type, values. Cases that do not pass are listed in
``not_passing.toml`` with the reason; anything else that fails is an error, and so is a case of the
list that passes.
"""
