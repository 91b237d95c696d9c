"""What type checkers see of `mlir`: the wheel's bindings carry no types, so everything is Any."""

from collections.abc import Sequence
from typing import Any

class ext:
    class Dialect:
        DIALECT_NAMESPACE: str
        _mlir_module: Any
        operations: list[Any]
        @classmethod
        def _emit_module(cls) -> Any: ...

        class Operation:
            OPERATION_NAME: str
            _ODS_OPERAND_SEGMENTS: Any
            _ODS_RESULT_SEGMENTS: Any
            def __init__(self, *args: Any, **kwargs: Any) -> None: ...
            def __init_subclass__(
                cls, *, name: str = ..., traits: Sequence[Any] = ..., **kwargs: Any
            ) -> None: ...
            def __getattr__(self, name: str) -> Any: ...

        def __init_subclass__(cls, *, name: str, **kwargs: Any) -> None: ...
        @classmethod
        def load(cls) -> None: ...

    Operand: Any
    Result: Any
    Pure: Any

arith: Any
cf: Any
func: Any
ir: Any
linalg: Any
llvm: Any
math: Any
memref: Any
passmanager: Any
rewrite: Any
scf: Any
tensor: Any
vector: Any
