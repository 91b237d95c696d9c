"""Instructions of the bulk copy engine of Hopper GPUs (TMA; PTX for sm_90a): tensor maps that a
kernel writes itself, copies of boxes to shared memory, and the barriers that they complete on.
"""

from dataclasses import dataclass

from ...mlir import arith, ir, llvm, memref

MAP_BYTES = 128
"""Bytes of a tensor map, and their alignment."""
BARRIER_BYTES = 8

_ELEMENTS = {"f16": 6, "bf16": 10}
_SWIZZLE_128 = 3


def _run(text: str, operands: list[ir.Value], constraints: str) -> None:
    constraints = f"{constraints},~{{memory}}" if constraints else "~{memory}"
    llvm.inline_asm(None, operands, text, constraints, has_side_effects=True)


@dataclass(frozen=True)
class Boxes:
    """A matrix in memory, ``[rows, columns]``, that is copied in boxes of `box` rows and columns;
    what is outside is zero."""

    rows: int
    columns: int
    box: tuple[int, int]
    element: str

    @property
    def bytes(self) -> int:
        """Bytes of a box."""
        rows, columns = self.box
        return 2 * rows * columns


def write_map(boxes: Boxes, pointer: ir.Value, shared: ir.Value) -> None:
    """Write the tensor map of a matrix at `pointer` (i64) to zeros in shared memory (i32).

    Strides are in bytes, as PTX defines them. Assemblers up to that of CUDA 12.6 take sixteenths
    (Triton works around it): drivers must be newer.
    """
    bytes_ = boxes.columns * 2
    fields = ["global_address.shared::cta.b1024.b64 [$0], $1", "rank.shared::cta.b1024.b32 [$0], 1"]
    for axis, (size, box) in enumerate(
        zip((boxes.columns, boxes.rows), reversed(boxes.box), strict=True)
    ):
        fields.append(f"box_dim.shared::cta.b1024.b32 [$0], {axis}, {box}")
        fields.append(f"global_dim.shared::cta.b1024.b32 [$0], {axis}, {size}")
        fields.append(f"element_stride.shared::cta.b1024.b32 [$0], {axis}, 1")
    fields += [
        f"global_stride.shared::cta.b1024.b64 [$0], 0, {bytes_}",
        f"elemtype.shared::cta.b1024.b32 [$0], {_ELEMENTS[boxes.element]}",
        "interleave_layout.shared::cta.b1024.b32 [$0], 0",
        f"swizzle_mode.shared::cta.b1024.b32 [$0], {_SWIZZLE_128}",
        "fill_mode.shared::cta.b1024.b32 [$0], 0",
    ]
    text = "\n".join(f"tensormap.replace.tile.{field};" for field in fields)
    _run(text, [shared, pointer], "r,l")


def publish_map(pointer: ir.Value, shared: ir.Value) -> None:
    """Copy a tensor map to memory at `pointer`, by all threads of a warp, for `copy_box`."""
    text = (
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
        "[$0], [$1], 128;\nfence.proxy.tensormap::generic.acquire.gpu [$0], 128;"
    )
    _run(text, [pointer, shared], "l,r")


def sync_warp() -> None:
    """Wait for the other threads of the warp."""
    _run("bar.warp.sync 0xffffffff;", [], "")


def init_barrier(address: ir.Value, count: int) -> None:
    """Initialize a barrier in shared memory on which `count` threads arrive."""
    _run(f"mbarrier.init.shared::cta.b64 [$0], {count};", [address], "r")


def arrive(barrier: ir.Value) -> None:
    """Arrive on a barrier."""
    _run("mbarrier.arrive.shared::cta.b64 _, [$0];", [barrier], "r")


def fence_barriers() -> None:
    """Let the copy engine see the barriers that this thread initialized."""
    _run("fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;", [], "")


def expect_bytes(barrier: ir.Value, count: int) -> None:
    """Arrive on a barrier, which completes once `count` bytes are copied, too."""
    _run(f"mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], {count};", [barrier], "r")


def copy_box(
    target: ir.Value, pointer: ir.Value, column: ir.Value, row: ir.Value, barrier: ir.Value
) -> None:
    """Start to copy the box at `row` and `column` of the tensor map at `pointer`."""
    text = (
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[$0], [$1, {$2, $3}], [$4];"
    )
    _run(text, [target, pointer, column, row, barrier], "r,l,r,r,r")


def wait_for_barrier(barrier: ir.Value, parity: ir.Value) -> None:
    """Wait until the phase of a barrier with the given parity is complete."""
    text = (
        "{\n.reg .pred p;\nWAIT:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1;\n"
        "@p bra DONE;\nbra WAIT;\nDONE:\n}"
    )
    _run(text, [barrier, parity], "r,r")


def address_of(buffer: ir.Value) -> ir.Value:
    """The address of a buffer in memory, as an i64."""
    i64 = ir.IntegerType.get_signless(64)
    return arith.index_castui(i64, memref.extract_aligned_pointer_as_index(buffer))
