"""What needs a device that is not here: compiled here, run there, as one file.

::

    python -m gpu_check --target cuda -o gpu-check.pyz --models models/bert.onnx
    python gpu-check.pyz                       # on the other machine

The file holds the cases of ONNX's test suite, compiled for the target, with their inputs and
expected outputs; models with inputs and what the CPU computes from them; and the part of graphc
that runs all this with numpy and ``iree-base-runtime`` alone. It can be carried to any machine and
run there by Python. What it leaves is the file ``<target>-<device>.json``, whose place is
``docs/gpu/``; `make docs` makes the pages of it.

`make gpu-check DEVICE=vulkan` does both where the device is on this machine.
"""
