"""Ops of the ``hal`` dialect as IREE prints them, taken apart as far as launch plans need it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FUNCTION = re.compile(r"^  util\.func \w+ @(\w+)\(.*?^  \}$", re.MULTILINE | re.DOTALL)
_INITIALIZER = re.compile(r"^  util\.initializer .*?^  \}$", re.MULTILINE | re.DOTALL)
_EXECUTABLE = re.compile(
    r"^  hal\.executable private @(\w+) \{\s+hal\.executable\.binary public @(\w+)", re.MULTILINE
)
_OP = re.compile(r"(?:(?P<results>%[^=]*) = )?(?P<name>[\w.]+)")
_INTEGER = re.compile(r"(%[\w#-]+) = arith\.constant (-?\d+|true|false)\b")
_STRING = re.compile(r'"[^"]*"')


class NoPlanError(Exception):
    """A reason why a program has no launch plan."""


@dataclass(frozen=True)
class PrintedOp:
    """An op: its `name`, the names of its `results`, and its whole `text` in one line."""

    name: str
    results: tuple[str, ...]
    text: str

    def find(self, pattern: str) -> tuple[str, ...]:
        """The groups of the first match of `pattern`."""
        found = re.search(pattern, self.text)
        if found is None:
            raise NoPlanError(f"the listing has an unknown form of {self.name}")
        return found.groups()


@dataclass(frozen=True)
class PrintedBody:
    """The ops of a function or initializer, and its integer constants by name."""

    ops: tuple[PrintedOp, ...]
    integers: dict[str, int]

    def integer(self, name: str) -> int:
        """The value of the integer `name`. Raises `NoPlanError` if that is computed."""
        if name not in self.integers:
            raise NoPlanError("a size or offset is known only when the program runs")
        return self.integers[name]


@dataclass(frozen=True)
class PrintedProgram:
    """A program: functions by name, what runs at its start, and names of executables, each with the
    name of its variant."""

    functions: dict[str, PrintedBody]
    initializers: tuple[PrintedBody, ...]
    executables: tuple[tuple[str, str], ...]


def read_program(text: str) -> PrintedProgram:
    """Read the listing of a program."""
    return PrintedProgram(
        {match[1]: _read_body(match[0]) for match in _FUNCTION.finditer(text)},
        tuple(_read_body(match[0]) for match in _INITIALIZER.finditer(text)),
        tuple((match[1], match[2]) for match in _EXECUTABLE.finditer(text)),
    )


def _read_body(text: str) -> PrintedBody:
    values = {"true": 1, "false": 0}
    integers = {
        m[1]: values[m[2]] if m[2] in values else int(m[2]) for m in _INTEGER.finditer(text)
    }
    return PrintedBody(tuple(_read_ops(text)), integers)


def _read_ops(text: str) -> Iterator[PrintedOp]:
    pending, depth = "", 0
    for line in text.splitlines()[1:-1]:
        if not depth and line.startswith("  ^"):
            yield PrintedOp("block", (), line)
            continue
        pending = f"{pending} {line.strip()}".lstrip()
        plain = _STRING.sub("", line)
        depth += sum(map(plain.count, "([{")) - sum(map(plain.count, ")]}"))
        if depth == 0:
            found = _OP.match(pending)
            if found is None:
                raise NoPlanError(f"the listing has an unknown line: {pending[:60]}")
            results = re.findall(r"%[\w#-]+", found["results"] or "")
            yield PrintedOp(found["name"], tuple(results), pending)
            pending = ""
