"""Points of randomised quasi-Monte Carlo."""

import errno

import numpy as np
import pytest

from numeric.maths import kept, sobol
from numeric.maths.sobol import Sampling

SAMPLING = Sampling(8, 4)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where points are kept, and none yet in memory."""
    monkeypatch.setattr(kept.Cache, "folder", tmp_path)
    sobol.gaussians.cache_clear()
    return tmp_path


def test_few_points_are_drawn_once_and_the_same_from_disk(folder, monkeypatch):
    drawn = sobol._gaussians(3, SAMPLING, 0)
    assert np.array_equal(sobol.gaussians(3, SAMPLING), drawn)
    assert len(list(folder.iterdir())) == 1
    sobol.gaussians.cache_clear()
    monkeypatch.setattr(sobol, "scipy", None)  # which draws
    assert np.array_equal(sobol.gaussians(3, SAMPLING), drawn)


def test_other_streams_dimensions_and_sizes_are_other_points(folder):
    sets = [sobol.gaussians(3, SAMPLING), sobol.gaussians(3, SAMPLING, 1), sobol.gaussians(4, SAMPLING)]
    assert len(list(folder.iterdir())) == 3
    assert not np.array_equal(sets[0], sets[1])
    assert sets[0].shape == (32, 3) and sets[2].shape == (32, 4)


def test_many_points_are_not_kept(folder, monkeypatch):
    monkeypatch.setattr(sobol, "KEPT", 32)
    sobol.gaussians(3, SAMPLING)
    assert not list(folder.iterdir())


def test_a_file_cut_short_is_made_anew(folder):
    """It ended every later command before."""
    whole = sobol.gaussians(4, SAMPLING)
    (path,) = folder.glob("*.npy")
    content = path.read_bytes()
    for length in range(0, len(content), 7):
        path.write_bytes(content[:length])
        sobol.gaussians.cache_clear()
        assert np.array_equal(sobol.gaussians(4, SAMPLING), whole)
        assert path.read_bytes() == content


def full(path, _):
    path.write_bytes(b"half")
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_and_no_folder_are_no_failure(folder, monkeypatch):
    drawn = sobol._gaussians(3, SAMPLING, 0)
    monkeypatch.setattr(kept.np, "save", full)
    assert np.array_equal(sobol.gaussians(3, SAMPLING), drawn)
    assert not list(folder.iterdir())
    monkeypatch.setattr(kept.Cache, "folder", None)
    sobol.gaussians.cache_clear()
    assert np.array_equal(sobol.gaussians(3, SAMPLING), drawn)
