"""Workarounds for faults of IREE 3.13: the passes of this folder, and a list of all others.

Each has a program in ``test/passes/linalg/workarounds/Inputs/``, which shows the fault without the
workaround. Its head says what is wrong, where in IREE's sources, and what the workaround is. When
IREE mends the fault, the test of the program (``test_faults.py`` beside that folder) fails; remove
the workaround and the program then.

These are not passes but a form that a lowering chooses, or a flag. No pass of this folder can bring
them about, as what they avoid is lost after the lowering, or arises in it.

- ``dialects/graph/elements.py``: ``bf16_blob``, ``boolean_blob``
- ``dialects/iree/stream.py``: ``binding_offset``
- ``passes/graph_to_linalg/aliasing.py``: ``updated_argument``, ``updated_before_read``
- ``passes/graph_to_linalg/bfloat16.py``: ``unrounded_bf16``
- ``passes/graph_to_linalg/branches.py``: ``equal_starts``
- ``passes/graph_to_linalg/detection.py``: ``unit_axes_in_loops``
- ``passes/graph_to_linalg/dispatch.py``: ``cloned_operands``, ``copy_dispatch``,
  ``sliced_destination``, ``widened_operand``
- ``passes/graph_to_linalg/indexing.py``: ``gathered_elements``, ``scattered_into_itself``
- ``passes/graph_to_linalg/movement.py``: ``transposed_result``, ``transposed_rows``
- ``passes/graph_to_linalg/normalization.py``: ``computed_rows``, ``elements_and_sum``
- ``passes/graph_to_linalg/operands.py``, ``packed_matmul.py``: ``one_window``
- ``passes/graph_to_linalg/padding.py``: ``fused_padding``
- ``passes/graph_to_linalg/pooling.py``: ``accumulated_pools``, ``blocked_sizes``, ``untiled_loops``
- ``passes/graph_to_linalg/positions.py``: ``copied_positions``
- ``passes/graph_to_linalg/reduction.py``: ``unfinished_reduction``
- ``passes/graph_to_linalg/shapes.py``: ``scalars_as_rows``, ``size_as_data``
- ``passes/graph_to_linalg/sorting.py``: ``copy_dispatch``, ``unit_axes_in_loops``
- ``passes/graph_to_linalg/unit_axes.py``: ``unit_axes``
- ``runtime/targets/base.py``: ``bf16_matmul``, ``blocked_sizes``, ``fused_reductions``,
  ``scaled_rows``
- ``runtime/targets/cpu.py``: ``large_vectors``, ``reduction_of_several_uses``
- ``runtime/targets/vulkan.py``: ``recorded_copies``
"""
