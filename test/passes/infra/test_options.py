"""Pass options: text to fields and back."""

import enum
from dataclasses import dataclass
from typing import Literal

import pytest

from graphc.passes.infra.options import (
    OptionError,
    build,
    describe,
    parse_value,
    render,
    split_list,
)


class Layout(enum.Enum):
    ROWS = "rows"
    COLUMNS = "columns"


@dataclass(frozen=True)
class ExampleOptions:
    max_users: int = 1
    tolerance: float = 0.5
    verbose: bool = False
    mode: Literal["fast", "exact"] = "fast"
    layout: Layout = Layout.ROWS
    limit: int | None = None
    dims: tuple[str, ...] = ()
    tiles: tuple[int, ...] = (4, 8)
    from_: str = ""


EXAMPLES = [
    ExampleOptions(),
    ExampleOptions(max_users=3, tolerance=1e-3, verbose=True, mode="exact", layout=Layout.COLUMNS),
    ExampleOptions(limit=7, dims=("batch=4", "seq=max(a,b)"), tiles=(), from_="two words"),
]


@pytest.mark.parametrize("options", EXAMPLES)
def test_text_reads_back(options):
    from graphc.passes.infra.syntax import parse_options

    assert build(ExampleOptions, parse_options(render(options))) == options


def test_only_what_differs_from_the_defaults_is_rendered():
    assert render(ExampleOptions()) == ""
    assert render(ExampleOptions(max_users=2, from_="a b")) == "max-users=2 from='a b'"


def test_all_problems_are_reported_at_once():
    texts = {"max-user": "1", "tolerance": "high", "mode": "exat", "layout": "rows", "tiles": "4,x"}
    with pytest.raises(OptionError) as caught:
        build(ExampleOptions, texts)
    assert caught.value.problems == [
        "no option 'max-user' (did you mean 'max-users'?)",
        "option 'tolerance': 'high' is not a number",
        "option 'mode': 'exat' is not one of fast, exact (did you mean 'exact'?)",
        "option 'tiles': 'x' is not an integer",
    ]


def test_required_options():
    @dataclass(frozen=True)
    class Required:
        size: int

    with pytest.raises(OptionError, match="'size' is required"):
        build(Required, {})
    assert build(Required, {"size": "3"}) == Required(3)


@pytest.mark.parametrize(
    ("text", "value"), [("true", True), ("1", True), ("", True), ("false", False), ("0", False)]
)
def test_bool(text, value):
    assert parse_value(text, bool) is value


def test_optional_value():
    assert parse_value("none", int | None) is None
    assert parse_value("3", int | None) == 3


def test_commas_within_brackets_do_not_separate():
    assert split_list("a=max(b,c), d") == ["a=max(b,c)", "d"]


@dataclass(frozen=True)
class Unit:
    lanes: int = 4
    caches: tuple[int, ...] = ()


@dataclass(frozen=True)
class Nested:
    unit: Unit = Unit(lanes=8)
    tile: int = 2


def test_fields_of_a_dataclass_are_options():
    options = Nested(Unit(16, (1, 2)), 3)
    assert render(options) == "lanes=16 caches=1,2 tile=3"
    assert build(Nested, {"lanes": "16", "caches": "1,2", "tile": "3"}) == options
    assert render(Nested()) == ""
    assert build(Nested, {}) == Nested()
    assert [name for name, _, _ in describe(Nested)] == ["lanes", "caches", "tile"]
    with pytest.raises(OptionError, match="option 'lanes': 'x' is not an integer"):
        build(Nested, {"lanes": "x"})


def test_descriptions_for_help():
    rows = {name: (type_, default) for name, type_, default in describe(ExampleOptions)}
    assert rows["mode"] == ("fast|exact", "fast")
    assert rows["tiles"] == ("list of integer", "4,8")
    assert rows["layout"] == ("rows|columns", "rows")
