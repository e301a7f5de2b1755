"""Laws of weight decay along the dimension: a multiple of a power of d, so that one name means the same regime at every size."""

import math
from dataclasses import dataclass

from attention_erm.runtime.errors import InvalidParameter

LARGEST_LOGARITHM = (
    600.0  #: of a weight decay or its inverse, with room for what it is multiplied by
)


@dataclass(frozen=True)
class DecayLaw:
    """Weight decay `factor` * d^`power`, called `name` ("1/d", "0.01")."""

    name: str
    factor: float = 1.0
    power: float = 0.0

    def __str__(self) -> str:
        return self.name

    def at(self, dim: int) -> float:
        """The weight decay in dimension d.

        Raises:
            InvalidParameter: it is beyond double precision.
        """
        if abs(self.power) * math.log(dim) > LARGEST_LOGARITHM:
            rule = f"is beyond double precision at d = {dim}"
            raise InvalidParameter("lambda_", self.name, rule, "give a smaller power of d")
        return self.factor * float(dim) ** self.power
