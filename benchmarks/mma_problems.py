"""Matmuls and convolutions for the kernels for tensor cores, and tiles that compute them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..passes.kernels.mma_matmul import MmaShape, MmaTile
from ..passes.kernels.mma_operands import VECTOR, ImageWindows
from ..passes.kernels.mma_tiles import COSTS, WGMMA_COSTS, cost_of

F16 = np.dtype(np.float16)
_ANY_TILE = next(iter(COSTS))

_SQUARES = ((4096, 4096, 4096), (8192, 8192, 8192), (2048, 4096, 4096), (1000, 520, 328))
_BERT = ((768, 768), (2304, 768), (3072, 768), (768, 3072))
_TOKENS = (128, 1024)
_POINTWISE = (
    *((56, 64, 64), (56, 64, 256), (56, 256, 64), (28, 128, 512), (28, 512, 128)),
    *((14, 256, 1024), (14, 1024, 256), (7, 512, 2048), (7, 2048, 512)),
)
"""Sizes of the image, channels and filters of ResNet-50's pointwise convolutions."""
_WINDOWS = (
    *((56, 64, 64, 1), (56, 128, 128, 2), (28, 128, 128, 1), (28, 256, 256, 2)),
    *((14, 256, 256, 1), (14, 512, 512, 2), (7, 512, 512, 1)),
)
"""As `_POINTWISE`, with the stride, for those of 3x3."""
_BATCHES = (1, 8, 32)


@dataclass(frozen=True)
class MmaProblem:
    """A matmul, in any tile; its right operand has K innermost."""

    name: str
    shape: MmaShape

    def kernels(self, most: int) -> list[MmaShape]:
        """The `most` kernels that the model of their cost finds the fastest, at least one of each
        kind of tile; a tile once, in the parts of K that are the fastest."""
        best = sorted(
            (min(self._in_parts(tile), key=cost_of) for tile in (*COSTS, *WGMMA_COSTS)),
            key=cost_of,
        )
        fits = [each for each in best if _can_copy(each)]
        firsts = {kind_of(each): each for each in reversed(fits)}
        chosen = [*firsts.values(), *(each for each in fits if each not in firsts.values())]
        return sorted(chosen[:most], key=cost_of)

    def _in_parts(self, tile: MmaTile) -> Iterator[MmaShape]:
        steps, rest = divmod(self.shape.k, tile.k)
        for parts in (1, 2, 4, 8):
            if parts == 1 or (not rest and steps % parts == 0 and steps >= 2 * parts):
                yield replace(self.shape, tile=tile, parts=parts)


def kind_of(shape: MmaShape) -> str:
    """The instruction and, for warpgroups, the operands that the copy engine brings."""
    bulk = getattr(shape.tile, "bulk", None)
    return "mma" if bulk is None else {0: "wgmma", 1: "wgmma-b", 2: "wgmma-ab"}[sum(bulk)]


def _can_copy(shape: MmaShape) -> bool:
    """Return whether the copy engine can bring the operands that the tile says."""
    left, right = getattr(shape.tile, "bulk", (False, False))
    return not (left and shape.windows) and (shape.k % VECTOR == 0 or not right)


def problems() -> list[MmaProblem]:
    """The matmuls: squares and a border, those of BERT, and those of ResNet-50."""
    matmuls = [*_SQUARES, *((tokens, *size) for size in _BERT for tokens in _TOKENS)]
    found = [_matmul("x".join(map(str, each)), *each) for each in matmuls]
    for batch in _BATCHES:
        for size, channels, filters in _POINTWISE:
            name = f"b{batch}-{size}-{channels}-{filters}"
            found.append(_matmul(name, batch * size * size, filters, channels))
        for size, channels, filters, stride in _WINDOWS:
            name = f"b{batch}-{size}-{channels}-{filters}-3x3" + ("s2" if stride == 2 else "")
            found.append(_convolution(name, (batch, size, size, channels), filters, stride))
    return found


def _matmul(name: str, m: int, n: int, k: int) -> MmaProblem:
    return MmaProblem(name, MmaShape(m, n, k, F16, _ANY_TILE))


def _convolution(
    name: str, image: tuple[int, int, int, int], filters: int, stride: int
) -> MmaProblem:
    positions = tuple(-(-size // stride) for size in image[1:3])
    windows = ImageWindows(image, (3, 3), positions, (stride, stride), (1, 1), (1, 1))
    sizes = windows.rows, filters, windows.columns
    return MmaProblem(name, MmaShape(*sizes, F16, _ANY_TILE, windows=windows))
