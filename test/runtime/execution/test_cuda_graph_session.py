"""Modules for CUDA run by their launch plans, on a substitute of the driver's library."""

import dataclasses
import threading

import numpy as np
import onnx
import pytest
from onnx import parser

from graphc.compiler.driver import make_options, to_module
from graphc.errors import ModuleFileError, OutOfMemoryError, UsageError
from graphc.passes.linalg.workarounds.many_results import WorkaroundManyResults
from graphc.runtime.device import cuda_driver
from graphc.runtime.device.device import open_device
from graphc.runtime.device.device_tensor import send
from graphc.runtime.execution import cuda_graph_session
from graphc.runtime.execution.cuda_graph_session import CudaGraphSession, graph_plan
from graphc.runtime.execution.execution_context import CallSpec
from graphc.runtime.files.module_file import open_file, read_module
from graphc.runtime.launch_plan.launch_plan import (
    BufferCopy,
    BufferFill,
    BufferRange,
    KernelLaunch,
    LaunchPlan,
    NoLaunchPlan,
    read_plan,
)
from harness.host_cuda import HostCuda, floats_at

ROWS, COLUMNS = 64, 32
WEIGHTS = np.arange(ROWS * COLUMNS, dtype=np.float32).reshape(ROWS, COLUMNS) / 7
BOTH = CallSpec([0, 1])


def compiled(model):
    module, _ = to_module(model, make_options("cuda:sm_80", host=False))
    return module


@pytest.fixture(scope="module")
def contents():
    """A module with a weight, two outputs in one buffer, and one kernel."""
    model = parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : 13]> g (float[{ROWS},{COLUMNS}] x) '
        f"=> (float[{ROWS},{COLUMNS}] y, float[{ROWS},1] s) <int64[1] axes = {{1}}> "
        "{ s = ReduceSum (x, axes)\n a = Add (x, w)\n y = Mul (a, s) }"
    )
    model.graph.initializer.append(onnx.numpy_helper.from_array(WEIGHTS, "w"))
    return compiled(model)


@pytest.fixture(scope="module")
def file(contents):
    return read_module(open_file(contents))


def scaled(pointers, numbers, grid):
    """The module's only kernel."""
    x, w = (floats_at(pointer, (ROWS, COLUMNS)) for pointer in pointers[:2])
    sums = x.sum(axis=1, keepdims=True)
    floats_at(pointers[2], (ROWS, 1))[:] = sums
    floats_at(pointers[3] + ROWS * 4, (ROWS, COLUMNS))[:] = (x + w) * sums


@pytest.fixture
def library(file, monkeypatch):
    """The library, in place of the driver's."""
    (name,) = file.plan.kernels
    found = HostCuda({name: (scaled, 4, 0), "double": (double, 2, 1)})
    driver = cuda_driver.CudaDriver(found, 0)
    monkeypatch.setattr(cuda_graph_session, "cuda_driver", lambda index: driver)
    return found


@pytest.fixture
def device():
    return open_device("local-sync")


def double(pointers, numbers, grid):
    """``y = number * x`` for four elements."""
    floats_at(pointers[1], (4,))[:] = numbers[0] * floats_at(pointers[0], (4,))


def expected(x):
    sums = x.sum(axis=1, keepdims=True)
    return [(x + WEIGHTS) * sums, sums]


def drawn(seed):
    return np.random.default_rng(seed).standard_normal((ROWS, COLUMNS), np.float32)


def check(results, x):
    for found, wanted in zip(results, expected(x), strict=True):
        np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-5)


@pytest.fixture(autouse=True)
def switched_on(monkeypatch):
    monkeypatch.setenv(cuda_graph_session.SWITCH, "1")


def test_a_module_carries_its_plan(file):
    assert graph_plan(file) is file.plan
    assert [type(command) for command in file.plan.commands] == [KernelLaunch]
    assert file.plan.inputs == (WEIGHTS.nbytes,)
    assert read_plan(file.plan.to_json().encode()) == file.plan


def test_results_that_are_awaited_together_are_in_a_plan():
    count = WorkaroundManyResults.most + 1
    results = ", ".join(f"float[8] y{number}" for number in range(count))
    nodes = "\n".join(f"y{number} = Add (x, c{number})" for number in range(count))
    model = parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : 13]> g (float[8] x) => ({results}) {{ {nodes} }}'
    )
    for number in range(count):
        value = onnx.numpy_helper.from_array(np.float32(number + 1), f"c{number}")
        model.graph.initializer.append(value)
    plan = graph_plan(read_module(open_file(compiled(model))))
    assert isinstance(plan, LaunchPlan)
    assert len(set(plan.outputs)) == count


def test_arrays_go_and_come_in_one_launch(file, library, device):
    session = CudaGraphSession(file, file.plan, device)
    for seed in range(2):
        check(session.invoke([drawn(seed)], BOTH), drawn(seed))
    assert library.launches == 2
    assert library.updates == 0
    session.close()
    assert not library.memory
    assert not library.live


def test_results_belong_to_the_caller(file, library, device):
    session = CudaGraphSession(file, file.plan, device)
    first = session.invoke([drawn(0)], BOTH)
    session.invoke([drawn(1)], BOTH)
    check(first, drawn(0))


def test_some_outputs_in_another_order(file, library, device):
    session = CudaGraphSession(file, file.plan, device)
    (sums,) = session.invoke([drawn(0)], CallSpec([1]))
    np.testing.assert_allclose(sums, expected(drawn(0))[1], rtol=1e-5)
    check(reversed(session.invoke([drawn(0)], CallSpec([1, 0]))), drawn(0))


def test_tensors_on_the_device_are_used_in_place(file, library, device):
    session = CudaGraphSession(file, file.plan, device)
    given = [send(device, drawn(seed)) for seed in range(2)]
    kept = [session.invoke([tensor], CallSpec([0, 1], [0, 1])) for tensor in given]
    for seed, results in enumerate(kept):
        check(results, drawn(seed))
    check(session.invoke([given[0]], CallSpec([0, 1], [1])), drawn(0))


def test_calls_from_several_threads(file, library, device):
    session = CudaGraphSession(file, file.plan, device)
    found = {}

    def call(seed):
        found[seed] = session.invoke([drawn(seed)], BOTH)

    threads = [threading.Thread(target=call, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed, results in found.items():
        check(results, drawn(seed))
    session.close()
    assert not library.memory


def test_a_closed_session_refuses(file, library, device):
    session = CudaGraphSession(file, file.plan, device)
    session.close()
    with pytest.raises(UsageError, match="closed"):
        session.invoke([drawn(0)], BOTH)


@pytest.fixture
def planned(file):
    """`file` with another plan: two copies, a fill, and kernels that may run at once."""
    half, whole = 16, 32
    doubled = BufferRange(2, half, half), BufferRange(1, 0, half)
    plan = LaunchPlan(
        file.plan.executable,
        file.plan.kernels,
        (whole,),
        (),
        (whole, whole, 1 << 41),
        (BufferRange(1, 0, whole),),
        (
            (BufferCopy(BufferRange(0, 0, half), BufferRange(2, half, half)),),
            (
                BufferFill(BufferRange(2, 0, half), 0x40400000, 4),
                KernelLaunch(0, (1, 1, 1), doubled, (5,)),
            ),
            (BufferCopy(BufferRange(2, 0, half), BufferRange(1, half, half)),),
        ),
    )
    shape = dataclasses.replace
    spec = file.metadata.inputs[0], file.metadata.outputs[0]
    metadata = shape(
        file.metadata,
        inputs=(shape(spec[0], shape=(8,)),),
        outputs=(shape(spec[1], shape=(8,)),),
    )
    return shape(file, metadata=metadata, plan=plan)


def test_copies_fills_and_numbers(planned, library, device, monkeypatch):
    plan = dataclasses.replace(planned.plan, transients=(32, 32))
    kernel = dataclasses.replace(
        cuda_graph_session.read_executable(planned.entries[plan.executable]).kernels[0],
        bindings=2,
        constants=1,
    )
    monkeypatch.setattr(cuda_graph_session, "_find_kernels", lambda *_: [kernel])
    library.kernels[plan.kernels[0]] = double, 2, 1
    session = CudaGraphSession(planned, plan, device)
    x = np.arange(8, dtype=np.float32)
    (y,) = session.invoke([x], CallSpec([0]))
    np.testing.assert_array_equal(y, [0, 5, 10, 15, 3, 3, 3, 3])
    (y,) = session.invoke([send(device, x)], CallSpec([0], [0]))
    np.testing.assert_array_equal(np.asarray(y), [0, 5, 10, 15, 3, 3, 3, 3])


def test_no_memory(planned, library, device, monkeypatch):
    monkeypatch.setattr(cuda_graph_session, "_find_kernels", lambda *_: [])
    session = CudaGraphSession(planned, planned.plan, device)
    with pytest.raises(OutOfMemoryError):
        session.invoke([np.zeros(8, np.float32)], CallSpec([0]))
    session.close()
    assert not library.memory


def test_a_plan_that_does_not_fit_the_code(file, library, device):
    (launch,) = file.plan.commands
    fewer = dataclasses.replace(launch, bindings=launch.bindings[:2])
    with pytest.raises(ModuleFileError, match="takes 4 and 0"):
        CudaGraphSession(file, dataclasses.replace(file.plan, stages=((fewer,),)), device)
    with pytest.raises(ModuleFileError, match="lacks the kernel other"):
        CudaGraphSession(file, dataclasses.replace(file.plan, kernels=("other",)), device)
    with pytest.raises(ModuleFileError, match="signature"):
        CudaGraphSession(file, dataclasses.replace(file.plan, outputs=()), device)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"outputs": (BufferRange(9, 0, 4),)}, "beyond a buffer"),
        ({"outputs": (BufferRange(0, WEIGHTS.nbytes, 4),)}, "beyond a buffer"),
        ({"kernels": ()}, "damaged"),
        ({"stages": ((BufferFill(BufferRange(0, 0, 4), 256, 1),),)}, "damaged"),
    ],
)
def test_a_damaged_plan(file, change, message):
    text = dataclasses.replace(file.plan, **change).to_json()
    with pytest.raises(ModuleFileError, match=message):
        read_plan(text.encode())


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format":1}', '{"format":1,"stages":3}'])
def test_a_plan_that_is_none(text):
    with pytest.raises(ModuleFileError, match="damaged"):
        read_plan(text.encode())


def test_reasons_against_graphs(file, monkeypatch):
    assert "earlier version" in graph_plan(dataclasses.replace(file, plan=None))
    assert graph_plan(dataclasses.replace(file, plan=NoLaunchPlan("it branches"))) == "it branches"
    assert isinstance(read_plan(b'{"format":2}'), NoLaunchPlan)
    monkeypatch.delenv(cuda_graph_session.SWITCH)
    assert graph_plan(file) == "GRAPHC_CUDA_GRAPHS is not 1"


def test_a_program_of_copies_alone(library, device):
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 13]> g (float[2,3] x, float[2,3] y) => (float[4,3] z) '
        "{ z = Concat <axis = 0> (y, x) }"
    )
    file = read_module(open_file(compiled(model)))
    assert [type(command) for command in file.plan.commands] == [BufferCopy, BufferCopy]
    x, y = np.arange(12, dtype=np.float32).reshape(2, 2, 3)
    (z,) = CudaGraphSession(file, file.plan, device).invoke([x, y], CallSpec([0]))
    np.testing.assert_array_equal(z, np.concatenate([y, x]))


def test_a_program_with_named_sizes_has_no_plan():
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 13]> g (float[n] x) => (float[n] y) { y = Exp (x) }'
    )
    assert isinstance(read_module(open_file(compiled(model))).plan, NoLaunchPlan)
