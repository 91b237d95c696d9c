"""The text that a recognition model reads, and how much of it is right."""

from collections.abc import Iterable, Sequence

import numpy as np
import onnx

BLANK = 0


def characters(model: onnx.ModelProto) -> list[str]:
    """The characters by class of a PP-OCR model, which its metadata lists; class 0 is a blank."""
    listed = {each.key: each.value for each in model.metadata_props}["character"]
    return ["", *listed.split("\n"), " "]


def read_text(scores: np.ndarray, known: Sequence[str]) -> str:
    """The text of `scores` [steps, classes]: the best classes without repetitions and blanks
    (greedy decoding of CTC: Graves et al., 2006)."""
    best = scores.argmax(-1)
    kept = best[np.diff(best, prepend=BLANK) != 0]
    return "".join(known[each] for each in kept if each != BLANK and each < len(known))


def edit_distance(have: str, want: str) -> int:
    """Levenshtein's distance: insertions, deletions and replacements."""
    row = list(range(len(want) + 1))
    for number, letter in enumerate(have, 1):
        previous, row[0] = row[0], number
        for column, other in enumerate(want, 1):
            replaced = previous + (letter != other)
            previous = row[column]
            row[column] = min(replaced, row[column] + 1, row[column - 1] + 1)
    return row[-1]


def character_accuracy(pairs: Iterable[tuple[str, str]]) -> float:
    """1 less the edits from what was read to the truth, per character of the truth."""
    edits, length = 0, 0
    for have, want in pairs:
        edits += edit_distance(have, want)
        length += len(want)
    return 1 - edits / length
