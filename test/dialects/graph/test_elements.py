"""Constants in and out of MLIR, whatever their memory looks like."""

import io

import ml_dtypes
import numpy as np
import pytest

from graphc.dialects import graph
from graphc.mlir import ir


@pytest.fixture(autouse=True)
def context():
    with ir.Context(), ir.Location.unknown():
        graph.Graph.load()
        yield


def same_after_writing(array: np.ndarray) -> bool:
    back = graph.attributes.ELEMENTS.read(graph.write_elements(array))
    return back.dtype == array.dtype and np.array_equal(back, array)


ARRAYS = {
    "scalar": np.array(2.5, np.float32),
    "empty": np.zeros((0, 3), np.float32),
    "small": np.arange(6, dtype=np.int64).reshape(2, 3),
    "large": np.arange(6000, dtype=np.float32).reshape(60, 100),
    "bool": np.array([True, False, True]),
    "large bool": np.arange(6000) % 3 == 0,
    "bfloat16": np.array([1, -2.5, 3], ml_dtypes.bfloat16),
    "many bfloat16": np.arange(-60, 60).astype(ml_dtypes.bfloat16).reshape(8, 15),
    "large float16": np.arange(2000, dtype=np.float16),
    "unsigned": np.array([255, 0], np.uint8),
}


@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS)
def test_values_survive(array):
    assert same_after_writing(array)


@pytest.mark.parametrize("shape", [(4,), (2, 3, 4), (60, 100)])
@pytest.mark.parametrize("dtype", [np.float32, np.bool_, ml_dtypes.bfloat16])
def test_views_are_written_as_they_read(shape, dtype):
    array = (np.arange(np.prod(shape)) % 7).reshape(shape).astype(dtype)
    assert same_after_writing(array.T)
    assert same_after_writing(array[::-1])
    assert same_after_writing(np.broadcast_to(array[:1], shape))
    assert same_after_writing(np.broadcast_to(array.ravel()[3], shape))
    assert same_after_writing(np.broadcast_to(array.ravel()[3], (1, *shape, 1)).T)


DTYPES = (
    np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64,
    np.float16, np.float32, np.float64, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2, ml_dtypes.float8_e5m2fnuz, ml_dtypes.int4,
    ml_dtypes.uint4, ml_dtypes.int2, ml_dtypes.uint2, ml_dtypes.float8_e8m0fnu,
    ml_dtypes.float6_e2m3fn, ml_dtypes.float6_e3m2fn, ml_dtypes.float4_e2m1fn,
)  # fmt: skip
SHAPES = ((), (0,), (3, 0, 2), (1,), (2, 3), (40, 7))


def _samples(dtype: np.dtype) -> dict[str, np.ndarray]:
    """Arrays of every form: few and many elements, one value throughout, views, extreme values."""
    arrays = {}
    for shape in SHAPES:
        numbers = np.arange(np.prod(shape, dtype=int)) % 7
        arrays[f"{list(shape)}"] = numbers.reshape(shape).astype(dtype)
        arrays[f"splat {list(shape)}"] = np.full(shape, 3).astype(dtype)
        arrays[f"view {list(shape)}"] = np.broadcast_to(np.array(3).astype(dtype), shape)
    arrays["extremes"] = _extremes(dtype)
    arrays["many extremes"] = np.tile(_extremes(dtype), 40)
    return arrays


def _extremes(dtype: np.dtype) -> np.ndarray:
    if dtype == np.bool_:
        return np.array([True, False])
    if np.issubdtype(dtype, np.integer) or "int" in dtype.name:
        info = ml_dtypes.iinfo(dtype)
        return np.array([int(info.min), int(info.max)], object).astype(dtype)
    info = ml_dtypes.finfo(dtype)
    tiny = float(info.smallest_subnormal)
    values = [np.nan, float(info.max), float(info.min), tiny, 0.0, -0.0, 1 / 3]
    if np.isinf(np.array(np.inf).astype(dtype).astype(np.float64)):
        values += [np.inf, -np.inf]
    return np.array(values).astype(dtype)


def _bits(array: np.ndarray) -> list[int]:
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}").ravel().tolist()


@pytest.mark.parametrize("dtype", [np.dtype(d) for d in DTYPES], ids=str)
def test_every_bit_survives_text_and_bytecode(dtype):
    """Not a number keeps its payload, zero its sign; read in another context than written."""
    samples = _samples(dtype)
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        for array in samples.values():
            graph.constant(value=array)
    bytecode = io.BytesIO()
    module.operation.write_bytecode(bytecode)
    for written in (str(module), bytecode.getvalue()):
        with ir.Context():
            graph.Graph.load()
            parsed = ir.Module.parse(written)
            constants = list(parsed.body.operations)
            for (name, array), op in zip(samples.items(), constants, strict=True):
                back = op.opview.attrs["value"]
                assert (back.dtype, back.shape) == (array.dtype, array.shape), name
                assert _bits(back) == _bits(array), f"{name}: {back} is not {array}"


def test_names_of_another_program_are_not_mistaken():
    """One that was read from a file, in a context where arrays get the same names."""
    with ir.Context(), ir.Location.unknown():
        graph.Graph.load()
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            graph.constant(value=np.arange(40))
        text = str(module)
    with ir.Context(), ir.Location.unknown():
        graph.Graph.load()
        module = ir.Module.parse(text)
        (parsed,) = module.body.operations
        written = graph.write_elements(-np.arange(40))
        np.testing.assert_array_equal(parsed.opview.attrs["value"], np.arange(40))
        np.testing.assert_array_equal(graph.attributes.ELEMENTS.read(written), -np.arange(40))


def test_equal_programs_have_equal_names():
    def text():
        with ir.Context(), ir.Location.unknown():
            graph.Graph.load()
            return str(graph.write_elements(np.arange(40)))

    assert text() == text()


def test_arrays_are_not_copied_and_stay_alive():
    array = np.arange(1 << 16, dtype=np.float32)
    attribute = graph.write_elements(array)
    back = graph.attributes.ELEMENTS.read(attribute)
    assert np.shares_memory(back, array)
    assert not back.flags.writeable
    del array, back
    assert graph.attributes.ELEMENTS.read(attribute)[12345] == 12345


def test_constants_are_not_printed_at_length():
    large = str(graph.write_elements(np.zeros((512, 512)) + np.arange(512)))
    assert len(large) < 200


def test_equal_arrays_are_one_blob():
    """Also if they differ in one element of thousands, which no sample has."""
    arrays = [np.zeros(6001, np.float32) for _ in range(3)]
    for array in arrays:
        array[0] = 1
    arrays[2][17] = 2
    with graph.sharing_blobs():
        one, same, other = (graph.write_elements(each) for each in arrays)
        assert one == same != other
        assert graph.write_elements(arrays[0].reshape(1, -1)) != one
    assert graph.write_elements(arrays[0]) != one
