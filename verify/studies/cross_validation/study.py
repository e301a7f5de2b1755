"""Weight decays chosen on held-out samples, for factors and for direct training of S."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numeric.problem.problem import Parametrisation
from verify.core.cross_validation import DecaySearch, choose
from verify.core.decay_choice import ChoiceGroup, against_factors, choice_store
from verify.core.draw import require_memory
from verify.core.minimise import DescentStatus
from verify.core.pool import Steps, training_task


@dataclass(frozen=True)
class ChoicePlan:
    """Searches by sample ratio, size and parametrisation."""

    searches: Mapping[tuple[float, int, Parametrisation], tuple[DecaySearch, ...]]


@dataclass(frozen=True)
class ChoiceOutcome:
    """Chosen weight decays at each point, and direct training compared with factors."""

    groups: tuple[ChoiceGroup, ...]
    comparisons: tuple[dict[str, Any], ...]

    @property
    def agrees(self) -> bool:
        """Return whether all searches converged and direct training is nowhere better than
        factors.
        """
        converged = all(
            choice.status is DescentStatus.CONVERGED
            for group in self.groups
            for choice in group.choices
        )
        return converged and all(item["agrees"] for item in self.comparisons)


def study_choices(plan: ChoicePlan, folder: Path) -> Steps[ChoiceOutcome]:
    """Run the searches that `folder` lacks.

    Args:
        plan: searches.
        folder: folder of finished searches.

    Raises:
        InvalidParameter: the data of a search do not fit into memory.
    """
    store = choice_store(folder)
    flat = [search for searches in plan.searches.values() for search in searches]
    require_memory(search.base for search in flat)
    found = iter((yield [training_task(search, store, choose) for search in flat]))
    groups = [
        ChoiceGroup(*point, tuple(next(found) for _ in searches))
        for point, searches in plan.searches.items()
    ]
    comparisons = [
        compared for group in groups if (compared := against_factors(group, groups)) is not None
    ]
    return ChoiceOutcome(tuple(groups), tuple(comparisons))
