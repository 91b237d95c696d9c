"""The file that is copied to the device: a zip archive that Python can run.

::

    __main__.py   begins the run
    graphc/       the part of graphc that it needs
    harness/...   and of its tests
    check.json    the manifest
    data/...      modules and arrays, by digest
"""

import hashlib
import json
import lzma
import math
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from conformance.case_outcome import CaseOutcome, CaseStatus
from conformance.known import Known
from conformance.suite_results import CaseInfo
from graphc.errors import OutputError, UsageError

MANIFEST = "check.json"
FORMAT_VERSION = 1
QUICK_BYTES = 16 << 20
"""Size in bytes above which entries are compressed quickly: they are mostly weights, which hardly
shrink with any effort."""
REPETITION_BYTES = 1 << 20
REPETITIVE = 0.2
"""Compression ratio of a sample of `REPETITION_BYTES` below which contents count as repetitive
(`benchmarks.weightless`). LZMA finds repetitions at any distance."""

ArraySpec = tuple[str, Sequence[int]]
"""Element type and shape."""


@dataclass(frozen=True)
class PackedCase:
    """A compiled case. `data` has the arrays of its `sets` of inputs and outputs."""

    info: CaseInfo
    rtol: float
    atol: float
    module: str
    data: str
    sets: Sequence[tuple[Sequence[ArraySpec], Sequence[ArraySpec]]]


@dataclass(frozen=True)
class PackedModel:
    """A compiled model. `data` has its `inputs`, followed by the `outputs` of the CPU."""

    name: str
    tolerance: float
    """Allowed largest difference, relative to the largest element of the output."""
    module: str
    data: str
    inputs: Mapping[str, ArraySpec]
    outputs: Sequence[ArraySpec]
    onnxruntime_difference: float | None
    """Difference between the results of the CPU and of ONNX Runtime; None if it is not
    installed."""


@dataclass
class Manifest:
    """The contents of an archive."""

    target: str
    variant: str
    versions: Mapping[str, str]
    """Versions of the packages that compiled the archive."""
    matching: str
    """The regular expression that selected the cases; empty if all were selected."""
    cases: list[PackedCase] = field(default_factory=list)
    not_compiled: list[tuple[CaseInfo, CaseOutcome]] = field(default_factory=list)
    on_host: int = 0
    """Number of cases with parts on the host, which are left out."""
    known: dict[str, Known] = field(default_factory=dict)
    """The cases that are known not to pass."""
    models: list[PackedModel] = field(default_factory=list)
    models_not_compiled: dict[str, str] = field(default_factory=dict)
    """Models that do not compile, and the reasons."""


class ArchiveWriter:
    """An archive that is being written. Raises OutputError if `path` cannot be written."""

    def __init__(self, path: Path):
        self._path = path
        self._digests: set[str] = set()
        try:
            self._file = path.open("wb")
        except OSError as error:
            raise OutputError(f"cannot write to '{path}': {error.strerror}") from error
        self._zip = zipfile.ZipFile(self._file, "w", zipfile.ZIP_DEFLATED)

    def add(self, contents: bytes) -> str:
        """Add `contents`, without duplicates, and return their digest."""
        digest = hashlib.sha256(contents).hexdigest()[:32]
        if digest not in self._digests:
            self._digests.add(digest)
            self.add_file(f"data/{digest}", contents)
        return digest

    def add_file(self, name: str, contents: bytes | str) -> None:
        """Add a file."""
        method, level = zipfile.ZIP_DEFLATED, None
        if len(contents) > QUICK_BYTES:
            method, level = _quick_method(contents)
        self._zip.writestr(zipfile.ZipInfo(name), contents, method, level)

    def close(self, manifest: Manifest | None) -> None:
        """Complete the archive; without a `manifest`, remove it."""
        if manifest is not None:
            written = {"format_version": FORMAT_VERSION, **asdict(manifest)}
            self.add_file(MANIFEST, json.dumps(written))
        self._zip.close()
        self._file.close()
        if manifest is None:
            self._path.unlink()


def _quick_method(contents: bytes | str) -> tuple[int, int | None]:
    """The compression method and level for large contents."""
    sample = contents[len(contents) // 2 :][:REPETITION_BYTES]
    data = sample.encode() if isinstance(sample, str) else sample
    if len(lzma.compress(data, preset=0)) < REPETITIVE * len(data):
        return zipfile.ZIP_LZMA, None
    return zipfile.ZIP_DEFLATED, 1


class Archive:
    """An existing archive. Raises UsageError if the file is not one, or has another version."""

    def __init__(self, path: Path):
        self.path = path
        try:
            self._zip = zipfile.ZipFile(path)
            text = self._zip.read(MANIFEST)
        except (OSError, KeyError, zipfile.BadZipFile) as error:
            raise UsageError(f"'{path}' is no archive of gpu_check: {error}") from error
        written = json.loads(text)
        version = written.pop("format_version")
        if version != FORMAT_VERSION:
            raise UsageError(f"'{path}' has format version {version}, not {FORMAT_VERSION}")
        self.manifest = _manifest(written)
        self.digest = hashlib.sha256(text).hexdigest()[:12]

    def read(self, digest: str) -> bytes:
        """The contents with this digest."""
        return self._zip.read(f"data/{digest}")


def pack_arrays(arrays: Sequence[np.ndarray]) -> tuple[list[ArraySpec], bytes]:
    """Specs and bytes of `arrays`, for `unpack_arrays`."""
    specs: list[ArraySpec] = [(array.dtype.name, array.shape) for array in arrays]
    return specs, b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)


def unpack_arrays(
    specs: Sequence[ArraySpec], data: bytes, offset: int = 0
) -> tuple[list[np.ndarray], int]:
    """The arrays from `offset` on, and the offset behind them."""
    arrays = []
    for name, shape in specs:
        dtype = np.dtype(getattr(ml_dtypes, name, name))
        count = math.prod(shape)
        arrays.append(np.frombuffer(data, dtype, count, offset).reshape(shape))
        offset += count * dtype.itemsize
    return arrays, offset


def _manifest(written: dict[str, Any]) -> Manifest:
    return Manifest(
        **{
            **written,
            "cases": [PackedCase(**{**c, "info": CaseInfo(**c["info"])}) for c in written["cases"]],
            "not_compiled": [
                (CaseInfo(**info), CaseOutcome.from_json(outcome))
                for info, outcome in written["not_compiled"]
            ],
            "known": {
                k: Known(**{**v, "status": CaseStatus(v["status"])})
                for k, v in written["known"].items()
            },
            "models": [PackedModel(**model) for model in written["models"]],
        }
    )
