"""Translation of type names from generated Python to the stubs."""

import ast

from ...mlir import ir

_BARE = {
    "Sequence": "Sequence[Any]",
    "list": "list[Any]",
    "tuple": "tuple[Any, ...]",
    "Callable": "Callable[..., Any]",
}
_PLAIN = {"_Any": "Any", "_Sequence": "Sequence", "List": "list", "Tuple": "tuple"}


class Spelling(ast.NodeTransformer):
    """Rewrites annotations; `imported` are the names that the module imports."""

    def __init__(self, imported: set[str]):
        self.imported = imported

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if ast.unparse(node.value) in ("_ods_ir", "_ods_cext.ir"):
            return ast.Name(f"ir.{node.attr}")
        if ast.unparse(node.value) == "builtins":
            return ast.Name(node.attr)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.imported and hasattr(ir, node.id):
            return ast.Name(f"ir.{node.id}")
        return ast.Name(_BARE.get(plain := _PLAIN.get(node.id, node.id), plain))

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        node.slice = self.visit(node.slice)
        plain = ast.unparse(node.value)
        form = _PLAIN.get(plain, plain).removeprefix("_")
        if form == "Optional":
            inner = ast.unparse(node.slice)
            return ast.Name(inner if inner == "Any" else f"{inner} | None")
        if form == "Union":
            assert isinstance(node.slice, ast.Tuple)
            names = [ast.unparse(each) for each in node.slice.elts]
            return ast.Name("Any" if "Any" in names else " | ".join(names))
        node.value = ast.Name(form) if form in _BARE else self.visit(node.value)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AnnAssign:
        self.generic_visit(node)
        if isinstance(node.value, ast.Attribute):  # a member of a class that is not defined yet
            node.value = None
        return node

    def visit_arguments(self, node: ast.arguments) -> ast.arguments:
        self.generic_visit(node)
        node.defaults = [_default(each) for each in node.defaults]
        return node


def _default(value: ast.expr) -> ast.expr:
    """`value` if it is a plain one, else ``...``: a member of a class is not defined yet."""
    return ast.Constant(...) if isinstance(value, ast.Attribute) else value
