"""The file of a hybrid model (``.gcm``): a zip archive of its parts and its metadata.

::

    graphc.json   metadata, and for each part its nodes, inputs and outputs
    part0.vmfb    a compiled part
    part1.onnx    a part for the host

Entries are stored uncompressed: weights hardly shrink, and uncompressed code loads faster.
"""

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ...errors import ModuleFileError
from ..files.archive import read_entries
from ..metadata import ModelMetadata
from .hybrid import PartSpec

MANIFEST = "graphc.json"
FORMAT_VERSION = 1
_BEGINNING = b"PK\x03\x04"
_NOT_AS_WRITTEN = (KeyError, TypeError, ValueError, OSError, RecursionError, AttributeError)
_NAME = slice(30, 30 + len(MANIFEST))


@dataclass(frozen=True)
class HybridFile:
    """The contents of a file. `whole` holds all of its bytes, `contents` those of each part."""

    metadata: ModelMetadata
    parts: tuple[PartSpec, ...]
    contents: tuple[bytes, ...]
    whole: memoryview


def is_hybrid(source: Path | bytes | bytearray) -> bool:
    """Return whether `source`, a path or the bytes of a file, is a hybrid model."""
    if isinstance(source, Path):
        try:
            with source.open("rb") as file:
                source = file.read(_NAME.stop)
        except OSError:
            return False  # the next reader reports the problem
    return source[:4] == _BEGINNING and source[_NAME] == MANIFEST.encode()


def write_hybrid(
    metadata: ModelMetadata, parts: Sequence[PartSpec], contents: Sequence[bytes]
) -> bytes:
    """The bytes of the file."""
    manifest = {
        "format_version": FORMAT_VERSION,
        "metadata": json.loads(metadata.to_json()),
        "parts": [_fields(part) for part in parts],
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(MANIFEST), json.dumps(manifest, indent=1))
        for index, (part, data) in enumerate(zip(parts, contents, strict=True)):
            archive.writestr(zipfile.ZipInfo(_entry(index, part)), data)
    return buffer.getvalue()


def _fields(part: PartSpec) -> dict[str, Any]:
    """The fields of a part that a file holds."""
    return {name: value for name, value in asdict(part).items() if name != "engines"}


def read_hybrid(source: Path | bytes | bytearray) -> HybridFile:
    """Read the file. Raises `ModuleFileError` if it is damaged or of another version."""
    origin = str(source) if isinstance(source, Path) else "<bytes>"
    try:
        whole = source.read_bytes() if isinstance(source, Path) else bytes(source)
        return _read(memoryview(whole))
    except _NOT_AS_WRITTEN as error:
        reason = str(error) or type(error).__name__
        raise ModuleFileError(f"{origin}: the file is truncated or damaged ({reason})") from error
    except ModuleFileError as error:
        raise ModuleFileError(f"{origin}: {error}") from error


def _read(whole: memoryview) -> HybridFile:
    entries = read_entries(whole)
    manifest = json.loads(bytes(entries[MANIFEST]))
    _check_version(manifest)
    metadata = ModelMetadata.from_json(json.dumps(manifest["metadata"]))
    parts = tuple(map(read_part, manifest["parts"]))
    _check_values(metadata, parts)
    contents = tuple(bytes(entries[_entry(i, part)]) for i, part in enumerate(parts))
    return HybridFile(metadata, parts, contents, whole)


def _check_values(metadata: ModelMetadata, parts: Sequence[PartSpec]) -> None:
    """Raise ModuleFileError if a part reads, or the model returns, an undefined value."""
    known = {spec.name for spec in metadata.inputs}
    for index, part in enumerate(parts):
        if lost := set(part.inputs) - known:
            raise ModuleFileError(
                f"part {index} of the file reads {sorted(lost)}, which nothing gives"
            )
        known |= set(part.outputs)
    if lost := {spec.name for spec in metadata.outputs} - known:
        raise ModuleFileError(f"the file has outputs {sorted(lost)}, which nothing gives")


def _check_version(manifest: Any) -> None:
    version = manifest["format_version"]
    if version != FORMAT_VERSION:
        raise ModuleFileError(
            f"the file has format version {version!r}; this graphc reads version "
            f"{FORMAT_VERSION}: compile the model again"
        )


def read_part(raw: Mapping[str, Any]) -> PartSpec:
    """A part from the JSON values of its fields. Raises KeyError, TypeError or ValueError."""
    nodes, inputs, outputs = (tuple(raw[name]) for name in ("nodes", "inputs", "outputs"))
    reasons = dict(raw["reasons"])
    for text in (*nodes, *inputs, *outputs, *reasons, *reasons.values()):
        if not isinstance(text, str):
            raise TypeError(f"{text!r} where a name is wanted")
    return PartSpec(bool(raw["native"]), nodes, inputs, outputs, reasons)


def _entry(index: int, part: PartSpec) -> str:
    return f"part{index}.{'vmfb' if part.native else 'onnx'}"
