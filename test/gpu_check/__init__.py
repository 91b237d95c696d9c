"""Checks on a device of another machine: compiled here, run there, as a single file.

::

    python -m gpu_check --target cuda -o gpu-check.pyz --models models/bert.onnx
    python gpu-check.pyz                       # on the other machine

The file contains the cases of ONNX's test suite, compiled for the target, with their inputs and
expected outputs; models with inputs and the results of the CPU; and the part of graphc that runs
all this with only numpy and ``iree-base-runtime``. It can be copied to any machine and run there by
Python. The run writes the file ``<target>-<device>.json``, which belongs in ``docs/gpu/``; `make
docs` generates the pages from it.

`make gpu-check DEVICE=vulkan` does both if the device is on this machine.
"""
