"""The types of the MLIR bindings in `stubs/` are those of the wheel."""

import ast
from pathlib import Path

import pytest

import graphc
from graphc import mlir
from graphc.tools.stubs import declarations, generate

ROOT = Path(graphc.__file__).parent


def test_stubs_are_up_to_date():
    stale = [name for name, _ in generate.stale()]
    assert not stale, f"run `make stubs`: {', '.join(stale)}"


def test_a_stale_stub_is_found_and_written(monkeypatch, tmp_path):
    monkeypatch.setattr(generate, "FOLDER", tmp_path)
    monkeypatch.setattr(generate, "COMPILED", ("passmanager",))
    monkeypatch.setattr(generate, "DIALECTS", ("cf",))
    generate.main()
    assert not list(generate.stale())
    (tmp_path / "cf.pyi").write_text("")
    assert [name for name, _ in generate.stale()] == ["cf"]


def test_corrections_name_what_is_there():
    with pytest.raises(KeyError, match="no class Gone"):
        declarations.correct([], {"Gone.member": "member: int"})


def test_checkers_see_what_programs_see():
    """`mlir.pyi` lists what `mlir.py` has, and there is a stub of each module."""
    body = ast.parse((ROOT / "mlir.pyi").read_text()).body
    imports = [node for node in body if isinstance(node, ast.ImportFrom)]
    modules = {alias.asname for node in imports for alias in node.names}
    functions = {node.name for node in body if isinstance(node, ast.FunctionDef)}
    assert modules | functions == {*mlir.__all__, *mlir._WHEN_WANTED}
    assert {path.stem for path in ROOT.glob("stubs/*.pyi")} == modules | {"__init__"}


@pytest.mark.parametrize("name", ["ext", "irdl", "linalg", "llvm"])
def test_stubs_written_by_hand_name_what_is_there(name):
    tree = ast.parse((ROOT / f"stubs/{name}.pyi").read_text())
    names = {declarations.name_of(each) for each in tree.body} - {None, "_T", "__getattr__"}
    assert not [each for each in names if not hasattr(getattr(mlir, name), each)]
