"""Fast matmul algorithms on blocks, with fewer products than pairs of blocks.

The first is Strassen's (Gaussian Elimination is not Optimal, 1969). Each product multiplies a sum
of blocks of the left factor by a sum of blocks of the right factor, and each block of the result is
a sum of products.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

_COEFFICIENTS = {"+": 1, "-": -1, "0": 0}


@dataclass(frozen=True)
class BilinearAlgorithm:
    """A matmul of ``[rows, k] x [k, columns]`` blocks.

    There is one string per block, row by row; it holds the block's coefficient in each product.
    """

    rows: int
    k: int
    columns: int
    left_blocks: tuple[str, ...]
    right_blocks: tuple[str, ...]
    result_blocks: tuple[str, ...]

    @property
    def products(self) -> int:
        return len(self.left_blocks[0])

    @property
    def share(self) -> float:
        """The number of products relative to the ordinary algorithm, one for each pair of
        blocks."""
        return self.products / (self.rows * self.k * self.columns)

    @cached_property
    def sums(self) -> int:
        """The products that multiply by a sum of several blocks of the right factor; those after
        them multiply by one block, as it is."""
        return int((np.abs(self.right).sum(1) > 1).sum())

    @cached_property
    def slots(self) -> tuple[int, ...]:
        """The places of the right factors of products among the sums and, after these, all blocks
        of the right factor, block column by block column; the last is the end of all places."""
        blocks = (divmod(int(row.argmax()), self.columns) for row in self.right[self.sums :])
        single = [self.sums + column * self.k + k for k, column in blocks]
        return (*range(self.sums), *single, self.sums + self.k * self.columns)

    @cached_property
    def left(self) -> np.ndarray:
        """[products, rows * k]: the sums that are multiplied from the left."""
        return _matrix(self.left_blocks).T

    @cached_property
    def right(self) -> np.ndarray:
        """[products, k * columns]: the sums that are multiplied from the right."""
        return _matrix(self.right_blocks).T

    @cached_property
    def result(self) -> np.ndarray:
        """[rows * columns, products]: the sums of products."""
        return _matrix(self.result_blocks)


def _matrix(blocks: tuple[str, ...]) -> np.ndarray:
    return np.array([[_COEFFICIENTS[sign] for sign in block] for block in blocks])


ALGORITHMS = {
    "2x2x2": BilinearAlgorithm(
        2, 2, 2,
        ("++0-00+", "0000+0+", "000+0+0", "+0+0-+0"),
        ("+0-+0+0", "0+0+000", "00+0+00", "+-00+0+"),
        ("+0+0+0-", "0+0000+", "00+00+0", "++0+0-0"),
    ),
    "2x3x3": BilinearAlgorithm(
        2, 3, 3,
        ("0+000-0000-+0+0", "00++00+0+00++00", "0000++0000+0--0",
         "+-0+0+000++0000", "000000-0-+00-0+", "0000000++0-0+0-"),
        ("++0000000000000", "0---0000000+000", "+000+-0000000+0",
         "-00+00+00+00000", "00+000-00000000", "00+0000++00000+",
         "0+000+0+00+0000", "0000+0-0-000+00", "0000+00+0000000"),
        ("++0+0+00000+0-0", "00+00000-00+-0-", "0000+000+000+++",
         "+0000+000+-00-0", "00+-00+0-+0000-", "00000-0+00+00++"),
    ),
}  # fmt: skip
"""The algorithms by their blocks: seven products for eight (Strassen, 1969), and fifteen for
eighteen (Hopcroft
and Kerr: On Minimizing the Number of Multiplications Necessary for Matrix Multiplication, 1971; in
the form of Benson and Ballard: A Framework for Practical Parallel Fast Matrix Multiplication, 2015;
https://github.com/arbenson/fast-matmul). Products that multiply by one block of the right factor
come last, block column by block column."""
