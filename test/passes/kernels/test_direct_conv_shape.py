"""The tiles that rows of a length known only at run time are cut into."""

import pytest

from graphc.passes.kernels.direct_conv_shape import DirectConvShape

IMAGE = RESULT = (1, 1, None, 48)


def shape(tile_w):
    return DirectConvShape(
        IMAGE, RESULT, (1, 3), (1, 1), (1, 1), (0, 0), nr=48, groups=1, tile_w=tile_w, lanes=16
    )


def cheapest(tile_w, pixels):
    given = shape(tile_w)
    return min(given.widths, key=lambda width: -(-pixels // width) * given.tile_cost(width))


@pytest.mark.parametrize(
    ("tile_w", "widths"),
    [(1, (1,)), (3, (3, 2, 1)), (6, (6, 5, 4)), (9, (9, 8, 7, 4)), (14, (14, 11, 7, 4))],
)
def test_widths(tile_w, widths):
    assert shape(tile_w).widths == widths


@pytest.mark.parametrize(
    ("pixels", "width"), [(4, 4), (7, 7), (8, 8), (9, 9), (16, 8), (28, 7), (32, 8), (197, 9)]
)
def test_cheapest_of_nine(pixels, width):
    """Rows have the lengths of networks, which their tiles fit."""
    assert cheapest(9, pixels) == width


def test_narrow_tiles_cost_more():
    """Three tiles of 3 pixels are not as cheap as one of 9."""
    given = shape(9)
    assert 3 * given.tile_cost(3) > given.tile_cost(9)
