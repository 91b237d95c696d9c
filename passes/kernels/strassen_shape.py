"""The sizes of a Strassen-like matmul, and how it is cut into workgroups."""

from dataclasses import dataclass

from ...cpu_model import CpuModel
from ...dialects.graph.bilinear import ALGORITHMS, BilinearAlgorithm
from ...dialects.graph.strassen import terms_size
from ...dialects.symbolic import Dim, ceildiv, minimum
from ...mlir import arith, ir
from .sizes import Index, ceil_quotient, index, larger, product, quotient, smaller

SCRATCH_SHARE = 7 / 16
"""Share of the L2 for the products of a block of rows by a panel."""
WEIGHTS_SHARE = 1 / 16
"""Share of the L2 for the part of a panel that is read repeatedly, its K block."""
FEW_ROWS = 32
"""Rows that a workgroup should have: with fewer, weights are read too often."""


class RowBlocks:
    """`rows` cut into blocks by the algorithm named `blocks`."""

    rows: int | None
    """None if dynamic."""
    blocks: str

    @property
    def algorithm(self) -> BilinearAlgorithm:
        return ALGORITHMS[self.blocks]

    @property
    def height(self) -> int:
        """Rows of a block."""
        assert self.rows is not None
        return -(-self.rows // self.algorithm.rows)

    def count_height(self, rows: Index) -> Index:
        """Rows of a block of `rows` rows, at least one."""
        return larger(ceil_quotient(rows, self.algorithm.rows), 1)


@dataclass(frozen=True)
class Sharing:
    """How rows and panels are shared among workgroups."""

    rows: Index
    height: Index
    """Rows of a block."""
    mc: Index
    """Rows in a workgroup; the last one may have fewer, if rows are dynamic."""
    nc_panels: Index
    """Panels in a workgroup; likewise."""
    n_blocks: Index
    """Groups of panels."""
    m_blocks: Index
    """Groups of rows."""
    terms: Index
    """Stride from the sums of rows of one product to those of the next, in elements."""
    replicas: Index
    """Copies of the sums of rows; each share of the workgroups reads its own."""

    @property
    def workgroups(self) -> Index:
        return product(self.m_blocks, self.n_blocks)


@dataclass(frozen=True)
class StrassenShape(RowBlocks):
    """``[rows, k] x [k, columns]``, where `k` is the K of a block."""

    rows: int | None
    k: int
    columns: int
    blocks: str
    nr: int
    lanes: int
    mr: int
    """Maximum rows of a register tile (MR)."""
    wanted: int
    """Workgroups wanted, for threads to share."""
    cpu: CpuModel
    replicas: int = 1
    """Copies of the sums of rows, at most (`count_replicas`)."""

    @property
    def breadth(self) -> int:
        """Columns of a block of the result."""
        return -(-self.columns // self.algorithm.columns)

    @property
    def panels(self) -> int:
        return -(-self.breadth // self.nr)

    @property
    def slots(self) -> tuple[int, ...]:
        """The place of the weights of each product in a group of panels, and the end of all."""
        return tuple(range(self.algorithm.products + 1))

    @property
    def flops(self) -> int | None:
        """FLOPs of the products, without the sums."""
        if self.rows is None:
            return None
        return 2 * self.algorithm.products * self.height * self.k * self.breadth

    @property
    def terms(self) -> int:
        """See `Sharing`."""
        return terms_size(self.height, self.k)

    @property
    def most_rows(self) -> int:
        """Rows of a block whose products fit in their share of the L2."""
        held = int(self.cpu.l2_bytes * SCRATCH_SHARE)
        return max(1, held // (self.algorithm.products * self.nr * 4))

    @property
    def mc(self) -> int:
        """Rows in a workgroup: a divisor of the rows of a block that gives enough workgroups; if
        they are dynamic, at most so many, in whole register tiles."""
        most = self.most_rows
        if self.rows is None:
            return max(1, most // self.mr) * self.mr
        divisors = [n for n in range(min(most, self.height), 0, -1) if self.height % n == 0]
        many = [n for n in divisors if self.height // n * self.panels >= self.wanted]
        return next((n for n in many if n >= FEW_ROWS), divisors[0])

    @property
    def m_blocks(self) -> int:
        """Row blocks over which the workgroups are split."""
        return self.height // self.mc

    @property
    def nc_panels(self) -> int:
        """Panels in a workgroup: a divisor of all panels."""
        wanted = max(1, self.m_blocks * self.panels // self.wanted)
        return next(n for n in range(wanted, 0, -1) if self.panels % n == 0)

    @property
    def n_blocks(self) -> int:
        return self.panels // self.nc_panels

    @property
    def workgroups(self) -> int:
        return self.m_blocks * self.n_blocks

    def sharing(self, rows: ir.Value | None = None) -> Sharing:
        """How `rows` dynamic rows, or those that are known, are shared."""
        if rows is not None:
            return self._dynamic_sharing(rows)
        assert self.rows is not None
        return Sharing(
            self.rows, self.height, self.mc, self.nc_panels, self.n_blocks, self.m_blocks,
            self.terms, self.replicas,
        )  # fmt: skip

    def _dynamic_sharing(self, rows: ir.Value) -> Sharing:
        """Enough groups of rows that their products fit in the L2, and that there are workgroups
        for all threads if the groups are not too small for that; groups of panels likewise, of
        sizes that are alike."""
        height = self.count_height(rows)
        spread = smaller(-(-self.wanted // self.panels), quotient(height, FEW_ROWS))
        groups = larger(ceil_quotient(height, self.mc), spread)
        tiles = ceil_quotient(ceil_quotient(height, groups), self.mr)
        mc = product(tiles, self.mr)
        m_blocks = ceil_quotient(height, mc)
        most = larger(quotient(product(m_blocks, self.panels), self.wanted), 1)
        n_blocks = self._shared(m_blocks, ceil_quotient(self.panels, smaller(most, self.panels)))
        panels = ceil_quotient(self.panels, n_blocks)
        return Sharing(
            rows, height, mc, panels, ceil_quotient(self.panels, panels), m_blocks,
            index(arith.addi(index(product(height, self.k)), index(terms_size(0, self.k)))),
            count_replicas(index(height), self.replicas, self.mc),
        )  # fmt: skip

    def _shared(self, m_blocks: Index, least: Index) -> Index:
        """At least `least` groups of panels, for `m_blocks` groups of rows: so many that all
        threads get the same number of workgroups, if there are few."""
        few = arith.cmpi(arith.CmpIPredicate.ult, index(m_blocks), index(self._few_groups))
        rest = arith.remui(index(m_blocks), index(self._threads))
        is_uneven = arith.cmpi(arith.CmpIPredicate.ne, rest, index(0))
        step = arith.select(arith.andi(few, is_uneven), index(self._threads), index(1))
        return smaller(arith.muli(arith.ceildivui(index(least), step), step), self.panels)

    @property
    def _threads(self) -> int:
        """Threads that share the workgroups, of which each is to get two."""
        return max(1, self.wanted // 2)

    @property
    def _few_groups(self) -> int:
        """Groups of rows from which it matters little if a thread gets one more than others."""
        return 4 * self.wanted

    def count_workgroups(self, rows: ir.Value) -> ir.Value:
        """The number of workgroups for `rows` dynamic rows."""
        return index(self.sharing(rows).workgroups)

    def most_workgroups(self, rows: int | Dim) -> int | Dim:
        """The number of workgroups for `rows` rows, at most: as many groups of rows as fit in the
        L2 or give enough workgroups; while groups of panels are smaller than all panels, less
        than two for each of those wanted; and for few groups of rows, one group of panels less
        than there are threads, so that all get the same number."""
        spread = -(-self.wanted // self.panels)
        groups = ceildiv(rows, self.algorithm.rows * self.mc) + spread
        more = minimum(groups, self._few_groups) * (self._threads - 1)
        return groups + 2 * self.wanted + more

    @property
    def k_blocks(self) -> int:
        """K blocks, all of equal size."""
        most = max(1, int(self.cpu.l2_bytes * WEIGHTS_SHARE) // (self.nr * 4))
        wanted = -(-self.k // most)
        return next(n for n in range(wanted, self.k + 1) if self.k % n == 0)

    @property
    def kc(self) -> int:
        """Lines in a K block (KC)."""
        return self.k // self.k_blocks

    @property
    def product(self) -> int:
        """Elements of one product, padded by a vector: buffers a power of two apart would compete
        for too few cache sets."""
        return self.mc * self.nr + self.lanes

    @property
    def scratch(self) -> int:
        """Scratch elements of a workgroup."""
        return self.algorithm.products * self.product


def count_replicas(height: ir.Value, most: int, shared: int) -> Index:
    """The copies of sums of `height` rows, at most `most`, of which there are several if all
    threads read the same rows, at most `shared`."""
    if most == 1:
        return 1
    few = arith.cmpi(arith.CmpIPredicate.ule, height, index(shared))
    return arith.select(few, index(most), index(1))
