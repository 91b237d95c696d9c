"""A backend compiler that fails, a shell script."""

from collections.abc import Callable
from pathlib import Path

import pytest

from graphc.runtime.iree_compile import compiler


def failing_compiler(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return what replaces the compiler by one that fails but for commands of a pattern of the
    shell, with a compile cache of its own."""
    real = compiler.find_compiler()

    def install(pattern: str) -> None:
        path = folder / "fake-compile"
        path.write_text(
            f'#!/bin/sh\ncase "$*" in {pattern}) exec {real} "$@";; esac\n'
            'echo "error: too large: $*" >&2\nexit 1\n'
        )
        path.chmod(0o755)
        monkeypatch.setattr(compiler, "find_compiler", lambda: path)

    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    return install
