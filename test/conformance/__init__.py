"""The test suite for backends that comes with ONNX, run as a whole.

::

    python -m conformance                      # all cases, on the CPU
    python -m conformance -k 'reduce|softmax'  # those whose names match
    python -m conformance --target vulkan --results vulkan.jsonl
    python -m conformance --target vulkan --results vulkan.jsonl --resume
    python -m conformance --target cuda --compile-only

Every case is compiled and run in a process that may crash or hang without harm to the others, and
compared strictly: shape, element type, values. Cases that do not pass are listed in
``not_passing/`` for each target, with the reason; anything else that fails is an error, and so is a
case of the list that passes. What is only compiled is so in batches, each as one module; a batch
that fails, case by case.

With ``--results`` the outcomes are kept in a file as they come, and ``--resume`` goes on with it
after an interruption. ``--shard 1/4`` is a quarter of the cases; ``--merge`` reads the files of all
four together.
"""
