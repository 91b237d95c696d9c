"""Types of the MLIR bindings, for type checkers alone; `mlir.pyi` says what they are called."""
