"""Text and files in the forms in which models take them.

The sentences are from the Universal Declaration of Human Rights.
"""

from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

import graphc
from graphc.errors import UsageError

from .entry import Maker, Shape, Shapes

ROOT = Path(graphc.__file__).parent
HALF, PADDING = 1024, 256
"""Bytes from each end of a file, and the token that stands for one that is not there."""
ARABIC = (
    "يولد جميع الناس أحرارا متساوين في الكرامة والحقوق. وقد وهبوا عقلا وضميرا "
    "وعليهم أن يعامل بعضهم بعضا بروح الإخاء. "
)
ARABIC_LETTERS = '_ #!"()-./:[]«»،؛؟ءآأؤإئابةتثجحخدذرزسشصضطظعغفقكلمنهوىي'
HEBREW = (
    "כל בני אדם נולדו בני חורין ושווים בערכם ובזכויותיהם. כולם חוננו בתבונה ובמצפון, "
    "לפיכך חובה עליהם לנהוג איש ברעהו ברוח של אחווה. "
)
HEBREW_LETTERS = "\0HO5 !\"'(),-.:;?אבגדהוזחטיךכלםמןנסעףפץצקרשת"
ENDINGS = str.maketrans("ךםןףץ", "כמנפצ")
"""Letters of the ends of words, which the model does not tell from others."""


def file_bytes(shape: Shape) -> np.ndarray:
    """Bytes of the beginnings and ends of this repository's files."""
    batch, _ = shape
    names = (
        "*.md",
        "*.toml",
        "docs/*",
        "examples/*",
        "benchmarks/*.py",
        "test/passes/linalg/*.mlir",
    )
    files = [path for name in names for path in sorted(ROOT.glob(name)) if path.is_file()]
    if not files:
        raise UsageError(f"'{ROOT}' is no clone of graphc: there are no files to look at")
    chosen = [files[i * len(files) // batch] for i in range(batch)]
    return np.stack([ends_of(path.read_bytes()) for path in chosen])


def hebrew_letters(shape: Shape) -> np.ndarray:
    """Numbers of the letters of a Hebrew text, as floats."""
    batch, length = shape
    ids = np.array([HEBREW_LETTERS.index(c) for c in HEBREW.translate(ENDINGS)], np.float32)
    return np.stack([np.resize(np.roll(ids, -7 * i), length) for i in range(batch)])


def arabic_letters(shape: Shape) -> np.ndarray:
    """Numbers of the letters of an Arabic text, from 1 on, in an order of their own."""
    batch, length = shape
    known = sorted({*ARABIC})
    ids = np.array([1 + known.index(c) for c in ARABIC], np.int64)
    return np.stack([np.resize(np.roll(ids, -7 * i), length) for i in range(batch)])


def drawn_tokens(count: int, dtype: DTypeLike = np.int64) -> Maker:
    """Numbers of a vocabulary of `count` tokens, small ones often, as in text."""

    def make(shape: Shape) -> np.ndarray:
        drawn = np.random.default_rng(0).random(shape)
        return (count**drawn).astype(dtype) % count

    return make


def full_lengths(length: int) -> Maker:
    """`length` for each example."""
    return lambda shape: np.full(shape, length, np.int64)


def ones(shape: Shape) -> np.ndarray:
    """The mask of texts without padding."""
    return np.ones(shape, np.int64)


def arabic_text(shapes: Shapes) -> dict[str, np.ndarray]:
    """Numbers of the letters of an Arabic text without vowel signs, the signs, the lengths."""
    batch, length = shapes["char_inputs"]
    ids = np.array([ARABIC_LETTERS.index(c) for c in ARABIC], np.int64)
    rows = [np.resize(np.roll(ids, -7 * i), length) for i in range(batch)]
    no_sign = 1
    return {
        "char_inputs": np.stack(rows),
        "diac_inputs": np.full((batch, length), no_sign, np.int64),
        "input_lengths": np.full((batch,), length, np.int64),
    }


def ends_of(contents: bytes) -> np.ndarray:
    """The bytes of both ends of a file, as Magika takes them."""
    begin = contents[:4096].lstrip()[:HALF]
    end = contents[-4096:].rstrip()[-HALF:]
    missing = [[PADDING] * (HALF - len(part)) for part in (begin, end)]
    return np.array([*begin, *missing[0], *missing[1], *end], np.int32)
