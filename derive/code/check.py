"""What `derive check` proves of a model: files current, code equal to its source on symbols, stored values met."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os.path import normpath

from derive.code import emit, manifest
from derive.code.files import ORACLES, PRINTERS, build, part_path, training_steps, without_imports
from derive.code.printers import torch
from derive.code.proofs import stored_values, translation
from derive.code.sharing import parts
from derive.language.model import Model
from derive.pipeline import derive, functions

LANGUAGES = tuple(printer.LANGUAGE for printer in PRINTERS.values())


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
    target, steps, files = manifest.model_folder(model.name), derive(model), build(model)
    found = (*emit.problems(target, files), *failed_proofs(model, files))
    return Report(
        model.name,
        len(files),
        sum(len(function.outputs) for _, function in functions(steps)),
        sum(map(len, (emit.stored_values(target) or {}).values())),
        tuple(
            Problem(normpath(f"generated/{model.name}/{file}"), problem) for file, problem in found
        ),
    )


def failed_proofs(model: Model, files: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """(file, what does not hold) of the generated code of a model: translation of each equation, and each stored value."""
    stored = emit.stored_values(manifest.model_folder(model.name)) or {}
    for part in parts(model, derive(model)):
        paths = {language: part_path(part, language) for language in PRINTERS}
        sources = {language: without_imports(files[file]) for language, file in paths.items()}
        for language, printer in PRINTERS.items():
            for identifier in translation.wrong_translations(
                sources[language], printer.LANGUAGE, part.steps
            ):
                yield paths[language], f"{identifier} is not its source expression"
        for where, problem in stored_values.failures(sources, stored, part.steps):
            yield paths.get(where, ORACLES), problem
    on_symbols = files["torch.py"].replace(
        torch.IMPORT, "\n", 1
    )  # proven where torch is not installed, too
    for identifier in translation.wrong_translations(
        on_symbols, torch.LANGUAGE, training_steps(model)
    ):
        yield "torch.py", f"{identifier} is not its source expression"
