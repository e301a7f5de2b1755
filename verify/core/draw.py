"""Random data of a run: target, inputs, labels and starting weights, each from a separate random
stream.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import torch

from numeric.laws.covariance.aligned import AlignedCovariance
from verify.core.data import Inputs, TokenLaw, draw_inputs, draw_labels, draw_tokens, inputs_shape
from verify.core.norms import TokenNorms
from verify.core.parametrisation import weights_of
from verify.core.risk import Risk
from verify.core.run import Run, Start
from verify.core.streams import Stream, stream
from verify.core.target import TargetKind, gaussian_target, rank_ratio, rotated_target
from verify.core.vocabulary import DrawnVocabulary


class TrainingData(NamedTuple):
    """Random data of a run: inputs, target S0 (d, d), labels (n, T, T), starting weights, the
    stream of test samples, and the vocabulary if its tokens were drawn. For tokens with a
    covariance, inputs and target are whitened.
    """

    inputs: Inputs
    s0: torch.Tensor
    labels: torch.Tensor
    start: torch.Tensor
    test: Stream
    vocabulary: DrawnVocabulary | None = None


def draw(run: Run) -> TrainingData:
    """Draw the data and the starting weights of a run.

    Raises InvalidParameter before anything is drawn if the data do not fit into memory.
    """
    seeds = run.seeds()
    target = draw_target(run, np.random.default_rng(seeds.pop("target")))  # small: on the host
    streams = {name: stream(seed, run.device) for name, seed in seeds.items()}
    vocabulary, law = None, token_law(run)
    if run.vocabulary_size and run.drawn_from is None:
        shape = (run.vocabulary_size, 1, run.dim)
        vocabulary = law = DrawnVocabulary(draw_tokens(shape, streams["vocabulary"], law)[:, 0])
    inputs = draw_inputs(
        *(run.data, run.samples, run.problem.tokens, run.dim, streams["inputs"], law)
    )
    s0 = torch.as_tensor(target, device=run.device)
    return TrainingData(
        inputs,
        s0,
        _training_labels(run, inputs, s0, streams),
        _start(run, s0, streams["start"]),
        streams["test"],
        vocabulary,
    )


def token_law(run: Run) -> TokenLaw | None:
    """Return the law of new whitened tokens of a run, None if they are Gaussian.

    Tokens of a file are all that there are.
    """
    if run.drawn_from is not None or not run.problem.has_norms:
        return run.drawn_from
    roots = run.covariance_roots or (1.0,) * run.dim
    return TokenNorms(run.problem.norms, torch.tensor(roots, dtype=torch.float64))


def empirical_risk(run: Run, drawn: TrainingData) -> Risk:
    """Return the risk of the drawn samples, at the weight decay and for the output of the run.

    Args:
        run: the run.
        drawn: its data.
    """
    problem = run.problem
    weights = weights_of(problem.parametrisation, run.covariance_roots)
    return Risk(drawn.inputs, drawn.labels, problem.lambda_, problem.beta, weights, run.output)


def require_memory(runs: Iterable[Run]) -> None:
    """Raise InvalidParameter if the inputs of one of the runs do not fit into memory."""
    for run in runs:
        inputs_shape(run.data, run.samples, run.problem.tokens, run.dim)


def draw_target(run: Run, rng: np.random.Generator) -> np.ndarray:
    """Return S0, shape (d, d), whitened if the tokens have a covariance.

    Args:
        run: the run.
        rng: source of the target.
    """
    law, roots = run.problem.target, np.array(run.covariance_roots)
    if isinstance(law, AlignedCovariance):
        return np.diag(roots**2 * run.target_eigenvalues())
    if run.target_kind is TargetKind.GAUSSIAN:
        s0 = gaussian_target(run.dim, rank_ratio(law), rng)
    else:
        s0 = rotated_target(run.target_eigenvalues(), rng)
    return roots[:, None] * s0 * roots if roots.size else s0


def _training_labels(
    run: Run, inputs: Inputs, s0: torch.Tensor, streams: dict[str, Stream]
) -> torch.Tensor:
    teacher = torch.cat([block.indices(s0) for _, block in inputs.blocks()])
    labels = draw_labels(teacher, run.problem.noise, run.problem.beta0, streams["labels"])
    if run.shuffle_labels:
        labels = labels[streams["shuffle"].permutation(len(labels))]
    return labels


INFORMED_NOISE = (
    # random part of a start near the target, relative to a random start: columns of W that are zero
    # would stay zero
    0.1
)


def _start(run: Run, s0: torch.Tensor, source: Stream) -> torch.Tensor:
    """Return starting weights; each restart takes the next numbers of the same stream."""
    weights = weights_of(run.problem.parametrisation, run.covariance_roots)
    noise = weights.start(source.normal(run.restart + 1, run.dim, run.weight_columns)[-1])
    return (
        noise
        if run.start is Start.RANDOM
        else weights.proximal(s0, 0.0, noise) + INFORMED_NOISE * noise
    )
