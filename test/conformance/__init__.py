"""Runs of ONNX's backend test suite.

::

    python -m conformance                      # all cases, on the CPU
    python -m conformance -k 'reduce|softmax'  # those whose names match
    python -m conformance --target vulkan --results vulkan.jsonl
    python -m conformance --target vulkan --results vulkan.jsonl --resume
    python -m conformance --target cuda --compile-only

Every case is compiled and run in a process of its own, which may crash or hang without harm to the
others. Results are compared strictly: shape, element type, values. Cases that do not pass are
listed in ``not_passing/`` for each target, with the reason. Any other failure is an error, and so
is a listed case that passes. Cases that are only compiled are compiled in batches, each as one
module; if a batch fails, its cases are compiled one by one.

With ``--results`` the outcomes are written to a file as they arrive, and ``--resume`` continues it
after an interruption. ``--shard 1/4`` is a quarter of the cases; ``--merge`` combines the files of
all four.
"""
