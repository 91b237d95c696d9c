"""Names for the sizes that a model leaves open, and what counts for one.

Sizes of one name are one size, as ONNX's specification has it. Exporters also write texts that
only say that a size is not known: ``?``, ``None``, ``-1``, nothing at all. Where these stand on two
axes the sizes have nothing to do with each other, and each gets a name by its input and axis. A
formula of sizes that nothing gives, such as ``2*h`` if no axis is ``h``, is a name like others.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping

import onnx

from ....dialects.symbolic import ComplexityError, Dim, is_symbol_name
from ....dialects.symbolic_syntax import parse_dim
from ....errors import LimitError

_NO_NAMES = frozenset(
    ("none", "null", "nil", "nan", "n/a", "unknown", "unk", "undefined", "dynamic", "any")
)

Size = onnx.TensorShapeProto.Dimension


class DimensionNames:
    """Reads the sizes of the inputs `infos`, one model's; those of the names `given` are known."""

    def __init__(self, infos: Iterable[onnx.ValueInfoProto], given: Collection[str] = ()):
        self._symbols: dict[str, str] = {}
        """The names that are no symbols of ours, nor formulas of known ones, and what stands for
        each."""
        self.taken: set[str] = set()
        """All symbols so far, those of sizes without a name included."""
        self._serials: Counter[str] = Counter()
        sizes: dict[str, Dim | None] = {}
        for info in infos:
            for axis, dim in enumerate(info.type.tensor_type.shape.dim):
                if is_name(dim):
                    where = f"input '{info.name}', axis {axis}"
                    sizes[dim.dim_param] = _parse(dim.dim_param, where)
        known = {str(size) for size in sizes.values() if size is not None and size.is_symbol}
        known.update(given)
        read = {text: size for text, size in sizes.items() if size and size.symbols() <= known}
        for size in read.values():
            self.taken |= size.symbols()
        self._symbols |= {text: self.fresh(text) for text in sizes if text not in read}

    def read(self, dim: Size, name: str, axis: int) -> int | Dim:
        """The size of an axis of input `name`."""
        if dim.HasField("dim_value") and dim.dim_value >= 0:
            return dim.dim_value
        if not is_name(dim):
            return Dim.symbol(self.fresh(f"{name}_{axis}"))
        if dim.dim_param in self._symbols:
            return Dim.symbol(self._symbols[dim.dim_param])
        return parse_dim(dim.dim_param)

    def resolve(self, dims: Mapping[str, int]) -> dict[str, int]:
        """`dims`, in which names may be as the model spells them, by symbols."""
        return {self._symbols.get(name, name): size for name, size in dims.items()}

    def fresh(self, hint: str) -> str:
        """A symbol that is not taken, after `hint`."""
        base = name = symbol_name(hint)
        while name in self.taken:
            self._serials[base] += 1
            name = f"{base}_{self._serials[base]}"
        self.taken.add(name)
        return name


def without_names(model: onnx.ModelProto, symbols: Collection[str]) -> onnx.ModelProto:
    """`model` without the names that have these `symbols`, or formulas of them."""
    if not symbols:
        return model
    copy = onnx.ModelProto.FromString(model.SerializeToString())
    names = DimensionNames(copy.graph.input)
    for info in copy.graph.input:
        for axis, dim in enumerate(info.type.tensor_type.shape.dim):
            size = names.read(dim, info.name, axis)
            if isinstance(size, Dim) and ({str(size)} | size.symbols()).intersection(symbols):
                dim.Clear()
    return copy


def is_name(dim: Size) -> bool:
    """True if `dim` has a name that identifies the size elsewhere."""
    text = dim.dim_param.strip()
    return any(map(str.isalpha, text)) and text.lower() not in _NO_NAMES


def symbol_name(text: str) -> str:
    """`text` with other characters than those of a symbol replaced."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", text)
    return name if is_symbol_name(name) and name.strip("_") else f"d_{name}"


def _parse(text: str, what: str) -> Dim | None:
    """A symbol, or an expression of symbols as newer exporters write them; None for other texts."""
    try:
        size = parse_dim(text)
    except ComplexityError as error:
        raise LimitError(f"{what}: {error}") from error
    except ValueError:
        return None
    return size if isinstance(size, Dim) else None
