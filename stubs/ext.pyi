"""Types of MLIR's `dialects.ext`, by which dialects are defined in Python."""

from collections.abc import Sequence
from typing import Any, ClassVar, dataclass_transform

from . import ir

class Dialect:
    DIALECT_NAMESPACE: ClassVar[str]
    operations: ClassVar[list[type[Dialect.Operation]]]
    _mlir_module: ClassVar[ir.Module | None]

    @dataclass_transform(eq_default=False)
    class Operation(ir.OpView):
        def __init_subclass__(
            cls, *, name: str | None = ..., traits: Sequence[type] = ..., **kwargs: Any
        ) -> None: ...
        @classmethod
        def _attach_traits(cls) -> None: ...

    def __init_subclass__(cls, *, name: str, **kwargs: Any) -> None: ...
    @classmethod
    def load(cls) -> None: ...

Operand = ir.Value
Result = ir.OpResult

class Pure:
    class AlwaysSpeculatable(ir.ConditionallySpeculatable): ...
