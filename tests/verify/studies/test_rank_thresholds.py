"""The figure of thresholds along the rank of the target."""

import json

import numpy as np
import pytest
import torch

from numeric.thresholds.along_rank import RankThresholds
from verify.cli.figure import write
from verify.cli.paper_figures import FIGURES
from verify.core.data import Sequences
from verify.core.paper_figure import Request
from verify.core.pool import Pool
from verify.studies.rank_thresholds import preset
from verify.studies.rank_thresholds.study import ordered


def test_the_figure_orders_its_lines(monkeypatch, tmp_path, no_workers):
    monkeypatch.setattr(preset, "_STEPS", 5)
    with Pool(1, progress=False) as pool:
        section = pool.run(FIGURES["8"].section(Request(tmp_path, ())))
    assert section.agrees
    files = write(section, tmp_path)
    assert set(files) == {f"thresholds_along_rank.{suffix}" for suffix in ("png", "pdf", "json")}
    document = json.loads(files["thresholds_along_rank.json"])
    assert (
        document["rows"][-1]["recovery"] == document["direct"]["symmetric"] == 0.5
    )  # full rank: parameters over numbers
    assert not FIGURES["8"].sizes(paper=True)


@pytest.mark.parametrize(
    ("bayes", "recovery", "noisy"), [(0.4, 0.3, 0.2), (0.2, 0.6, 0.2), (0.2, 0.3, 0.55)]
)
def test_lines_in_the_wrong_order_do_not_agree(bayes, recovery, noisy):
    assert not ordered(RankThresholds(0.5, bayes, recovery, 0.5, (noisy,)))
    assert ordered(RankThresholds(0.5, 0.2, 0.3, 0.5, (0.2,)))


@pytest.mark.parametrize(("symmetric", "parameters"), [(True, 21), (False, 36)])
@pytest.mark.parametrize("samples", [8, 10, 11, 17, 18, 25])
def test_without_noise_labels_fix_a_matrix_from_its_threshold_on(symmetric, parameters, samples):
    """Contrasts of two tokens are two linear functions of the matrix a sample, independent up to
    the number of its parameters.
    """
    inputs = Sequences(torch.as_tensor(np.random.default_rng(0).standard_normal((samples, 2, 6))))
    basis = torch.eye(36, dtype=torch.float64).reshape(36, 6, 6)
    if symmetric:
        basis = (basis + basis.transpose(1, 2)) / 2
    functions = torch.stack([inputs.contrasts(matrix).flatten() for matrix in basis])
    assert int(torch.linalg.matrix_rank(functions)) == min(2 * samples, parameters)
