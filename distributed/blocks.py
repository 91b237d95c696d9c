"""Blocks of a data set: the unit of work, of output and of resumption."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

_NAME_DIGITS = 12
_NOT_IN_NAMES = re.compile(r"[^\w.=-]+")


class Rows(Protocol):
    """The rows of a block, as columns."""

    @property
    def names(self) -> Sequence[str]:
        """Names of the columns."""
        ...

    @property
    def count(self) -> int:
        """Number of rows."""
        ...

    def array(self, name: str) -> Any:
        """The column as an array with one row for each row of the block."""
        ...

    def encode(self, outputs: Mapping[str, Any], keep: Sequence[str]) -> bytes:
        """The contents of a file with the columns `keep`, and `outputs`."""
        ...


class RowBlock(Protocol):
    """Some rows of a data set, which are read by the worker that processes them.

    It must be picklable, and cheap to send unless the data set is in memory.
    """

    @property
    def label(self) -> str:
        """The place of the block in the data set, for messages and file names."""
        ...

    @property
    def identity(self) -> str:
        """Text that is equal for equal blocks: place, size and time of a file, or its contents."""
        ...

    @property
    def suffix(self) -> str:
        """Suffix of a file with the rows of the block."""
        ...

    def read(self) -> Rows:
        """Read the rows. Raises `FeedError`."""
        ...


def block_key(block: RowBlock) -> str:
    """The key of `block` in a manifest."""
    return hashlib.sha256(block.identity.encode()).hexdigest()


def output_name(block: RowBlock) -> str:
    """The name of the file with the results of `block`; names sort in the order of the blocks."""
    label = _NOT_IN_NAMES.sub("_", block.label).lstrip("._")
    return f"{label}-{block_key(block)[:_NAME_DIGITS]}{block.suffix}"
