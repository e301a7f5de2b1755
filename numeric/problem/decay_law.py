"""Weight decay as a power law of the dimension d, which defines one regime for all sizes."""

import math
from dataclasses import dataclass

from attention_erm.runtime.errors import InvalidParameter

#: Maximum logarithm of a weight decay or its inverse; products with other factors do not overflow.
LARGEST_LOGARITHM = 600.0


@dataclass(frozen=True)
class DecayLaw:
    """Weight decay `factor` * d^`power`, called `name` ("1/d", "0.01")."""

    name: str
    factor: float = 1.0
    power: float = 0.0

    def __str__(self) -> str:
        return self.name

    def at(self, dim: int) -> float:
        """Return the weight decay in dimension `dim`.

        Raises:
            InvalidParameter: the value is outside the range of double precision.
        """
        if abs(self.power) * math.log(dim) > LARGEST_LOGARITHM:
            rule = f"is outside the range of double precision at d = {dim}"
            raise InvalidParameter("lambda_", self.name, rule, "give a smaller power of d")
        return self.factor * float(dim) ** self.power
