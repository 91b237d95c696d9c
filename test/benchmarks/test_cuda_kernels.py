"""Kernels on CUDA, from events as the profiler gives them."""

from types import SimpleNamespace

import numpy as np
from tool_models import dense

import graphc
from graphc.benchmarks.cuda_kernels import CudaKernel, kernels_of, run_on_device, table


def event(name, device, time):
    return SimpleNamespace(name=name, device_type=f"DeviceType.{device}", device_time=time)


def test_kernels_are_summed_by_name_over_runs():
    events = [event("a", "CUDA", 3.0), event("b", "CUDA", 10.0), event("a", "CUDA", 5.0)]
    events.append(event("launch", "CPU", 99.0))
    kernels = kernels_of(events, runs=2)
    assert kernels == [CudaKernel("b", 0.5, 5.0), CudaKernel("a", 1.0, 4.0)]
    lines = list(table(0.02, kernels, longest=1))
    assert lines[0] == "0.020 ms a run, 0.009 ms in 1.5 kernels"
    assert [line.split()[-1] for line in lines[1:]] == ["b"]


def test_a_run_leaves_its_outputs_on_the_device():
    with graphc.compile(dense()) as model:
        (output,) = run_on_device(model)()
        assert isinstance(output, graphc.DeviceTensor)
        assert np.isfinite(output.numpy()).all()
