"""Data sets by name: files, folders and URIs as blocks."""

import os
from collections.abc import Iterator
from pathlib import Path

from ..errors import FeedError
from . import array_blocks, parquet_blocks
from .blocks import RowBlock
from .parquet_blocks import blocks_of_parquet, open_location

ARRAYS, PARQUET = array_blocks.SUFFIXES, parquet_blocks.SUFFIXES


def blocks_of_files(
    location: str | os.PathLike[str], column: str | None, rows_per_block: int
) -> Iterator[RowBlock]:
    """The blocks of a file, or of all files in a folder and below, in the order of their names.

    `location` may be a URI of Parquet files, such as ``s3://bucket/folder``, as pyarrow takes it.
    `column` is the name of the array in ``.npy`` files. Files with other suffixes, and those whose
    names begin with ``_`` or ``.``, are skipped. Raises `FeedError` if there are none.
    """
    if "://" in os.fspath(location):
        return _remote(os.fspath(location))
    return _local(Path(location), column, rows_per_block)


def _local(root: Path, column: str | None, rows_per_block: int) -> Iterator[RowBlock]:
    files = _files(root)
    kinds = {path.suffix.lower() in PARQUET for path in files}
    if len(kinds) > 1:
        raise FeedError(f"'{root}' has both Parquet files and arrays: give one of them")
    for path in files:
        name = path.name if path == root else path.relative_to(root).as_posix()
        path = path.absolute()  # workers may have another current folder
        if path.suffix.lower() in PARQUET:
            status = path.stat()
            state = f"{status.st_size} {status.st_mtime_ns}"
            yield from blocks_of_parquet(str(path), name, state)
        else:
            yield from array_blocks.blocks_of_file(path, name, column, rows_per_block)


def _files(root: Path) -> list[Path]:
    suffixes = (*ARRAYS, *PARQUET)
    if root.is_file():
        if root.suffix.lower() not in suffixes:
            raise FeedError(f"'{root}' is not one of {', '.join(suffixes)}")
        return [root]
    if not root.is_dir():
        raise FeedError(f"there is no data set at '{root}'")
    found = sorted(
        path
        for path in root.rglob("*")
        if path.suffix.lower() in suffixes and _is_visible(path.relative_to(root).as_posix())
    )
    if not found:
        raise FeedError(f"the data set is empty: '{root}' has no {', '.join(suffixes)}")
    return found


def _remote(uri: str) -> Iterator[RowBlock]:
    system, root = open_location(uri)
    from pyarrow import fs  # pyright: ignore[reportMissingImports]

    selector = fs.FileSelector(root, recursive=True, allow_not_found=True)
    infos = [system.get_file_info(root)]
    if infos[0].type == fs.FileType.Directory:
        infos = system.get_file_info(selector)
    files = {info.path: info for info in infos if info.path.lower().endswith(PARQUET)}
    scheme, _, _ = uri.partition("://")
    visible = 0
    for path, info in sorted(files.items()):
        name = path.removeprefix(root).lstrip("/") or os.path.basename(path)
        if info.type == fs.FileType.File and _is_visible(name):
            visible += 1
            state = f"{info.size} {info.mtime_ns}"
            yield from blocks_of_parquet(_uri(scheme, path, uri), name, state)
    if not visible:
        raise FeedError(f"the data set is empty: '{uri}' has no {', '.join(PARQUET)}")


def _uri(scheme: str, path: str, uri: str) -> str:
    """The URI of a file in the file system of `uri`, with the options of that."""
    _, mark, options = uri.partition("?")
    return f"{scheme}://{path}{mark}{options}"


def _is_visible(name: str) -> bool:
    return not any(part.startswith(("_", ".")) for part in name.split("/"))
