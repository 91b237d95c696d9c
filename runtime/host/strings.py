"""Operators on tensors of strings: arrays of Python strings."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .re2 import compile_re2
from .registry import HostError, host_op


def as_strings(texts: Sequence[str], shape: Sequence[int]) -> np.ndarray:
    """An array of `shape` that holds `texts`."""
    array = np.empty(len(texts), object)
    array[:] = texts
    return array.reshape(shape)


@host_op("StringConcat")
def string_concat() -> Callable[..., np.ndarray]:
    return lambda x, y: np.asarray(x + y, object)


@host_op("StringSplit")
def string_split(*, delimiter: str = "", maxsplit: int | None = None) -> Callable[..., Any]:
    """Split each string into substrings along a new last axis, and count them.

    Rows are padded to the longest. Without a delimiter, strings are split at whitespace, as by
    `str.split`.
    """
    most = -1 if maxsplit is None else maxsplit

    def split(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        parts = [text.split(delimiter or None, most) for text in x.ravel()]
        return _padded(parts, x.shape, ""), _lengths(parts, x.shape)

    return split


def _lengths(parts: Sequence[Sequence[str]], shape: Sequence[int]) -> np.ndarray:
    return np.array([len(part) for part in parts], np.int64).reshape(shape)


def _padded(parts: Sequence[list[str]], shape: Sequence[int], pad: str) -> np.ndarray:
    """An array of `shape` plus an axis of the length of the longest of `parts`."""
    most = max(map(len, parts), default=0)
    texts = [text for part in parts for text in (*part, *[pad] * (most - len(part)))]
    return as_strings(texts, (*shape, most))


@host_op("RegexFullMatch")
def regex_full_match(*, pattern: str) -> Callable[[np.ndarray], np.ndarray]:
    matches = compile_re2(pattern).fullmatch

    def match(x: np.ndarray) -> np.ndarray:
        found = [matches(text) is not None for text in x.ravel()]
        return np.array(found, np.bool_).reshape(x.shape)

    return match


@host_op("StringNormalizer")
def string_normalizer(
    *,
    case_change_action: str = "NONE",
    is_case_sensitive: int = 0,
    locale: str = "en_US",
    stopwords: Sequence[str] = (),
) -> Callable[[np.ndarray], np.ndarray]:
    """Remove stop words, and change the case of the other elements.

    Case is changed letter by letter, independent of `locale`: for single letters all locales follow
    Unicode, except for the dotted and the dotless i.
    """
    del locale
    changes = {"NONE": str, "LOWER": _lower, "UPPER": _upper}
    if case_change_action not in changes:
        raise HostError(f"case_change_action '{case_change_action}' is unknown")
    change = changes[case_change_action]
    compared = str if is_case_sensitive else _lower
    stops = {compared(word) for word in stopwords}

    def normalize(x: np.ndarray) -> np.ndarray:
        if x.ndim not in (1, 2) or (x.ndim == 2 and x.shape[0] != 1):
            raise HostError(f"takes a vector or one row of strings, not shape {list(x.shape)}")
        kept = [change(text) for text in x.ravel() if compared(text) not in stops]
        kept = kept or [""]
        return as_strings(kept, (*x.shape[:-1], len(kept)))

    return normalize


def _lower(text: str) -> str:
    return text.lower() if text.isascii() else "".join(c.lower()[0] for c in text)


def _upper(text: str) -> str:
    if text.isascii():
        return text.upper()
    return "".join(c.upper() if len(c.upper()) == 1 else c for c in text)


@host_op("Tokenizer", domain="com.microsoft")
def tokenizer(
    *,
    mark: int,
    mincharnum: int,
    pad_value: str,
    separators: Sequence[str] = (),
    tokenexp: str = "",
) -> Callable[[np.ndarray], np.ndarray]:
    """Split strings into tokens along a new last axis: characters, matches of an expression, or
    the text between separators.

    With `mark` the tokens of each string are enclosed in 0x02 and 0x03. If there are no tokens at
    all, the axis is empty.
    """
    if bool(separators) == bool(tokenexp):
        raise HostError("needs either separators or tokenexp")
    find = _matches(tokenexp) if tokenexp else _between(separators)
    begin, end = (["\x02"], ["\x03"]) if mark else ([], [])

    def tokenize(x: np.ndarray) -> np.ndarray:
        found = [[t for t in find(text) if len(t) >= mincharnum] for text in x.ravel()]
        if any(found):
            found = [[*begin, *tokens, *end] for tokens in found]
        return _padded(found, x.shape, pad_value)

    return tokenize


def _matches(pattern: str) -> Callable[[str], Sequence[str]]:
    compiled = compile_re2(pattern)
    return lambda text: [match.group() for match in compiled.finditer(text)]


def _between(separators: Sequence[str]) -> Callable[[str], Sequence[str]]:
    if list(separators) == [""]:
        return list
    cuts = [_cut_at(separator) for separator in separators]
    if len(cuts) == 1:
        return cuts[0]

    def cut(text: str) -> list[str]:
        pieces = [text]
        for each in cuts:
            pieces = [piece for whole in pieces for piece in each(whole)]
        return pieces

    return cut


def _cut_at(separator: str) -> Callable[[str], list[str]]:
    """A function that gives the pieces of a text between matches of the expression `separator`;
    groups in it have no effect."""
    if separator and re.fullmatch(r"[\w\s,;:!@#%&=<>/'\"~`_-]+", separator):  # matches itself
        return lambda text: text.split(separator)
    find = compile_re2(separator).finditer

    def cut(text: str) -> list[str]:
        pieces, start = [], 0
        for match in find(text):
            pieces.append(text[start : match.start()])
            start = match.end()
        return [*pieces, text[start:]]

    return cut
