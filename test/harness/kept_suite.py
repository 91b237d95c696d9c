"""ONNX's test suite for backends, made once for all processes of a run, and for later runs.

ONNX computes the expected results of its cases anew whenever they are loaded, which takes five
seconds, and reading them a tenth of one.
"""

import hashlib
import os
import pickle
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import onnx

from conformance import cases
from conformance.cases import SuiteCase

Load = Callable[[], list[SuiteCase]]


def kept_cases(folder: Path, load: Load = cases.load_cases) -> list[SuiteCase]:
    """The cases that `load` gives, from a file in `folder`, which this makes if it is missing.

    The file belongs to the installed versions of what computes the cases, and to our definition of
    a case. Other processes may make it at the same time.
    """
    path = folder / f"suite-{_key()}"
    if path.exists():
        path.touch()  # it was of use, see `compile_once.prune`
        return pickle.loads(path.read_bytes())
    loaded = load()
    complete = path.with_suffix(f".{os.getpid()}")
    complete.write_bytes(pickle.dumps(loaded))
    complete.replace(path)
    return loaded


def _key() -> str:
    versions = [metadata.version(name) for name in ("onnx", "numpy", "protobuf")]
    source = Path(cases.__file__).read_text(encoding="utf-8")
    return hashlib.sha256("\n".join([*versions, onnx.__file__, source]).encode()).hexdigest()[:32]
