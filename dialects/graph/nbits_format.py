"""Layout of weights of few bits in panels of words, with scales for blocks of K among them."""

from dataclasses import dataclass

import numpy as np

NBITS = (2, 4, 8)
"""Bits of a packed weight."""
WORD_BITS = 32
_SCALES = {"f16": np.dtype(np.float16), "f32": np.dtype(np.float32)}


@dataclass(frozen=True)
class NbitsFormat:
    """Weights ``(q + offset - zero) * scale``, with `q` an integer of `bits` bits with sign.

    The `block` consecutive weights of a column in one block have the scale in common, and the zero
    point if there are `zeros`; both are of the type `scales`, ``f16`` or ``f32``. A panel holds
    `nr` columns side by side.

    Each word of a block of a panel has consecutive integers of one column, the first four in the
    lowest bits of its bytes, the next four above them: four to be multiplied by one instruction for
    8 bits are a mask away. A line has a word of each column. Behind the lines are the scales of the
    columns, then their zero points: a kernel reads a panel from its start to its end.
    """

    bits: int
    block: int
    nr: int
    scales: str = "f32"
    zeros: bool = False
    offset: int = 0

    @property
    def is_valid(self) -> bool:
        """True if blocks are whole lines of words, and scales whole words."""
        known = self.bits in NBITS and self.scales in _SCALES
        whole = self.block > 0 and not self.block * self.bits % WORD_BITS
        return known and whole and self.nr > 0 and not self.nr % 2

    @property
    def per_word(self) -> int:
        """Integers of a word."""
        return WORD_BITS // self.bits

    def bit(self, number: int) -> int:
        """The lowest bit of integer `number` of a word."""
        return 8 * (number % 4) + self.bits * (number // 4)

    @property
    def lines(self) -> int:
        """Lines of a block."""
        return self.block // self.per_word

    @property
    def scale_words(self) -> int:
        """Words of the scales, or the zero points, of a block of a panel."""
        return self.nr * _SCALES[self.scales].itemsize * 8 // WORD_BITS

    @property
    def words(self) -> int:
        """Words of a block of a panel."""
        return self.lines * self.nr + (1 + self.zeros) * self.scale_words

    def pack(self, q: np.ndarray, scale: np.ndarray, zero: np.ndarray | None) -> np.ndarray:
        """Integers `q` [K, N], with `scale` and `zero` [K/block, N], as panels
        [ceil(N/nr), K/block, words]; the last one is padded with zeros."""
        padding = [(0, 0), (0, -q.shape[1] % self.nr)]
        blocks, panels = scale.shape[0], -(-q.shape[1] // self.nr)
        words = self._words(np.pad(q, padding)).reshape(blocks, self.lines, panels, self.nr)
        parts = [words.transpose(2, 0, 1, 3).reshape(panels, blocks, -1)]
        for values in (scale, zero) if self.zeros else (scale,):
            assert values is not None
            of_panels = np.pad(values, padding).reshape(blocks, panels, self.nr)
            stored = of_panels.transpose(1, 0, 2).astype(_SCALES[self.scales], order="C")
            parts.append(stored.view(np.uint32))
        return np.concatenate(parts, axis=2)

    def _words(self, q: np.ndarray) -> np.ndarray:
        """[K, N] as [K / per_word, N]."""
        fields = q.astype(np.uint8).reshape(-1, self.per_word, q.shape[1])
        mask = np.uint8((1 << self.bits) - 1)
        words = np.zeros((fields.shape[0], q.shape[1]), np.uint32)
        for number in range(self.per_word):  # one by one: weights may be large
            field = (fields[:, number] & mask).astype(np.uint32)
            words |= field << np.uint32(self.bit(number))
        return words

    def integers(self, panels: np.ndarray) -> np.ndarray:
        """The integers with sign in panels of words, [panels, K/block, block, nr]."""
        count, blocks, _ = panels.shape
        words = panels[:, :, : self.lines * self.nr].reshape(count, blocks, self.lines, 1, self.nr)
        above = [WORD_BITS - self.bits - self.bit(number) for number in range(self.per_word)]
        fields = words << np.array(above, np.uint32).reshape(-1, 1)
        q = fields.view(np.int32) >> (WORD_BITS - self.bits)
        return q.reshape(count, blocks, self.block, self.nr)

    def unpack(self, panels: np.ndarray) -> np.ndarray:
        """Panels of words as weights [K, N] of f32, padding included."""
        count, blocks, _ = panels.shape
        values = (self.integers(panels) + self.offset).astype(np.float32)
        zeros = self.zeros_of(panels)
        if zeros is not None:
            values -= zeros
        values *= self.scales_of(panels)
        return values.transpose(1, 2, 0, 3).reshape(blocks * self.block, count * self.nr)

    def scales_of(self, panels: np.ndarray) -> np.ndarray:
        """The scales in panels of words, [panels, K/block, 1, nr] of f32."""
        end = self.lines * self.nr
        return self._floats(panels[:, :, end : end + self.scale_words])

    def zeros_of(self, panels: np.ndarray) -> np.ndarray | None:
        """The zero points in panels of words, likewise; None if there are none."""
        end = self.lines * self.nr + self.scale_words
        return self._floats(panels[:, :, end:]) if self.zeros else None

    def _floats(self, words: np.ndarray) -> np.ndarray:
        values = np.ascontiguousarray(words).view(_SCALES[self.scales])
        return values.astype(np.float32)[:, :, np.newaxis, :]
