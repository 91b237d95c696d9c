"""Models without the sequences that tensors can take the place of."""

import onnx

from .listed_sequences import without_listed
from .repeated_rows import without_repeats
from .stacked_sequences import without_stacked
from .unbinding import without_unbinding


def without_sequences(model: onnx.ModelProto, joins: bool = False) -> onnx.ModelProto:
    """`model`, or a copy with tensors in place of sequences.

    Loops come first: what they fill may begin with elements that are listed. With `joins`, nodes
    that join what they fill take a tensor: the importer alone knows these, and may refuse them.
    """
    return without_unbinding(without_listed(without_stacked(without_repeats(model), joins)))
