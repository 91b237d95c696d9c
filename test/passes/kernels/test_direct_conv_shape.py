"""The tiles that rows of a length known only at run time are cut into."""

from dataclasses import replace

import pytest

from graphc.cpu_model import CpuModel
from graphc.passes.kernels.direct_conv_shape import DirectConvShape, in_segments


def shape(tile_w, kernel=3, pixels=None):
    image = (1, 1, pixels, 48)
    return DirectConvShape(
        image, image, (1, kernel), (1, 1), (1, 1), (0, 0), nr=48, groups=1, tile_w=tile_w, lanes=16
    )


@pytest.mark.parametrize(
    ("tile_w", "kernel", "low", "pixels"),
    [(8, 3, 1, 2), (8, 5, 2, 4), (8, 5, 0, 4), (1, 3, 1, 1), (3, 9, 4, 3), (8, 1, 0, 1)],
)
def test_border_tiles_are_narrow(tile_w, kernel, low, pixels):
    """They hold the pixels at both ends of which taps fall outside, if these are few."""
    assert replace(shape(tile_w, kernel), low=(0, low)).border_w == pixels


@pytest.mark.parametrize(("pixels", "border"), [(None, 4), (5, 5), (7, 4), (13, 5), (600, 6)])
def test_border_tiles_of_long_filters(pixels, border):
    """They are not narrow, and equal in a row of known length."""
    assert shape(6, 31, pixels).border_w == border


@pytest.mark.parametrize(
    ("channels", "features", "images", "pixels", "segment"),
    [
        (512, 512, 1, 3199, 132),  # 256 KiB of the image, which 32 panels read
        (512, 512, 1, None, 132),
        (512, 16, 16, 3199, None),  # one panel reads the image once
        (32, 16, 1, 48000, 678),  # 1.3 M of FLOPs: threads share segments
        (32, 512, 1, 500, None),  # all of it is in the L2
        (512, 512, 1, 60, None),
    ],
)
def test_segments(channels, features, images, pixels, segment):
    image, result = (images, 1, pixels, channels), (images, 1, pixels, features)
    whole = DirectConvShape(
        image, result, (1, 3), (1, 1), (1, 1), (0, 1), nr=16, groups=1, tile_w=6, lanes=8
    )
    cpu = CpuModel(256, l2_bytes=512 << 10)
    assert in_segments(whole, cpu, 4 * channels).segment == segment


def test_images_have_no_segments():
    """Rows of them are shared, and few."""
    image = (1, 20, 4000, 64)
    whole = DirectConvShape(
        image, image, (1, 3), (1, 1), (1, 1), (0, 1), nr=16, groups=1, tile_w=6, lanes=8
    )
    assert in_segments(whole, CpuModel(256), 256) is whole
