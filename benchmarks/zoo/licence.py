"""Licences, as wheels state them: in their metadata, and in the title of their licence file."""

import re
from email.message import Message
from email.parser import Parser
from typing import NamedTuple
from zipfile import ZipFile

CLASSIFIER = "License :: "


class Licence(NamedTuple):
    """The two statements of a wheel; an empty text for one that it does not make."""

    metadata: str
    file: str


def licence_of(wheel: ZipFile) -> Licence:
    """The licence of the package in `wheel`."""
    names = wheel.namelist()
    metadata = next(name for name in names if re.fullmatch(r"[^/]+\.dist-info/METADATA", name))
    stated = Parser().parsestr(wheel.read(metadata).decode("utf-8"), headersonly=True)
    folder = metadata.removesuffix("METADATA")
    files = [name for name in stated.get_all("License-File", ()) if "NOTICE" not in name]
    places = [f"{folder}{place}{name}" for name in files for place in ("", "licenses/")]
    found = next((place for place in places if place in names), None)
    title = _title(wheel.read(found).decode("utf-8", "replace")) if found else ""
    return Licence(_stated(stated), title)


def _stated(metadata: Message) -> str:
    """The expression, or else the field, or else the classifier."""
    for field in ("License-Expression", "License"):
        lines = [line.strip() for line in (metadata.get(field) or "").splitlines()]
        if any(lines):
            return next(filter(None, lines))
    classifiers = metadata.get_all("Classifier", ())
    return next((each.split(" :: ")[-1] for each in classifiers if each.startswith(CLASSIFIER)), "")


def _title(text: str) -> str:
    """The first line that speaks of a licence."""
    lines = (" ".join(line.split()) for line in text.splitlines())
    return next((line for line in lines if re.search("licen[cs]e", line, re.IGNORECASE)), "")
