"""Streams of random numbers: drawn on the host for a CPU, and on the device itself for a GPU.

A stream of the host gives the same numbers on every machine. A stream of a device is reproducible
on one kind of device; drawing on the host would take most of the time of a run there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch


class Stream(Protocol):
    """Random numbers from one seed, in a fixed order."""

    def normal(self, *shape: int) -> torch.Tensor:
        """Return independent N(0, 1) in float64."""
        ...

    def permutation(self, count: int) -> torch.Tensor:
        """Return a uniform permutation of 0, ..., count - 1."""
        ...

    def integers(self, bound: int, *shape: int) -> torch.Tensor:
        """Return independent uniform integers below a bound."""
        ...


@dataclass(frozen=True)
class HostStream:
    """Numbers of a NumPy generator, as tensors on a device.

    Attributes:
        rng: the generator.
        device: device of the tensors.
    """

    rng: np.random.Generator
    device: str = "cpu"

    def normal(self, *shape: int) -> torch.Tensor:
        """Return independent N(0, 1) in float64."""
        return torch.as_tensor(self.rng.standard_normal(shape), device=self.device)

    def permutation(self, count: int) -> torch.Tensor:
        """Return a uniform permutation of 0, ..., count - 1."""
        return torch.as_tensor(self.rng.permutation(count), device=self.device)

    def integers(self, bound: int, *shape: int) -> torch.Tensor:
        """Return independent uniform integers below a bound."""
        return torch.as_tensor(self.rng.integers(bound, size=shape), device=self.device)


@dataclass(frozen=True)
class DeviceStream:
    """Numbers of a torch generator on its device."""

    generator: torch.Generator

    def normal(self, *shape: int) -> torch.Tensor:
        """Return independent N(0, 1) in float64."""
        device = self.generator.device
        return torch.randn(shape, generator=self.generator, dtype=torch.float64, device=device)

    def permutation(self, count: int) -> torch.Tensor:
        """Return a uniform permutation of 0, ..., count - 1."""
        device = self.generator.device
        return torch.randperm(count, generator=self.generator, device=device)

    def integers(self, bound: int, *shape: int) -> torch.Tensor:
        """Return independent uniform integers below a bound."""
        device = self.generator.device
        return torch.randint(bound, shape, generator=self.generator, device=device)


def device_stream(seed: np.random.SeedSequence, device: str) -> DeviceStream:
    """Return the stream of a seed that is drawn on a device.

    Args:
        seed: seed of the stream.
        device: torch device, for example "cuda".
    """
    (state,) = seed.generate_state(1, np.uint64)
    return DeviceStream(torch.Generator(device).manual_seed(int(state)))


def stream(seed: np.random.SeedSequence, device: str) -> Stream:
    """Return the stream of a seed: of the host for a CPU, otherwise of the device.

    Args:
        seed: seed of the stream.
        device: cpu or cuda.
    """
    if device == "cpu":
        return HostStream(np.random.default_rng(seed))
    return device_stream(seed, device)
