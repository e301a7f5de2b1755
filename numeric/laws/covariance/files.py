"""Covariances and token vectors in files: .npy, .npz with one array, or .csv."""

import logging
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy

from attention_erm.runtime.errors import InvalidParameter
from numeric.laws.covariance.matrix import symmetric_matrix
from numeric.laws.law import Array
from numeric.maths.array_files import Unreadable, first_line, read_arrays
from numeric.maths.domain import require

#: Condition number of C above which results lose digits: the penalty divides by its eigenvalues.
LARGE_CONDITION = 1e8
MOST_DIRECTIONS = 4096  #: eigenvalues of larger matrices take minutes
_LOG = logging.getLogger(__name__)


class MeasuredCovariance(NamedTuple):
    """Covariance C, shape (d, d), with tr C = d, and its eigenvalues, descending, shape (d,)."""

    matrix: Array
    eigenvalues: Array


def read_covariance(path: Path | str) -> MeasuredCovariance:
    """Return the covariance in a file.

    Args:
        path: file of a symmetric positive definite matrix.

    Raises:
        InvalidParameter: the file has no such matrix.
    """
    return _measured(symmetric_matrix("covariance", _array("covariance", Path(path))), path)


def read_token_covariance(path: Path | str) -> MeasuredCovariance:
    """Return the covariance of token vectors in a file, with their mean removed.

    Args:
        path: file of n token vectors in d dimensions, shape (n, d).

    Raises:
        InvalidParameter: the file has no such array, or the vectors do not span d dimensions.
    """
    name, tokens = "tokens_file", _array("tokens_file", Path(path))
    rule = "must have the shape (n, d): one row for each token vector"
    require(tokens.ndim == 2, name, f"shape {tokens.shape}", rule, "save a matrix")
    count, dim = tokens.shape
    bad = int(np.sum(~np.isfinite(tokens)))
    require(bad == 0, name, f"{bad} entries", "must be finite", "remove NaN and infinity")
    rule = f"must be more than the dimension {dim}: fewer do not determine a covariance"
    require(count > dim, name, f"{count} tokens", rule, "use more tokens, or project them")
    centred = tokens - tokens.mean(axis=0)
    constant = np.flatnonzero(np.ptp(tokens, axis=0) == 0)
    rule = "must vary over the tokens: a constant component has no variance"
    shown = f"component {constant[0]}" if constant.size else ""
    require(not constant.size, name, shown, rule, "leave the constant components out")
    return _measured(centred.T @ centred / count, path)


def _measured(matrix: Array, path: Path | str) -> MeasuredCovariance:
    dim = len(matrix)
    rule = f"must have at most {MOST_DIRECTIONS} directions"
    require(dim <= MOST_DIRECTIONS, "covariance", f"{dim} directions", rule, "project the tokens")
    values = scipy.linalg.eigvalsh(matrix)[::-1]
    least, rounding = float(values[-1]), dim * 2.0**-52 * float(values[0])
    rule = "must be positive definite; its least eigenvalue is not above rounding"
    way_out = "project the tokens on fewer directions, or add a multiple of the identity"
    require(least > rounding, "covariance", f"{least:.3g}", rule, way_out)
    condition = float(values[0]) / least
    if condition > LARGE_CONDITION:
        lost = math.log10(condition)
        _LOG.warning(
            "covariance in %s: condition number %.1e; float64 results lose up to %.0f of 16 digits",
            *(path, condition, lost),
        )
    scale = dim / float(np.sum(values))
    return MeasuredCovariance(matrix * scale, values * scale)


def _array(name: str, path: Path) -> Array:
    """Return the array in a file as float64."""
    way_out = "save one array with numpy.save, numpy.savez or numpy.savetxt(..., delimiter=',')"
    kind = path.suffix.lower()
    if kind not in (".npy", ".npz", ".csv"):
        rule = "must end in .npy, .npz or .csv"
        raise InvalidParameter(name, str(path), rule, way_out)
    try:
        is_text = kind == ".csv"
        arrays = {"": np.loadtxt(path, delimiter=",", ndmin=2)} if is_text else read_arrays(path)
    except (OSError, Unreadable) as error:
        reason = getattr(error, "strerror", None) or first_line(error)
        raise InvalidParameter(name, str(path), f"cannot be read ({reason})", way_out) from None
    except ValueError as error:
        rule = f"has no matrix ({first_line(error)})"
        raise InvalidParameter(name, str(path), rule, way_out) from None
    rule = f"must contain one array, not {len(arrays)}: {', '.join(arrays)}"
    require(len(arrays) == 1, name, str(path), rule, way_out)
    (found,) = arrays.values()
    if not np.issubdtype(found.dtype, np.number) or np.iscomplexobj(found):
        rule = f"has no matrix of real numbers, but of {found.dtype}"
        raise InvalidParameter(name, str(path), rule, way_out)
    return np.asarray(found, dtype=np.float64)
