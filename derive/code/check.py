"""What `derive check` proves of a model: files current, code equal to its source on symbols, stored values met."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from derive.code import emit
from derive.code.files import ORACLES, build
from derive.code.printers import balls, float64, multiprecision, torch
from derive.code.proofs import stored_values, translation
from derive.language.model import Model
from derive.language.step import Step
from derive.passes.channel import training
from derive.pipeline import derive, functions

LANGUAGES = tuple(printer.LANGUAGE for printer in (float64, multiprecision, balls))


@dataclass(frozen=True)
class Problem:
    """One thing that does not hold, and the file it concerns."""

    file: str
    problem: str

    def __str__(self) -> str:
        return f"{self.file}: {self.problem}"


@dataclass(frozen=True)
class Report:
    """How much was checked of a model, and what does not hold."""

    model: str
    files: int
    equations: int
    values: int
    problems: tuple[Problem, ...]

    def __str__(self) -> str:
        if self.problems:
            return f"{self.model}: {len(self.problems)} problems"
        languages = ", ".join(language.name for language in LANGUAGES)
        return (
            f"{self.model}: {self.files} files current; {self.equations} equations proven equal to their source and "
            f"{self.values} stored values met by {languages}"
        )

    def record(self) -> dict[str, object]:
        """As plain data."""
        return {**vars(self), "problems": [vars(problem) for problem in self.problems]}


def report(model: Model) -> Report:
    """Check one model; what is proven is proven of the code that it generates now, which the files on disk have to be.

    Raises:
        DerivationError: something that the derivation relies on does not hold for this model.
    """
    target, steps, files = emit.folder(model.name), derive(model), build(model)
    found = (*emit.problems(target, files), *unproven({**files}, target, steps))
    return Report(
        model.name,
        len(files),
        sum(len(function.outputs) for _, function in functions(steps)),
        sum(map(len, (emit.stored_values(target) or {}).values())),
        tuple(Problem(f"generated/{model.name}/{file}", problem) for file, problem in found),
    )


def unproven(files: dict[str, str], target: Path, steps: tuple[Step, ...]) -> Iterator[tuple[str, str]]:
    """(file, what does not hold) of generated code: translation of each equation, and each stored value."""
    sources = {language.name: files[f"{language.name}.py"] for language in LANGUAGES}
    for language in LANGUAGES:
        for identifier in translation.mistranslated(sources[language.name], language, steps):
            yield f"{language.name}.py", f"{identifier} is not its source expression"
    trained = tuple(step for step in steps if step.name == training.NAME)
    for identifier in translation.mistranslated(files["torch.py"], torch.LANGUAGE, trained):
        yield "torch.py", f"{identifier} is not its source expression"
    for place, problem in stored_values.failures(sources, emit.stored_values(target) or {}, steps):
        yield (ORACLES if place == "oracles" else f"{place}.py"), problem
