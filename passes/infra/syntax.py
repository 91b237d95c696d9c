"""The grammar of pipelines, which is that of mlir-opt.

pipeline ::= element ("," element)*
element  ::= name ("{" options "}")? | anchor "(" pipeline ")"
options  ::= (key ("=" value)?)*        separated by blanks; values may be quoted
"""

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...errors import PipelineError


@dataclass(frozen=True)
class Element:
    """One element of a pipeline: a pass with the text of its options, or a nest of elements."""

    name: str
    options: str = ""
    nested: "tuple[Element, ...] | None" = None

    def __str__(self) -> str:
        if self.nested is not None:
            return f"{self.name}({render(self.nested)})"
        return f"{self.name}{{{self.options}}}" if self.options else self.name


def render(elements: Sequence[Element]) -> str:
    """The text of `elements`; `parse` reads it back."""
    return ",".join(map(str, elements))


@functools.lru_cache(maxsize=64)
def parse(text: str) -> tuple[Element, ...]:
    """Read a pipeline. PipelineError points at the position where the text breaks the grammar."""
    parser = _Parser(text)
    elements = parser.elements()
    if parser.position < len(text):
        raise parser.error("expected ',' or the end")
    return elements


def parse_options(text: str) -> dict[str, str]:
    """``a=1 b='x y' flag`` as a mapping; a key without value maps to the empty text."""
    options: dict[str, str] = {}
    for word in _words(text):
        key, _, value = word.partition("=")
        if len(value) >= 2 and value[0] == value[-1] and value[0] in "'\"":
            value = value[1:-1]
        options[key] = value
    return options


class _Parser:
    def __init__(self, text: str):
        self.text = text
        self.position = 0

    def elements(self) -> tuple[Element, ...]:
        self._skip_blanks()
        if self._peek() in ("", ")"):
            return ()
        found = [self._element()]
        while self._accept(","):
            found.append(self._element())
        return tuple(found)

    def _element(self) -> Element:
        name = self._name()
        if self._accept("("):
            nested = self.elements()
            if not self._accept(")"):
                raise self.error("expected ',' or ')'")
            return Element(name, nested=nested)
        if self._peek() == "{":
            return Element(name, " ".join(_words(self._braced())))
        return Element(name)

    def _name(self) -> str:
        self._skip_blanks()
        start = self.position
        while self._peek().isalnum() or self._peek() in ("-", "_", "."):
            self.position += 1
        if start == self.position:
            raise self.error("expected the name of a pass")
        name = self.text[start : self.position]
        self._skip_blanks()
        return name

    def _braced(self) -> str:
        start = self.position
        depth, quote = 0, ""
        while self.position < len(self.text):
            letter = self.text[self.position]
            self.position += 1
            if quote or letter in "'\"":
                quote = _next_quote(quote, letter)
            else:
                depth += (letter == "{") - (letter == "}")
            if depth == 0:
                inside = self.text[start + 1 : self.position - 1]
                self._skip_blanks()
                return inside
        self.position = start
        raise self.error("no matching '}'")

    def _peek(self) -> str:
        return self.text[self.position : self.position + 1]

    def _accept(self, letter: str) -> bool:
        self._skip_blanks()
        if self._peek() != letter:
            return False
        self.position += 1
        self._skip_blanks()
        return True

    def _skip_blanks(self) -> None:
        while self._peek().isspace():
            self.position += 1

    def error(self, problem: str) -> PipelineError:
        pointer = " " * self.position + "^"
        return PipelineError(f"{problem} in the pipeline\n  {self.text}\n  {pointer}")


def _next_quote(quote: str, letter: str) -> str:
    """The open quotation mark after `letter`, given the one before it (empty: none)."""
    if not quote:
        return letter
    return "" if letter == quote else quote


def _words(text: str) -> Iterator[str]:
    """The words of `text`; blanks within quotes and brackets do not separate."""
    word, depth, quote = "", 0, ""
    for letter in text:
        if quote or letter in "'\"":
            quote = _next_quote(quote, letter)
        else:
            depth += (letter in "{[(") - (letter in "}])")
        if letter.isspace() and not quote and depth == 0:
            if word:
                yield word
            word = ""
        else:
            word += letter
    if word:
        yield word
