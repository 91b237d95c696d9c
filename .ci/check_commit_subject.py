"""The commit-msg hook: ``check_commit_subject.py FILE`` refuses subjects of over 72 characters.

The subject is the first paragraph of the message without comments, on one line, as in ``git log``.
Subjects that ``git rebase --autosquash`` replaces (``fixup! ...``) may be longer.
"""

import subprocess
import sys
from pathlib import Path

LIMIT = 72
AUTOSQUASH = ("fixup! ", "squash! ", "amend! ")


def subject(message: str) -> str:
    """The subject of a commit message that is as an editor leaves it."""
    strip = ["git", "stripspace", "--strip-comments"]
    text = subprocess.run(strip, input=message, capture_output=True, text=True, check=True).stdout
    return " ".join(text.partition("\n\n")[0].split())


def main(path: str) -> int:
    """Print what is wrong with the message in `path`; 1 if something is."""
    line = subject(Path(path).read_text(encoding="utf-8"))
    if len(line) <= LIMIT or line.startswith(AUTOSQUASH):
        return 0
    print(f"the subject of the commit has {len(line)} characters, at most {LIMIT} are allowed:")
    print(f"  {line[:LIMIT]}|{line[LIMIT:]}")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
