"""Values of models on the command line: display, comparison, and files.

Arrays, including those of strings, are stored in ``.npy``; sequences and maps in ``.json``, where
an array is a list.
"""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np

from ..debugging.difference import relative_difference
from ..errors import FeedError, UsageError

SHOWN = 6
"""Maximum number of elements of a sequence that are printed."""


def show_value(name: str, value: Any) -> str:
    """Format a value in a few lines."""
    if isinstance(value, np.ndarray):
        text = np.array2string(value, threshold=16, edgeitems=3, prefix="  ")
        return f"{name}: {value.dtype}{list(value.shape)}\n{text}"
    if not isinstance(value, list):
        return f"{name}: {value}"
    lines = [f"{name}: sequence of {len(value)}"]
    lines += [show_value(f"[{index}]", each) for index, each in enumerate(value[:SHOWN])]
    return "\n".join([*lines, "..."] if len(value) > SHOWN else lines)


def read_value(path: Path, type_: str = "") -> Any:
    """Read a value from a file, for an input of `type_`. Raises `FeedError`."""
    try:
        if path.suffix == ".json":
            value = json.loads(path.read_text())
            is_numbered = type_.startswith("map(int") and isinstance(value, dict)
            return {int(key): each for key, each in value.items()} if is_numbered else value
        return np.load(path, allow_pickle=False)
    except OSError as error:
        raise FeedError(f"cannot read '{path}': {error.strerror or error}") from error
    except ValueError as error:
        kind = "JSON" if path.suffix == ".json" else ".npy"
        raise FeedError(f"'{path}' is not a {kind} file: {error}") from error


def value_bytes(name: str, value: Any, path: Path) -> bytes:
    """The file contents for output `name`. Raises `UsageError` if `path` cannot hold `value`."""
    if path.suffix == ".json":
        return json.dumps(_plain(value), indent=1).encode()
    if not isinstance(value, np.ndarray):
        raise UsageError(f"output '{name}' is no tensor: write it to a .json file, not '{path}'")
    buffer = io.BytesIO()
    np.save(buffer, value.astype(str) if value.dtype.hasobject else value)
    return buffer.getvalue()


def _plain(value: Any) -> Any:
    """`value` as Python lists, dicts and scalars."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def apart(have: Any, want: Any) -> float:
    """The largest relative difference of two values; infinite if their structures differ."""
    if isinstance(want, list):
        fits = isinstance(have, list) and len(have) == len(want)
        pairs = zip(have, want, strict=True) if fits else ()
        return max((apart(*pair) for pair in pairs), default=0.0) if fits else np.inf
    if isinstance(want, dict):
        fits = isinstance(have, dict) and have.keys() == want.keys()
        return (
            apart(np.array([have[key] for key in want]), np.array([*want.values()]))
            if fits
            else np.inf
        )
    if want is None or have is None:
        return 0.0 if have is want else np.inf
    have, want = np.asarray(have), np.asarray(want)
    if want.dtype.kind in "OUS":
        return 0.0 if np.array_equal(have, want) else np.inf
    return relative_difference(have, want)
