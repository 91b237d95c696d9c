"""The `graph` dialect: tensor programs as ONNX means them, each op in one normalised spelling.

Ops live in one file per family; `base` says how an op is declared.
"""

# pyright: reportUnusedImport=false
# The names are for those who import this package.

from typing import Any

from ... import aliases
from .attention import *
from .base import (
    MAX_BYTES,
    MAX_RANK,
    Graph,
    GraphOp,
    TensorValue,
    TypeRuleError,
    build,
    builder,
    create,
    evaluate_op,
    graph_op,
    is_several,
    map_group,
    op_classes_of,
    tuple_builder,
)
from .cache import *
from .cached_attention import *
from .casts import *
from .col2im import *
from .collectives import *
from .contraction import *
from .control_flow import *
from .convolution import *
from .decomposed_attention import decomposed_attention
from .decomposed_mixture import applied_experts, decomposed_mixture, weighted_uses
from .detection import *
from .direct_convolution import *
from .donation import DONATED, is_donated
from .elements import is_splat, sharing_blobs
from .elements import write as write_elements
from .elementwise import *
from .expert_matmul import *
from .f24_matmul import *
from .fused_attention import *
from .fused_depthwise import *
from .fusion import *
from .indexing import *
from .int8_direct_conv import *
from .int8_matmul import *
from .int8_nbits_matmul import *
from .linear_attention import *
from .lookup import *
from .loop_history import LoopHistory
from .mixture import *
from .movement import *
from .multiply_add import *
from .nbits_format import *
from .nbits_gather import *
from .nbits_matmul import *
from .normalization import *
from .packed_matmul import *
from .pooling import *
from .quantization import *
from .quantize_blocks import *
from .quickscorer import *
from .random import *
from .reassociation import reassociation
from .recurrence_weights import group_recurrence, pack_recurrence, unpacked_recurrence
from .recurrent import *
from .reduction import *
from .region_draft import RankError
from .regions import UNLIMITED, AnyRank, Iteration, if_, loop
from .resampling import *
from .rois import *
from .shape_constraints import AtMost, Equal, NotNegative, ShapeConstraint, collect_constraints
from .shapes import *
from .signal import *
from .size_names import binds_used_names, names_in, names_of
from .sorting import *
from .strassen import *
from .symbolic_values import known_elements, known_sizes, symbolic_value
from .traits import *
from .trees import *
from .types import (
    HALVES,
    Shape,
    StaticShape,
    TensorType,
    bit_width,
    dtype_name,
    element_dtype_of,
    element_type,
    from_mlir,
    is_bit_pattern,
    is_float,
    is_integer,
    is_minifloat,
    is_sub_byte_integer,
    is_unsigned,
    known_bytes,
    static_size,
    to_mlir,
    type_of,
)
from .views import View, is_movement, matching_axes
from .window_sums import channel_sums, times_filters, window_sums
from .winograd import *


def __getattr__(name: str) -> Any:
    return aliases.attribute(__name__, name)
