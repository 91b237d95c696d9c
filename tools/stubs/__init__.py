"""Stubs of the MLIR bindings: ``python -m graphc.tools.stubs``, or ``make stubs``.

The wheel has no type stubs for its compiled modules. `bindings` reads the signatures that nanobind
stores in them, `op_modules` the annotated Python of the dialects, and `corrections` replaces wrong
or missing declarations. ``stubs/ext.pyi``, ``linalg.pyi`` and ``llvm.pyi`` are written by hand:
graphc uses little of these modules, and the wheel has few annotations for that.
"""
