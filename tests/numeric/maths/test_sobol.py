"""Points of randomised quasi-Monte Carlo."""

import errno
import io
import pathlib
import zlib

import numpy as np
import pytest

from numeric.maths import disk_cache, sobol
from numeric.maths.sobol import Sampling

SAMPLING = Sampling(8, 4)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where points are kept, and none yet in memory."""
    monkeypatch.setattr(disk_cache.KernelCache, "folder", tmp_path)
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
    sets = [
        sobol.gaussians(3, SAMPLING),
        sobol.gaussians(3, SAMPLING, 1),
        sobol.gaussians(4, SAMPLING),
    ]
    assert len(list(folder.iterdir())) == 3
    assert not np.array_equal(sets[0], sets[1])
    assert sets[0].shape == (32, 3) and sets[2].shape == (32, 4)


def test_many_points_are_not_kept(folder, monkeypatch):
    monkeypatch.setattr(sobol, "MAX_CACHED", 32)
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


def test_a_file_with_a_flipped_bit_is_made_anew(folder):
    whole = sobol.gaussians(4, SAMPLING)
    (path,) = folder.glob("*.npy")
    content = path.read_bytes()
    for place in range(0, len(content), 5):
        flipped = bytearray(content)
        flipped[place] ^= 1 << place % 8
        path.write_bytes(flipped)
        sobol.gaussians.cache_clear()
        assert np.array_equal(sobol.gaussians(4, SAMPLING), whole)
        assert path.read_bytes() == content


def test_what_would_have_to_be_unpickled_is_made_anew(folder):
    """A pickle can run code when it is read."""
    drawn = sobol.gaussians(3, SAMPLING)
    (path,) = folder.glob("*.npy")
    written = io.BytesIO()
    np.save(written, np.array([print], dtype=object))
    content = written.getvalue()
    path.write_bytes(content + zlib.crc32(content).to_bytes(4, "little"))
    sobol.gaussians.cache_clear()
    assert np.array_equal(sobol.gaussians(3, SAMPLING), drawn)


def full(path, content):
    with path.open("wb") as file:
        file.write(content[: len(content) // 2])
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_and_no_folder_are_no_failure(folder, monkeypatch):
    drawn = sobol._gaussians(3, SAMPLING, 0)
    monkeypatch.setattr(pathlib.Path, "write_bytes", full)
    assert np.array_equal(sobol.gaussians(3, SAMPLING), drawn)
    assert not list(folder.iterdir())
    monkeypatch.setattr(disk_cache.KernelCache, "folder", None)
    sobol.gaussians.cache_clear()
    assert np.array_equal(sobol.gaussians(3, SAMPLING), drawn)


@pytest.mark.parametrize(
    ("points", "replicates", "said"),
    [(1, 8, "use 2"), (0, 8, "use 2"), (3, 8, "use 4"), (48, 8, "use 64"), (8, 3, "use 8")],
)
def test_rules_are_powers_of_two_of_several_replicates(points, replicates, said):
    with pytest.raises(ValueError, match=said):
        Sampling(points, replicates)


def test_a_finer_rule_has_four_times_the_points():
    assert Sampling(2, 4).refined() == Sampling(8, 4) and Sampling(2).replicates >= 4


def test_points_are_standard_normal_in_each_replicate_and_replicates_differ():
    """Of 2^12 points of a set each mean errs by about 1/2^12, those of squares by some more."""
    points = sobol.gaussians(2, Sampling(2**12, 4)).reshape(4, 2**12, 2)
    assert (
        np.abs(points.mean(axis=1)).max() < 2e-3
        and np.abs((points**2).mean(axis=1) - 1).max() < 1e-2
    )
    assert np.abs((points[..., 0] * points[..., 1]).mean(axis=1)).max() < 1e-2
    assert not np.isclose(points[0, :, 0], points[1, :, 0]).any()


@pytest.mark.parametrize("dimensions", [1, 3])
def test_rare_points_reach_farther_and_their_weights_make_up_for_it(dimensions):
    points, weights = sobol.rare_gaussians(dimensions, Sampling(2**13, 4))
    assert (points**2).sum(axis=1).mean() == pytest.approx(
        dimensions + sobol.EXTRA_VARIANCE, rel=1e-2
    )
    for moment, expected in ((1.0, 1), (points[:, 0] ** 2, 1), (points[:, -1] ** 4, 3)):
        assert (weights * moment).mean() == pytest.approx(expected, rel=1e-2)


@pytest.mark.parametrize(("block", "group"), [(4, 4), (4, 12), (8, 2)])
def test_sums_over_groups_are_those_of_their_points(block, group):
    points = np.arange(48.0).reshape(24, 2)

    def kernel(some, sums):
        for first in range(0, len(some), block):
            part = some[first : first + block].reshape(-1, min(block, group), 2).sum(axis=1)
            for k, row in enumerate(part):
                sums[(first + k * group) // group] += row

    found = sobol.block_sums(kernel, points, 2, block, group)
    np.testing.assert_allclose(found, points.reshape(-1, group, 2).sum(axis=1))
