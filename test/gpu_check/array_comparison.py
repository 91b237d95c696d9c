"""Comparison of arrays as in ONNX's test suite, without ONNX."""

from collections.abc import Sequence

import numpy as np

BFLOAT16_RTOL = 2**-6
"""Two units in the last place."""


def assert_similar(
    expected: Sequence[np.ndarray], given: Sequence[np.ndarray], rtol: float, atol: float
) -> None:
    """Raise AssertionError if shapes or element types differ, or values by more than allowed."""
    assert len(given) == len(expected), f"{len(given)} outputs instead of {len(expected)}"
    for index, (wanted, output) in enumerate(zip(expected, given, strict=True)):
        where = f"output {index}"
        assert output.shape == wanted.shape, f"{where}: {output.shape} instead of {wanted.shape}"
        assert output.dtype == wanted.dtype, f"{where}: {output.dtype} instead of {wanted.dtype}"
        if wanted.dtype.name == "bfloat16":  # numpy does not promote it with numbers
            np.testing.assert_allclose(
                output.astype(np.float32),
                wanted.astype(np.float32),
                rtol=max(rtol, BFLOAT16_RTOL),
                atol=atol,
                err_msg=where,
            )
        else:
            np.testing.assert_allclose(output, wanted, rtol=rtol, atol=atol, err_msg=where)
