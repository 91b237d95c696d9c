"""Text drawn with a built-in font of 5x7 dots."""

from collections.abc import Sequence

import numpy as np

ROWS, COLUMNS = 7, 5
GLYPHS = {
    " ": "00000 00000 00000 00000 00000 00000 00000",
    "-": "00000 00000 00000 11111 00000 00000 00000",
    ".": "00000 00000 00000 00000 00000 01100 01100",
    "0": "01110 10001 10011 10101 11001 10001 01110",
    "1": "00100 01100 00100 00100 00100 00100 01110",
    "2": "01110 10001 00001 00010 00100 01000 11111",
    "3": "11111 00010 00100 00010 00001 10001 01110",
    "4": "00010 00110 01010 10010 11111 00010 00010",
    "5": "11111 10000 11110 00001 00001 10001 01110",
    "6": "00110 01000 10000 11110 10001 10001 01110",
    "7": "11111 00001 00010 00100 01000 01000 01000",
    "8": "01110 10001 10001 01110 10001 10001 01110",
    "9": "01110 10001 10001 01111 00001 00010 01100",
    "A": "01110 10001 10001 10001 11111 10001 10001",
    "B": "11110 10001 10001 11110 10001 10001 11110",
    "C": "01110 10001 10000 10000 10000 10001 01110",
    "D": "11100 10010 10001 10001 10001 10010 11100",
    "E": "11111 10000 10000 11110 10000 10000 11111",
    "F": "11111 10000 10000 11110 10000 10000 10000",
    "G": "01110 10001 10000 10111 10001 10001 01111",
    "H": "10001 10001 10001 11111 10001 10001 10001",
    "I": "01110 00100 00100 00100 00100 00100 01110",
    "J": "00111 00010 00010 00010 00010 10010 01100",
    "K": "10001 10010 10100 11000 10100 10010 10001",
    "L": "10000 10000 10000 10000 10000 10000 11111",
    "M": "10001 11011 10101 10101 10001 10001 10001",
    "N": "10001 10001 11001 10101 10011 10001 10001",
    "O": "01110 10001 10001 10001 10001 10001 01110",
    "P": "11110 10001 10001 11110 10000 10000 10000",
    "Q": "01110 10001 10001 10001 10101 10010 01101",
    "R": "11110 10001 10001 11110 10100 10010 10001",
    "S": "01111 10000 10000 01110 00001 00001 11110",
    "T": "11111 00100 00100 00100 00100 00100 00100",
    "U": "10001 10001 10001 10001 10001 10001 01110",
    "V": "10001 10001 10001 10001 10001 01010 00100",
    "W": "10001 10001 10001 10101 10101 10101 01010",
    "X": "10001 10001 01010 00100 01010 10001 10001",
    "Y": "10001 10001 10001 01010 00100 00100 00100",
    "Z": "11111 00001 00010 00100 01000 10000 11111",
}
"""Rows of dots from top to bottom, ``1`` for ink."""
WORDS: Sequence[str] = (
    *("GRAPH", "COMPILER", "TENSOR", "KERNEL", "MATMUL", "LAYOUT", "FUSION", "INVOICE", "TOTAL"),
    *("STREET", "STATION", "LIBRARY", "OCTOBER", "2026", "1984", "NO. 17", "ROOM 42", "RIVER"),
)


def ink(text: str, height: int) -> np.ndarray:
    """Coverage by ink of each pixel, 0 to 1, of a line of `text` of so many pixels."""
    gap = np.zeros((ROWS, 1), np.float32)
    dots = np.hstack([part for letter in text for part in (_glyph(letter), gap)])[:, :-1]
    scale = height / ROWS
    rows = _samples(height, ROWS)
    columns = _samples(max(1, round(dots.shape[1] * scale)), dots.shape[1])
    return blurred(dots[np.ix_(rows, columns)], max(1, int(scale / 2)))


def blurred(image: np.ndarray, width: int) -> np.ndarray:
    """`image` with each pixel the mean of a square of `width` pixels around it."""
    for axis in (0, 1):
        low = width // 2
        padding = [(0, 0)] * image.ndim
        padding[axis] = (low, width - 1 - low)
        padded = np.pad(image, padding, mode="edge")
        windows = np.lib.stride_tricks.sliding_window_view(padded, width, axis)
        image = windows.mean(-1, dtype=np.float32)
    return image


def words(count: int, random: np.random.Generator) -> str:
    """Some words of `WORDS` in a line."""
    return " ".join(WORDS[index] for index in random.integers(len(WORDS), size=count))


def _glyph(letter: str) -> np.ndarray:
    rows = GLYPHS[letter].split()
    return np.array([[float(dot) for dot in row] for row in rows], np.float32)


def _samples(size: int, dots: int) -> np.ndarray:
    """The dot that each of `size` pixels lies in."""
    return (np.arange(size) * dots) // size
