"""Streams of random numbers of the host and of a device."""

import numpy as np
import pytest
import torch
from devices import DEVICES

from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Problem
from verify.core import draw as drawing
from verify.core.draw import draw
from verify.core.measure import execute
from verify.core.minimise import DescentStatus
from verify.core.run import Run
from verify.core.streams import HostStream, device_stream, stream

SEED = np.random.SeedSequence(7)
RUN = Run(Problem(1.0, MarchenkoPastur(0.5), 0.05, 0.5), dim=12)


def test_a_cpu_keeps_the_numbers_of_numpy():
    expected = np.random.default_rng(SEED).standard_normal((3, 2))
    assert np.array_equal(stream(SEED, "cpu").normal(3, 2), expected)
    expected = np.random.default_rng(SEED).permutation(9)
    assert np.array_equal(stream(SEED, "cpu").permutation(9), expected)


@pytest.mark.parametrize("device", DEVICES)
def test_a_seed_gives_one_stream_on_a_device(device):
    one, other = (device_stream(SEED, device) for _ in range(2))
    values = one.normal(20000)
    assert values.dtype == torch.float64 and values.device.type == device
    assert torch.equal(values, other.normal(20000))
    assert not torch.equal(one.normal(20000), values)  # the stream goes on
    # five standard errors of the mean and of the variance
    assert abs(float(values.mean())) < 5 / 20000**0.5
    assert abs(float(values.var()) - 1) < 5 * (2 / 20000) ** 0.5
    assert sorted(one.permutation(9).tolist()) == list(range(9))
    different = device_stream(SEED.spawn(1)[0], device)
    assert not torch.equal(different.normal(20000), values)


def test_a_run_on_streams_of_a_device_measures_the_same_within_its_scatter(monkeypatch):
    """Only the random numbers differ: the target is that of the host."""
    host = [execute(RUN.varied(index=index)) for index in range(12)]
    monkeypatch.setattr(drawing, "stream", device_stream)
    there = [execute(RUN.varied(index=index)) for index in range(12)]
    assert draw(RUN).test is not None and not isinstance(draw(RUN).test, HostStream)
    assert {one.status for one in there} == {DescentStatus.CONVERGED}
    for name in ("m", "q", "train_error", "test_error"):
        a, b = (np.array([getattr(one, name) for one in runs]) for runs in (host, there))
        assert not np.array_equal(a, b)
        error = np.sqrt((a.var(ddof=1) + b.var(ddof=1)) / len(a))
        assert abs(a.mean() - b.mean()) < 4 * error
    assert [one.q0 for one in there] == [one.q0 for one in host]
