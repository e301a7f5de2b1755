"""Text of chosen weight decays."""

from __future__ import annotations

from verify.core.decay_choice import ChoiceGroup


def choice_line(group: ChoiceGroup) -> str:
    """Return the test error at the chosen weight decays, and these decays."""
    document = group.document()
    lambdas = " ".join(f"{value:.3g}" for value in sorted(document["lambdas"]))
    return (
        f"alpha {group.alpha:g}, d {group.dim}, {group.parametrisation}: test error "
        f"{document['test_error']:.5f} "
        f"+- {document['standard_error']:.5f}, weight decays {lambdas}\n"
    )
