"""Cache of compiled models, looked up by their files, without importing them.

The cache key covers the bytes of the model and of its external weight files, all options, the
versions and sources of the compiler, and the CPU.
"""

import json
import logging
import re
import stat
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

from ..errors import InvalidModelError
from ..passes.infra.report import Report
from ..runtime.cache.compile_cache import CompileCache
from ..runtime.cache.digests import digest_of, digest_of_file, digest_of_texts
from ..runtime.cache.keys import digest_of_sources, is_self_contained, surroundings
from ..runtime.execution.hybrid_file import read_part
from ..runtime.metadata import is_path, model_name
from .extensions import extensions
from .options import Options

_LOOKED_AT = re.compile(r"\b(print|view|dump)-")  # passes that are run for their printed output

logger = logging.getLogger("graphc")


class CachedModel(NamedTuple):
    """The file of a compiled model, and the reports of how it was compiled: one, or one for each
    entry point."""

    path: Path
    reports: Sequence[Report]


class ModelCache:
    """The cached result of one compilation in `store`: of a model, or of several into one file.

    `options` holds the options for each target, or for each model. The cache is bypassed if they
    ask to observe the compiler, or if its behaviour is not determined by the key: foreign passes or
    ops have been registered, or its sources have changed since they were imported.
    """

    def __init__(
        self,
        store: CompileCache | None,
        models: Sequence[Any],
        options: Sequence[Options],
        names: Sequence[str] = (),
    ):
        """`names` are those of the entry points that several models become."""
        self._store = store
        self._takes_parts = all(each.host for each in options)
        self._models = models
        self._name = model_name(models[0])
        self._target = ",".join(dict.fromkeys(each.target.spelling for each in options))
        self._key: str | None = None
        self._files: list[tuple[int, str]] = []
        """Names of the external data files, each with the number of a model that has it."""
        self._key_of_all: str | None = None
        """Key that also covers the contents of these files."""
        self._read: dict[Path, tuple[int, ...]] = {}
        """Files that were read for the key, with their state at that time."""
        if store is None or not all(map(_is_repeatable, options)) or extensions():
            return
        try:
            code = _running_code()
            if code is None:
                logger.info("graphc's sources have changed since: models are compiled anew")
                return
            described = json.dumps(
                [each.decisive() for each in options], sort_keys=True, default=repr
            )
            contents = [self._digest_of(model) for model in models]
        except (OSError, TypeError, ValueError) as error:  # the import will report the problem
            logger.info("'%s' is not looked for in the cache: %s", self._name, error)
            return
        texts = ["model", self._name, *contents, *names, code, described, *surroundings()]
        self._key = digest_of_texts(texts)

    def find(self) -> CachedModel | None:
        """The cached model, or None.

        A hybrid model counts as absent if the options reject hybrid models.
        """
        if self._store is None or self._key is None:
            return None
        found = self._store.find(self._key)
        try:
            if found is not None and found.entry.kind == "files":
                key = self._key_with([(int(n), str(name)) for n, name in found.details["files"]])
                found = None if key is None else self._store.find(key)
            if found is None:
                return None
            reports = [_read_report(values) for values in found.details["reports"]]
        except (KeyError, TypeError, ValueError, AttributeError) as error:  # a foreign entry
            logger.info("the cache has an entry that is not as graphc writes them: %s", error)
            return None
        for report, model in zip(reports, self._models, strict=False):
            report.title = model_name(model)
            report.cached = time.strftime(
                "%Y-%m-%d %H:%M:%S", time.localtime(found.entry.created)
            )  # fmt: skip
            if report.parts and not self._takes_parts:
                return None
        return CachedModel(found.path, reports)

    def before_compiling(self) -> None:
        """Compute the key of the models' external data files, before the import reads them."""
        if self._key is None:
            return
        from ..frontend.onnx import external_files  # which loads `onnx`

        files: dict[Path, tuple[int, str]] = {}
        try:
            for number, model in enumerate(self._models):
                if is_path(model):
                    for name in external_files(Path(model)):
                        files.setdefault(_folder(model) / name, (number, name))
        except InvalidModelError:
            self._key = None  # the import will report the problem
        self._files = list(files.values())
        if self._files:
            self._key_of_all = self._key_with(self._files)
            self._key = self._key if self._key_of_all else None

    def keep(self, contents: bytes, reports: Sequence[Report]) -> Path | None:
        """Store the compiled model, unless files have changed since the key was computed; the path
        of what is stored, or None."""
        if self._store is None or self._key is None or self._was_changed():
            return None  # the model or the compiler may differ from those of the key
        key, described = self._key, {"name": self._name, "target": self._target}
        if self._key_of_all is not None:
            details = {"files": self._files}
            self._store.put(key, b"", kind="files", **described, details=details)
            key = self._key_of_all
        details = {"reports": [report.to_dict() for report in reports]}
        return self._store.put(key, contents, kind="model", **described, details=details)

    def _digest_of(self, model: Any) -> str:
        if is_path(model):
            return self._digest(Path(model))
        if _is_bytes(model):
            return digest_of(memoryview(model))
        return digest_of(_serialized(model))

    def _digest(self, path: Path) -> str:
        self._read[path] = _state(path)
        return digest_of_file(path)

    def _key_with(self, files: Sequence[tuple[int, str]]) -> str | None:
        """The key that also covers the contents of `files`; None if one is missing."""
        if self._key is None:
            return None
        try:
            # A model in memory has no folder.
            digests = [self._digest(_folder(self._models[n]) / name) for n, name in files]
        except (OSError, IndexError, TypeError):
            return None
        return digest_of_texts([self._key, *digests])

    def _was_changed(self) -> bool:
        try:
            changed = any(_state(path) != state for path, state in self._read.items())
            return changed or _running_code() is None
        except OSError:
            return True


def _folder(model: Any) -> Path:
    return Path(model).resolve().parent


def _read_report(values: Mapping[str, Any]) -> Report:
    return Report.from_dict(values, map(read_part, values["parts"]))


def _running_code() -> str | None:
    """The digest of the sources of the running code; None if they have changed since."""
    return digest_of_sources(sys.modules["graphc"]._IMPORTED)


def _is_bytes(model: object) -> TypeGuard[bytes | bytearray | memoryview]:
    return isinstance(model, bytes | bytearray | memoryview)


def _serialized(model: Any) -> bytes:
    """The bytes of a ModelProto. Raises TypeError for other types, ValueError if it is too
    large."""
    if not hasattr(model, "SerializeToString"):
        raise TypeError(f"a {type(model).__name__} is no model")
    from google.protobuf.message import EncodeError

    try:
        return model.SerializeToString(deterministic=True)
    except EncodeError as error:
        raise ValueError(str(error)) from error


def _is_repeatable(options: Options) -> bool:
    """Return whether the options determine the result, and ask for no other output."""
    return (
        not options.shows_the_compiler()
        and _LOOKED_AT.search(options.pipeline) is None
        and is_self_contained(options.extra_flags)
    )


def _state(path: Path) -> tuple[int, ...]:
    """Inode, size and times of the file, to detect changes. Raises `OSError` for a file that is not
    regular, as it may be readable only once."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise OSError(f"'{path}' is not a regular file")
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
