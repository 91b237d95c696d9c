"""Fields of ops, as type checkers see them.

An op declares a field by annotating its name with an alias such as `Tensor` or `Ints`: a `Field`,
with the kind of operand, attribute or result that the dialect reads at run time.

    class TransposeOp(GraphOp, name="transpose"):
        x: Tensor       # op.x is a value; the builder takes one
        perm: Ints      # op.perm is a tuple; the builder takes any sequence
"""

from typing import TYPE_CHECKING, Any, Generic, TypeVar

Read = TypeVar("Read", covariant=True)
Write = TypeVar("Write", contravariant=True)


class Field(Generic[Read, Write]):
    """A field that an op has as a `Read`, and that its builder takes as a `Write`."""

    if TYPE_CHECKING:

        def __get__(self, op: object, owner: object = None, /) -> Read: ...
        def __set__(self, op: object, value: Write, /) -> None: ...


def kind_of(annotation: Any) -> Any:
    """The kind that `annotation` stands for; the annotation itself where it has none."""
    return getattr(annotation, "__metadata__", (annotation,))[0]
