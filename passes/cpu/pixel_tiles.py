"""Choice of the register tiles of convolutions: pixels of a row by vectors of features."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...cpu_model import CpuModel

VECTORS = (4, 3, 2, 1)
"""Vectors of features in a panel."""
DEPTHWISE_VECTORS = (1, 2, 4)
"""Vectors of channels in a panel of a depthwise convolution."""


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
        """The cheapest tile for rows of `pixels` pixels that are sums of `k` products; of those
        that fill the registers, if the length of rows is not known. Its panels split the
        `features` of a group `evenly`, or the last one may begin in that before it."""
        tiles = list(self._tiles(self._panels(features)))
        if not evenly:
            full = {n: n * self.cpu.lanes for n in VECTORS if n * self.cpu.lanes <= features}
            tiles += self._tiles(full)

        def cost(tile: PixelTile, pixels: int) -> float:
            vectors = tile.vectors * -(-features // tile.features)
            return self._cost(tile, pixels, k) * vectors

        if pixels is None:
            full = [tile for tile in tiles if tile.pixels == self._most_pixels(tile.vectors)]
            return min(full, key=lambda tile: cost(tile, tile.pixels) / tile.pixels)
        fitting = [tile for tile in tiles if tile.pixels <= pixels]
        return min(fitting, key=lambda tile: cost(tile, pixels))

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
        most = self.cpu.registers // 2 // vectors
        wanted = most if pixels is None else min(most, pixels)
        return PixelTile(wanted, vectors, panels[vectors])

    def _panels(self, features: int) -> dict[int, int]:
        """The widest panel that splits `features` evenly, for each number of vectors that it may
        take."""
        widths = [n for n in range(1, features + 1) if features % n == 0]
        return {-(-width // self.cpu.lanes): width for width in widths}

    def _most_pixels(self, vectors: int) -> int:
        """The pixels of the widest tile of `vectors` that spills nothing."""
        return (self.cpu.registers - vectors - 1) // vectors

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
        streams = k * tile.vectors * self.cpu.lanes * 4 > self.cpu.l2_bytes
        counts = [tile.pixels] * full + [rest] * (rest > 0)
        return sum(self._tile_cost(n, tile.vectors, streams) for n in counts)

    def _tile_cost(self, pixels: int, vectors: int, streams: bool) -> float:
        cost = (pixels + 0.4 * max(0, 5 - pixels)) / {4: 1.0, 3: 1.0, 2: 0.87, 1: 0.55}[vectors]
        if pixels * vectors + vectors + 1 > self.cpu.registers:
            cost *= 1.4
        return max(cost, 4.6) + 1.5 if streams else cost
