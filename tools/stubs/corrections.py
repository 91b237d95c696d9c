"""Corrections of the declarations in the bindings, by module and name.

``Class.member`` denotes a member. MLIR's handwritten Python has no annotations: the entries of the
dialects declare the return types of its functions.
"""

CORRECTIONS: dict[str, dict[str, str]] = {
    "ir": {
        # Without a default, and invariant, a value of any type would be a type of its own.
        "_T": "_T = TypeVar('_T', bound=Type, default=Type, covariant=True)",
        "Value.set_type": "def set_type(self, type: Type) -> None: ...",
        "Diagnostic.notes": "@property\ndef notes(self) -> tuple[Diagnostic, ...]: ...",
        # None outside of a `with`; `Any` spares the builders of ops a check.
        "Context.current": "current: Final[Context | Any]",
        "Location.current": "current: Final[Location | Any]",
        "FusedLoc.locations": "@property\ndef locations(self) -> list[Location]: ...",
        "Context.attach_diagnostic_handler": """
def attach_diagnostic_handler(
    self, callback: Callable[[Diagnostic], bool]
) -> DiagnosticHandler: ...
""",
        # Returns the view of the copy, not an `Operation`; with `ip=False` it is not inserted.
        "_OperationBase.clone": """
def clone(self, ip: InsertionPoint | Literal[False] | None = None) -> OpView: ...
""",
        # `Operation` and `OpView` have both.
        "_OperationBase.operation": "@property\ndef operation(self) -> Operation: ...",
        "_OperationBase.opview": "@property\ndef opview(self) -> OpView: ...",
        "_OperationBase.get_asm": """
def get_asm(
    self,
    binary: Literal[False] = False,
    large_elements_limit: int | None = None,
    large_resource_limit: int | None = None,
    enable_debug_info: bool = False,
    pretty_debug_info: bool = False,
    print_generic_op_form: bool = False,
    use_local_scope: bool = False,
    use_name_loc_as_prefix: bool = False,
    assume_verified: bool = False,
    skip_regions: bool = False,
) -> str: ...
""",
        "OpView.OPERATION_NAME": "OPERATION_NAME: ClassVar[str]",
        "OpView._ODS_OPERAND_SEGMENTS": "_ODS_OPERAND_SEGMENTS: ClassVar[Sequence[int] | None]",
        "OpView._ODS_RESULT_SEGMENTS": "_ODS_RESULT_SEGMENTS: ClassVar[Sequence[int] | None]",
        "BlockList.append": """
def append(self, *arg_types: Type, arg_locs: Sequence[Location] | None = None) -> Block: ...
""",
        # Common parameters of the builders of ops.
        "Where": """
class Where(TypedDict, total=False):
    loc: Location | None
    ip: InsertionPoint | None
""",
    },
    "arith": {
        "ConstantOp.__init__": """
def __init__(
    self,
    result: ir.Type,
    value: int | float | _array[Any] | ir.Attribute,
    **where: Unpack[ir.Where],
) -> None: ...
""",
        "ConstantOp.create_index": """
@classmethod
def create_index(cls, value: int, **where: Unpack[ir.Where]) -> ConstantOp: ...
""",
        "ConstantOp.type": "@property\ndef type(self) -> ir.Type: ...",
        "ConstantOp.value": "@property\ndef value(self) -> ir.Attribute: ...",
        "constant": """
def constant(
    result: _T, value: int | float | _array[Any] | ir.Attribute, **where: Unpack[ir.Where]
) -> ir.OpResult[_T]: ...
""",
        "select": """
def select(
    condition: ir.Value, true_value: ir.Value[_T], false_value: ir.Value[_T], *,
    results: Sequence[ir.Type] | None = None, **where: Unpack[ir.Where]
) -> ir.OpResult[_T]: ...
""",
    },
    "func": {
        "FuncOp.__init__": """
def __init__(
    self,
    name: str,
    type: ir.FunctionType | tuple[Sequence[ir.Type], Sequence[ir.Type]],
    *,
    visibility: str | None = None,
    body_builder: Callable[[FuncOp], object] | None = None,
    **where: Unpack[ir.Where],
) -> None: ...
""",
        "FuncOp.arg_attrs": """
@property
def arg_attrs(self) -> ir.ArrayAttr: ...
@arg_attrs.setter
def arg_attrs(self, attribute: ir.ArrayAttr | Sequence[ir.Attribute]) -> None: ...
""",
        "FuncOp.result_attrs": """
@property
def result_attrs(self) -> ir.Attribute: ...
@result_attrs.setter
def result_attrs(self, attribute: ir.ArrayAttr) -> None: ...
""",
        "FuncOp.body": "@property\ndef body(self) -> ir.Region: ...",
        "FuncOp.is_external": "@property\ndef is_external(self) -> bool: ...",
        "FuncOp.type": "@property\ndef type(self) -> ir.FunctionType: ...",
        "FuncOp.visibility": "@property\ndef visibility(self) -> ir.Attribute: ...",
        "FuncOp.entry_block": "@property\ndef entry_block(self) -> ir.Block: ...",
        "FuncOp.add_entry_block": """
def add_entry_block(self, arg_locs: Sequence[ir.Location] | None = None) -> ir.Block: ...
""",
        "FuncOp.arguments": "@property\ndef arguments(self) -> ir.BlockArgumentList: ...",
        "ConstantOp.type": "@property\ndef type(self) -> ir.Type: ...",
    },
    "scf": {
        "ForOp.__init__": """
def __init__(
    self,
    lower_bound: ir.Value,
    upper_bound: ir.Value,
    step: ir.Value,
    iter_args: ir.Operation | ir.OpView | Sequence[ir.Value] | None = None,
    **where: Unpack[ir.Where],
) -> None: ...
""",
        "ForOp.body": "@property\ndef body(self) -> ir.Block: ...",
        "ForOp.induction_variable": """
@property
def induction_variable(self) -> ir.BlockArgument: ...
""",
        "ForOp.inner_iter_args": """
@property
def inner_iter_args(self) -> ir.BlockArgumentList: ...
""",
        "IfOp.__init__": """
def __init__(
    self,
    cond: ir.Value,
    results_: Sequence[ir.Type] | None = None,
    *,
    has_else: bool = False,
    **where: Unpack[ir.Where],
) -> None: ...
""",
        # None without `has_else`; callers have set it.
        "IfOp.else_block": "@property\ndef else_block(self) -> ir.Block | Any: ...",
        "for_": """
def for_(
    start: ir.Value | int,
    stop: ir.Value | int | None = None,
    step: ir.Value | int | None = None,
    iter_args: Sequence[ir.Value] | None = None,
    **where: Unpack[ir.Where],
) -> Iterator[Any]: ...
""",
        "IndexSwitchOp.__init__": """
def __init__(
    self,
    results: Sequence[ir.Type],
    arg: ir.Value,
    cases: Sequence[int],
    case_body_builder: Callable[[IndexSwitchOp, int, int], object] | None = None,
    default_body_builder: Callable[[IndexSwitchOp], object] | None = None,
    **where: Unpack[ir.Where],
) -> None: ...
""",
        "index_switch": """
def index_switch(
    results: Sequence[ir.Type],
    arg: ir.Value,
    cases: Sequence[int],
    case_body_builder: Callable[[IndexSwitchOp, int, int], object] | None = None,
    default_body_builder: Callable[[IndexSwitchOp], object] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult | ir.OpResultList | IndexSwitchOp: ...
""",
    },
    "memref": {
        "subview": """
def subview(
    source: ir.Value,
    offsets: Sequence[ir.Value | int],
    sizes: Sequence[ir.Value | int],
    strides: Sequence[ir.Value | int],
    *,
    result_type: ir.MemRefType | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[ir.MemRefType]: ...
""",
    },
    "tensor": {
        "empty": """
def empty(
    sizes: Sequence[int | ir.Value],
    element_type: ir.Type,
    *,
    encoding: ir.Attribute | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[ir.RankedTensorType]: ...
""",
    },
}
