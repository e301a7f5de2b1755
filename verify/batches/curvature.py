"""Inverse Hessian of L-BFGS for every element of a batch, as two triangular systems.

Byrd, Nocedal and Schnabel, Representations of quasi-Newton matrices (1994), theorem 2.2: with
steps s_i (rows of S) and changes y_i of the gradient (rows of Y), R_ij = s_i.y_j (i <= j), D its
diagonal, gamma = s.y/y.y of the last step,

    H g = gamma g + S^T R^-T ((D + gamma Y Y^T) R^-1 S g - gamma Y g) - gamma Y^T R^-1 S g

A GPU needs a few products of all past steps instead of a hundred small ones in sequence.
"""

from __future__ import annotations

import torch

from verify.batches.stack import compact


class PastSteps:
    """Last `memory` steps and gradient changes of each of B elements, P numbers each."""

    def __init__(self, memory: int, like: torch.Tensor) -> None:
        """Start without steps.

        Args:
            memory: maximum number of steps.
            like: tensor of shape (B, P), with type and device of the steps.
        """
        count, size = like.shape
        self.steps, self.changes = (like.new_zeros(count, memory, size) for _ in range(2))
        self._crossed, self._squared = (
            torch.zeros(count, memory, memory, dtype=torch.float64, device=like.device)
            for _ in range(2)
        )
        #: steps since the last `forget`
        self.count = torch.zeros(count, dtype=torch.long, device=like.device)

    def push(self, which: torch.Tensor, step: torch.Tensor, change: torch.Tensor) -> None:
        """Store a step in place of the oldest one.

        Args:
            which: elements for which it is stored, (B,).
            step: the step, (B, P).
            change: change of the gradient along it, (B, P).
        """
        rows, slot = torch.arange(len(step), device=step.device), self.count % self.steps.shape[1]
        chosen = which[:, None]
        for stored, new in ((self.steps, step), (self.changes, change)):
            stored[rows, slot] = torch.where(chosen, new, stored[rows, slot])
        by_change = torch.bmm(self.steps, change[..., None])[..., 0]
        by_both = torch.bmm(self.changes, torch.stack([step, change], -1))
        for gram, row, column in (
            (self._crossed, by_both[..., 0], by_change),
            (self._squared, by_both[..., 1], by_both[..., 1]),
        ):
            gram[rows, slot] = torch.where(chosen, row, gram[rows, slot])
            gram[rows, :, slot] = torch.where(chosen, column, gram[rows, :, slot])
        self.count += which

    def forget(self, which: torch.Tensor) -> None:
        """Delete the steps of the elements `which`, (B,)."""
        self.count.masked_fill_(which, 0)

    def descent(self, gradient: torch.Tensor) -> torch.Tensor:
        """Return -H g, (B, P), for gradients g (B, P); -g without stored steps."""
        memory = self.steps.shape[1]
        slots = torch.arange(memory, device=gradient.device)
        order = (self.count[:, None] + slots) % memory  # the oldest first
        stored = slots >= memory - self.count[:, None]
        both = stored[:, :, None] & stored[:, None, :]
        crossed, squared = (
            _arranged(gram, order) * both for gram in (self._crossed, self._squared)
        )
        lengths = crossed.diagonal(dim1=1, dim2=2)
        triangle = crossed.triu() + torch.diag_embed((~stored).double())
        scale = torch.where(self.count > 0, lengths[:, -1] / squared[:, -1, -1], 1.0)[:, None]
        along_steps, along_changes = (
            torch.bmm(past, gradient[..., None])[..., 0].gather(1, order) * stored
            for past in (self.steps, self.changes)
        )
        inner = torch.linalg.solve_triangular(triangle, along_steps[..., None], upper=True)[..., 0]
        wanted = lengths * inner + scale * (
            torch.bmm(squared, inner[..., None])[..., 0] - along_changes
        )
        outer = torch.linalg.solve_triangular(triangle.mT, wanted[..., None], upper=False)[..., 0]
        by_step, by_change = (
            torch.zeros_like(values).scatter(1, order, values) for values in (outer, scale * inner)
        )
        part = torch.bmm(by_step[:, None], self.steps) - torch.bmm(by_change[:, None], self.changes)
        return -(scale.to(gradient) * gradient + part[:, 0])

    def keep(self, places: list[int]) -> None:
        """Drop all elements except those at `places`."""
        self.steps, self.changes = compact(self.steps, places), compact(self.changes, places)
        self._crossed, self._squared, self.count = (
            values[places] for values in (self._crossed, self._squared, self.count)
        )


def _arranged(gram: torch.Tensor, order: torch.Tensor) -> torch.Tensor:
    """Reorder rows and columns of matrices (B, M, M) by `order` (B, M)."""
    rows = gram.gather(1, order[:, :, None].expand_as(gram))
    return rows.gather(2, order[:, None, :].expand_as(gram))
