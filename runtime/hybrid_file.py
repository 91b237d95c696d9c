"""The file of a hybrid model (``.gcm``): a zip archive of its parts and what it says about itself.

::

    graphc.json   metadata, and for each part its nodes, inputs and outputs
    part0.vmfb    a compiled part
    part1.onnx    a part for the host

Nothing in it is compressed: weights hardly shrink, and code is read faster as it is.
"""

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..errors import ModuleFileError
from .hybrid import PartSpec
from .metadata import ModelMetadata

MANIFEST = "graphc.json"
FORMAT_VERSION = 1
_BEGINNING = b"PK\x03\x04"
_NAME = slice(30, 30 + len(MANIFEST))


@dataclass(frozen=True)
class HybridFile:
    """What a file holds. `whole` is all of its bytes, `contents` those of each part."""

    metadata: ModelMetadata
    parts: tuple[PartSpec, ...]
    contents: tuple[bytes, ...]
    whole: memoryview


def is_hybrid(source: Path | bytes | bytearray) -> bool:
    """Whether `source`, a path or the bytes themselves, is the file of a hybrid model."""
    if isinstance(source, Path):
        try:
            with source.open("rb") as file:
                source = file.read(_NAME.stop)
        except OSError:
            return False  # whoever reads it next says what is wrong
    return source[:4] == _BEGINNING and source[_NAME] == MANIFEST.encode()


def write_hybrid(
    metadata: ModelMetadata, parts: Sequence[PartSpec], contents: Sequence[bytes]
) -> bytes:
    """The bytes of the file."""
    manifest = {
        "format_version": FORMAT_VERSION,
        "metadata": json.loads(metadata.to_json()),
        "parts": [asdict(part) for part in parts],
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(MANIFEST), json.dumps(manifest, indent=1))
        for index, (part, data) in enumerate(zip(parts, contents, strict=True)):
            archive.writestr(zipfile.ZipInfo(_entry(index, part)), data)
    return buffer.getvalue()


def read_hybrid(source: Path | bytes | bytearray) -> HybridFile:
    """Read the file. Raises `ModuleFileError` where it is damaged or of another version."""
    origin = str(source) if isinstance(source, Path) else "<bytes>"
    try:
        whole = source.read_bytes() if isinstance(source, Path) else bytes(source)
        with zipfile.ZipFile(io.BytesIO(whole)) as archive:
            manifest = json.loads(archive.read(MANIFEST))
            _check_version(manifest)
            metadata = ModelMetadata.from_json(json.dumps(manifest["metadata"]))
            parts = tuple(map(read_part, manifest["parts"]))
            contents = tuple(archive.read(_entry(i, part)) for i, part in enumerate(parts))
    except (zipfile.BadZipFile, KeyError, TypeError, ValueError, OSError) as error:
        raise ModuleFileError(f"{origin}: the file is truncated or damaged ({error})") from error
    except ModuleFileError as error:
        raise ModuleFileError(f"{origin}: {error}") from error
    return HybridFile(metadata, parts, contents, memoryview(whole))


def _check_version(manifest: Any) -> None:
    version = manifest["format_version"]
    if version != FORMAT_VERSION:
        raise ModuleFileError(
            f"the file has format version {version!r}; this graphc reads version "
            f"{FORMAT_VERSION}: compile the model again"
        )


def read_part(raw: Mapping[str, Any]) -> PartSpec:
    """A part from the plain values of its fields."""
    return PartSpec(
        bool(raw["native"]),
        tuple(raw["nodes"]),
        tuple(raw["inputs"]),
        tuple(raw["outputs"]),
        dict(raw["reasons"]),
    )


def _entry(index: int, part: PartSpec) -> str:
    return f"part{index}.{'vmfb' if part.native else 'onnx'}"
