"""Multi-target files: one file with code for several targets.

A ``.vmfb`` is also a zip archive. The first module is the archive, and the modules for further
targets are entries of it; IREE's own tools ignore these entries and run the first module::

    ...                      the entries of the first module
    targets/cpu:host         empty: the target of the first module
    targets/vulkan:ampere    another complete module
"""

import io
import zipfile
from collections.abc import Mapping

from ...errors import ModuleFileError
from ..device.memory import ALIGNMENT

_FOLDER = "targets/"
_HEADER_BYTES = 30
_PADDING = b"\xfe\xca"
"""Header id of an extra field that is only padding, as other zip tools write it."""


def bundle(modules: Mapping[str, bytes]) -> bytes:
    """The bytes of one file with `modules`, by target; the first is the one for IREE's tools."""
    (first, contents), *others = modules.items()
    buffer = io.BytesIO()
    buffer.write(contents)
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(_FOLDER + first), b"")
        for target, module in others:
            entry = zipfile.ZipInfo(_FOLDER + target)
            # The entry overwrites the directory of the archive, so it begins where that began.
            entry.extra = _padding(archive.start_dir + _HEADER_BYTES + len(entry.filename.encode()))
            archive.writestr(entry, module)
    return buffer.getvalue()


def _padding(begin: int) -> bytes:
    """An extra field at offset `begin`, sized so that the data after it is aligned."""
    size = -(begin + 4) % ALIGNMENT
    return _PADDING + size.to_bytes(2, "little") + bytes(size)


def find_modules(contents: memoryview, entries: Mapping[str, memoryview]) -> dict[str, memoryview]:
    """The modules in a file by target, in order; empty for a single-module file.

    `entries` are those of the archive. Raises `ModuleFileError`.
    """
    targets = {name.removeprefix(_FOLDER): data for name, data in entries.items() if _is_one(name)}
    own = [target for target, data in targets.items() if len(data) == 0]
    if targets and len(own) != 1:
        raise ModuleFileError("the file is damaged (in its list of targets)")
    return {target: data if len(data) else contents for target, data in targets.items()}


def _is_one(name: str) -> bool:
    return name.startswith(_FOLDER)
