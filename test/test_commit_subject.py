"""The commit-msg hook refuses long subjects, and `pre-commit install` installs it."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import graphc

ROOT = Path(graphc.__file__).parent
SCRIPT = ROOT / ".ci" / "check_commit_subject.py"
LONG = "docs: " + "x" * 67  # one character too many


def git(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    command = ["git", *identity, *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True)


@pytest.fixture
def repository(tmp_path):
    hook = tmp_path / "hooks" / "commit-msg"
    hook.parent.mkdir()
    hook.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{SCRIPT}" "$1"\n')
    hook.chmod(0o755)
    assert git("init", cwd=tmp_path).returncode == 0
    assert git("config", "core.hooksPath", str(hook.parent), cwd=tmp_path).returncode == 0
    return tmp_path


@pytest.mark.parametrize(
    "message",
    [
        LONG[:-1],
        "docs: ä" + "ü" * 65,  # characters, not bytes
        f"docs: short\n\n{LONG} in the body",
        f"fixup! {LONG}",
    ],
)
def test_accepted(repository, message):
    done = git("commit", "--allow-empty", "-m", message, cwd=repository)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("message", [LONG, f"{LONG[:40]}\n{LONG[40:]}"], ids=["line", "paragraph"])
def test_refused(repository, message):
    done = git("commit", "--allow-empty", "-m", message, cwd=repository)
    assert done.returncode == 1
    assert "at most 72 are allowed" in done.stdout + done.stderr
    assert git("log", cwd=repository).returncode != 0, "something was committed"


def test_comments_do_not_count(tmp_path):
    message = tmp_path / "COMMIT_EDITMSG"
    message.write_text(f"\n# {LONG}\ndocs: short\n# {LONG}\n")
    assert subprocess.run([sys.executable, SCRIPT, message], cwd=tmp_path).returncode == 0


def test_pre_commit_installs_it():
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    assert "commit-msg" in config["default_install_hook_types"]
    hooks = [hook for repo in config["repos"] for hook in repo["hooks"]]
    (hook,) = [hook for hook in hooks if "commit-msg" in hook.get("stages", [])]
    assert ROOT / hook["entry"].split()[-1] == SCRIPT
    assert "pre-commit install" in (ROOT / "CONTRIBUTING.md").read_text()
