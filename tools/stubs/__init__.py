"""Stubs of the MLIR bindings: ``python -m graphc.tools.stubs``, or ``make stubs``.

The wheel has no types of its compiled modules. `bindings` reads the signatures that nanobind keeps
in them, `op_modules` the annotated Python of the dialects, and `corrections` replaces what these
say wrongly or not at all. ``stubs/ext.pyi``, ``linalg.pyi`` and ``llvm.pyi`` are written by hand:
graphc needs little of these modules, and the wheel says little of that.
"""
