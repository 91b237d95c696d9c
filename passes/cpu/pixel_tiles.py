"""Choice of the register tiles of convolutions: pixels of a row by vectors of features."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...cpu_model import CpuModel

VECTORS = (4, 3, 2, 1)
"""Vectors of features in a panel."""
DEPTHWISE_VECTORS = (1, 2, 4)
"""Vectors of channels in a panel of a depthwise convolution."""
LENGTHS = range(14, 113)
"""Lengths of rows that are equally likely, where they depend on the run."""
ACCUMULATORS = 8
"""Accumulators that hide the latency of two FMAs a cycle, of four cycles each."""


@dataclass(frozen=True)
class PixelTile:
    """A register tile: `pixels` pixels of a row by the `features` features of a panel, which are in
    `vectors` vectors, the last of which may be partial."""

    pixels: int
    vectors: int
    features: int


@dataclass(frozen=True)
class PixelTiles:
    """The register tiles of convolutions on the vectors of `cpu`."""

    cpu: CpuModel

    def dense(self, pixels: int | None, k: int, features: int, evenly: bool = True) -> PixelTile:
        """The cheapest tile for rows of `pixels` pixels that are sums of `k` products, or for those
        of any length. Its panels split the `features` of a group `evenly`, or the last one may
        begin in that before it."""
        tiles = list(self._tiles(self._panels(features)))
        if not evenly:
            full = {n: n * self.cpu.lanes for n in VECTORS if n * self.cpu.lanes <= features}
            tiles += self._tiles(full)

        def cost(tile: PixelTile) -> float:
            vectors = tile.vectors * -(-features // tile.features)
            row = self._mean_cost(tile, k) if pixels is None else self._cost(tile, pixels, k)
            return row * vectors

        if pixels is None:
            fitting = [tile for tile in tiles if tile.pixels * tile.vectors >= ACCUMULATORS]
        else:
            fitting = [tile for tile in tiles if tile.pixels <= pixels]
        return min(fitting, key=cost)

    def depthwise(
        self, pixels: int | None, channels: int, widest: int = max(DEPTHWISE_VECTORS)
    ) -> PixelTile:
        """The tile of channels that wastes the least of its vectors, and the widest of such, of
        `widest` vectors at most, with accumulators in half of the registers."""
        panels = self._panels(channels)
        vectors = max(
            (n for n in panels if n in DEPTHWISE_VECTORS and n <= widest),
            key=lambda n: (panels[n] / n, n),
        )
        wanted = accumulated_pixels(self.cpu, vectors, pixels)
        return PixelTile(wanted, vectors, panels[vectors])

    def _panels(self, features: int) -> dict[int, int]:
        """The widest panel that splits `features` evenly, for each number of vectors that it may
        take."""
        widths = [n for n in range(1, features + 1) if features % n == 0]
        return {-(-width // self.cpu.lanes): width for width in widths}

    def _tiles(self, panels: Mapping[int, int]) -> Iterator[PixelTile]:
        """The candidate tiles, for `panels` by their vectors; some spill a few registers."""
        for vectors in VECTORS:
            if vectors in panels:
                for pixels in range(1, self.cpu.registers // vectors):
                    yield PixelTile(pixels, vectors, panels[vectors])

    def _cost(self, tile: PixelTile, pixels: int, k: int) -> float:
        """Cost of a row of `pixels` pixels per vector of features; a pixel of a full tile costs 1.

        Measured with AVX-512: the efficiency of a tile by its width, the minimum time of a tile,
        the cost of spills, and the stalls on panels of weights that exceed the L2.
        """
        full, rest = divmod(pixels, tile.pixels)
        counts = [tile.pixels] * full + [rest] * (rest > 0)
        return sum(self._tile_cost(n, tile.vectors, self._streams(tile, k)) for n in counts)

    def _mean_cost(self, tile: PixelTile, k: int) -> float:
        """Cost of a pixel in rows of any length, of which the last tile has all pixels, or half."""
        half, streams = max(1, tile.pixels // 2), self._streams(tile, k)
        whole, less = (self._tile_cost(n, tile.vectors, streams) for n in (tile.pixels, half))

        def cost(pixels: int) -> float:
            full, rest = divmod(pixels, tile.pixels)
            last = 0 if not rest else less if rest <= half else whole
            return (full * whole + last) / pixels

        return sum(map(cost, LENGTHS)) / len(LENGTHS)

    def _streams(self, tile: PixelTile, k: int) -> bool:
        """Return whether a panel of weights exceeds the L2."""
        return k * tile.vectors * self.cpu.lanes * 4 > self.cpu.l2_bytes

    def _tile_cost(self, pixels: int, vectors: int, streams: bool) -> float:
        cost = (pixels + 0.4 * max(0, 5 - pixels)) / {4: 1.0, 3: 1.0, 2: 0.87, 1: 0.55}[vectors]
        if pixels * vectors + vectors + 1 > self.cpu.registers:
            cost *= 1.4
        return max(cost, 4.6) + 1.5 if streams else cost


def accumulated_pixels(cpu: CpuModel, vectors: int, pixels: int | None) -> int:
    """Pixels of a depthwise tile of `vectors` in rows of `pixels`, None if these depend on the run:
    their accumulators are in half of the registers."""
    most = cpu.registers // 2 // vectors
    return most if pixels is None else min(most, pixels)
