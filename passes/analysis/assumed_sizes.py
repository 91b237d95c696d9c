"""Sizes that cost models assume for images whose sizes are known only at run time.

Networks for images halve the rows and pixels where they double the channels: ResNets (He et al.,
2016) have 56x56 with 64 channels, and 7x7 with 512, for images of 224x224. Detectors and text
recognition work on images up to three times as large.
"""

from ...dialects.symbolic import Dim

CHANNELS_TIMES_EXTENT = 7 * 512
"""Channels times rows of the images in a ResNet."""
FACTORS = (1, 2, 3)
"""Factors of these rows and pixels that are assumed to be equally frequent."""
BATCHES = (1, 2, 4, 8)
"""Numbers of images that are assumed to be equally frequent."""


def assumed_sizes(shape: tuple[int | Dim, ...], channels: int) -> list[tuple[int, ...]]:
    """The sizes ``[N, spatial...]`` to assume for `shape`, of an image of so many `channels`:
    several for an unknown number of images, and for unknown rows and pixels."""
    batch, *extents = shape
    batches = BATCHES if isinstance(batch, Dim) else (batch,)
    least = max(1, CHANNELS_TIMES_EXTENT // channels)
    assumed = [
        (images, *(least * factor if isinstance(size, Dim) else size for size in extents))
        for images in batches
        for factor in FACTORS
    ]
    return list(dict.fromkeys(assumed))
