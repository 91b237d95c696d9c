"""Translation of RE2's regular expressions, which ONNX specifies, to Python's.

RE2's classes ``\\d``, ``\\w``, ``\\s`` and ``\\b`` are ASCII only, but case-insensitive matches
cover all of Unicode.
"""

import re

from .registry import HostError

_CLASSES = {"d": "0-9", "w": "0-9A-Za-z_", "s": "\\t\\n\\f\\r "}
_OUTSIDE = {"b": "(?a:\\b)", "B": "(?a:\\B)", "z": "\\Z", "C": "[\\s\\S]"}
_POSIX = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": "\\x00-\\x7f", "blank": "\\t ",
    "cntrl": "\\x00-\\x1f\\x7f", "digit": "0-9", "graph": "!-~", "lower": "a-z", "print": " -~",
    "punct": "!-/:-@\\[-`{-~", "space": "\\t\\n\\v\\f\\r ", "upper": "A-Z", "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}  # fmt: skip
_TOKEN = re.compile(
    r"\\Q(?P<literal>.*?)(?:\\E|$)|\\(?P<escape>.)|\[:(?P<posix>\w+):\]|(?P<open>\[\^?\]?)|(?P<close>\])"
    r"|.",
    re.DOTALL,
)


def compile_re2(pattern: str) -> re.Pattern[str]:
    """Compile `pattern`. Raises `HostError` if it has no equivalent in Python."""
    try:
        return re.compile("".join(_Translation().pieces(pattern)))
    except re.error as error:
        raise HostError(f"the regular expression {pattern!r} cannot be read: {error}") from error


class _Translation:
    """Translates a pattern token by token; `inside` is set within brackets."""

    def __init__(self) -> None:
        self.inside = False

    def pieces(self, pattern: str) -> list[str]:
        return [self._piece(match, pattern) for match in _TOKEN.finditer(pattern)]

    def _piece(self, match: re.Match[str], pattern: str) -> str:
        text = match.group()
        if (literal := match["literal"]) is not None:
            return re.escape(literal)
        if (escape := match["escape"]) is not None:
            return self._escape(escape, text, pattern)
        if self.inside:
            if match["close"]:
                self.inside = False
            if (posix := match["posix"]) in _POSIX:
                return _POSIX[posix]
            return text.replace("[", "\\[")  # Python reserves nested sets
        if match["open"]:
            self.inside = True
        return text

    def _escape(self, letter: str, text: str, pattern: str) -> str:
        if letter in "pP":
            raise HostError(f"the regular expression {pattern!r} asks for classes of Unicode")
        if letter in _CLASSES:
            return _CLASSES[letter] if self.inside else f"[{_CLASSES[letter]}]"
        if letter.lower() in _CLASSES:
            if self.inside:
                raise HostError(
                    f"the regular expression {pattern!r} has \\{letter} within brackets"
                )
            return f"[^{_CLASSES[letter.lower()]}]"
        return text if self.inside else _OUTSIDE.get(letter, text)
