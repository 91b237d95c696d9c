"""Unroll and jam (Callahan, Carr and Kennedy, 1988) for sums over the second innermost loop.

for k: for n: c[n] += f(k, n)   -->   for k by 4: for n: c[n] += f(k, n) + .. + f(k + 3, n)

Sums are loaded and stored once for several terms, which are added in the same order.
"""

from ...mlir import arith, ir

FACTORS = (8, 4, 2)
"""The numbers of terms, of which the first one that divides the extent of the loop is taken."""
_SUMS = ("arith.addf", "arith.addi")
_VIEWS = (
    "memref.cast",
    "memref.collapse_shape",
    "memref.expand_shape",
    "memref.reinterpret_cast",
    "memref.subview",
)


def jam_sums(outer: ir.Operation) -> None:
    """Unroll and jam `outer`, an ``scf.for``, if it is such a loop over sums."""
    inner, factor = _inner_loop(outer), _factor(outer)
    if inner is None or factor is None:
        return
    *ops, store, _ = (op.operation for op in inner.regions[0].blocks[0].operations)
    number: ir.Value = outer.regions[0].blocks[0].arguments[0]
    total = _total(ops, store)
    if total is None or number in store.operands:
        return
    load, add, position = total
    place = store.operands[1]
    terms = [op for op in ops if op not in (load, add)]
    if any(op.name == "memref.load" and _base(op.operands[0]) == _base(place) for op in terms):
        return
    with ir.InsertionPoint(store), store.location:
        value = add.results[0]
        for step in range(1, factor):
            now = arith.addi(number, arith.constant(number.type, step))
            known: dict[ir.Value, ir.Value] = {number: now}
            for op in terms:
                known |= zip(op.results, _again(op, known).results, strict=True)
            term = add.operands[position]
            next_ = add.clone()
            next_.operands[1 - position] = value
            next_.operands[position] = known.get(term, term)
            value = next_.results[0]
        store.operands[0] = value
    with ir.InsertionPoint(outer), outer.location:
        outer.operands[2] = arith.constant(number.type, factor)


def _inner_loop(outer: ir.Operation) -> ir.Operation | None:
    """The innermost loop that is all that `outer` contains."""
    ops = [op.operation for op in outer.regions[0].blocks[0].operations]
    if len(ops) != 2 or ops[0].name != "scf.for" or outer.results or ops[0].results:
        return None
    within = list(ops[0].regions[0].blocks[0].operations)
    is_innermost = not any(len(op.operation.regions) for op in within)
    return ops[0] if is_innermost and len(within) > 3 else None


def _factor(outer: ir.Operation) -> int | None:
    bounds = [_constant(x) for x in list(outer.operands)[:3]]
    if bounds[0] != 0 or bounds[1] is None or bounds[2] != 1:
        return None
    return next((n for n in FACTORS if bounds[1] % n == 0), None)


def _constant(x: ir.Value) -> int | None:
    if isinstance(x.owner, ir.Block) or x.owner.name != "arith.constant":
        return None
    return ir.IntegerAttr(x.owner.operation.attributes["value"]).value


def _total(
    ops: list[ir.Operation], store: ir.Operation
) -> tuple[ir.Operation, ir.Operation, int] | None:
    """The load of a sum, the addition whose result `store` stores in its place, and the position of
    the term in it."""
    if store.name != "memref.store" or sum(op.name == "memref.store" for op in ops):
        return None
    value, *place = store.operands
    if isinstance(value.owner, ir.Block) or value.owner.name not in _SUMS:
        return None
    add = value.owner.operation
    for position in range(2):
        total = add.operands[1 - position].owner
        if not isinstance(total, ir.Block) and total.operation in ops:
            load = total.operation
            uses = len(list(load.results[0].uses)) if load.results else 0
            if load.name == "memref.load" and list(load.operands) == place and uses == 1:
                return load, add, position
    return None


def _base(x: ir.Value) -> ir.Value:
    """The buffer of which `x` is a view, or itself."""
    while not isinstance(x.owner, ir.Block) and x.owner.name in _VIEWS:
        x = x.owner.operation.operands[0]
    return x


def _again(op: ir.Operation, known: dict[ir.Value, ir.Value]) -> ir.Operation:
    """A copy of `op` on the values that `known` has for its operands."""
    made = op.clone().operation
    for position, operand in enumerate(op.operands):
        if operand in known:
            made.operands[position] = known[operand]
    return made
