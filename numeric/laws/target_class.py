"""Whether a target belongs to the class of the matrices of a model."""

from typing import Any

from numeric.laws.eigenvalue_list import Eigenvalues
from numeric.laws.rational_target import RationalTarget
from numeric.maths.domain import require
from numeric.model import MatrixClass, structure


def require_target_class(target: Any, model: str, trains_factors: bool) -> None:
    """Check that a target belongs to the class of the model's matrices.

    Args:
        target: target in float64.
        model: name of a generated model.
        trains_factors: whether factors of the matrix are trained, not the matrix itself.

    Raises:
        InvalidParameter: it does not.
    """
    shape = structure(model)
    is_indefinite = shape.matrix is not MatrixClass.POSITIVE
    if isinstance(target, Eigenvalues):
        allowed = target.eigenvalues[0] >= 0 or is_indefinite
        rule, way_out = "must be positive, as S is", "leave out eigenvalues below 0"
        require(allowed, "target", target, rule, way_out)
        allowed = not shape.has_singular_values or target.mirrored == target
        rule = f"must contain singular values with either sign for the model {model}"
        way_out = "use numeric.laws.eigenvalue_list.singular_values"
        require(allowed, "target", target, rule, way_out)
    elif shape.has_singular_values or (is_indefinite and trains_factors):
        matrices = f"the model {model}, whose matrices have eigenvalues of either sign"
        rule = f"must be the target of {matrices}, or a list"
        way_out = "give the RationalTarget of this model, or Eigenvalues"
        require(isinstance(target, RationalTarget), "target", target, rule, way_out)
