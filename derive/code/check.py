"""Proofs of `derive check`: the files of a model are up to date, the code evaluated on symbols
returns its source, and the code agrees with the stored values.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os.path import normpath

from derive.code import emit, manifest
from derive.code.files import (
    LANGUAGES,
    ORACLES,
    build,
    part_path,
    training_steps,
    without_imports,
)
from derive.code.printers.languages import TORCH, TORCH_IMPORT
from derive.code.proofs import stored_values, translation
from derive.code.shared_functions import parts
from derive.language.model import Model
from derive.pipeline import derive, functions


@dataclass(frozen=True)
class Problem:
    """Failed check of a file."""

    file: str
    problem: str

    def __str__(self) -> str:
        return f"{self.file}: {self.problem}"


@dataclass(frozen=True)
class Report:
    """Numbers of files, equations and values that were checked for a model, and failed checks."""

    model: str
    files: int
    equations: int
    values: int
    problems: tuple[Problem, ...]

    def __str__(self) -> str:
        if self.problems:
            return f"{self.model}: {len(self.problems)} problems"
        return (
            f"{self.model}: {self.files} files up to date; {self.equations} equations proven equal "
            "to "
            f"their source, and {self.values} stored values reproduced, by {', '.join(LANGUAGES)}"
        )

    def record(self) -> dict[str, object]:
        """Return the report as plain data."""
        return {**vars(self), "problems": [vars(problem) for problem in self.problems]}


def report(model: Model) -> Report:
    """Check one model. The proofs use newly generated code, which must equal the files on disk.

    Raises:
        DerivationError: an assumption of the derivation does not hold for this model.
    """
    target, files = manifest.model_folder(model.name), build(model)
    found = (*emit.problems(target, files), *failed_proofs(model, files))
    return Report(
        model.name,
        len(files),
        sum(len(function.outputs) for _, function in functions(derive(model))),
        sum(map(len, (emit.stored_values(target) or {}).values())),
        tuple(
            Problem(normpath(f"generated/{model.name}/{file}"), problem) for file, problem in found
        ),
    )


def failed_proofs(model: Model, files: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield (file, problem) for each equation and each stored value that the code does not
    reproduce.

    Args:
        model: the model.
        files: text of its files by name.
    """
    stored = emit.stored_values(manifest.model_folder(model.name)) or {}
    for part in parts(model, derive(model)):
        paths = {name: part_path(part, name) for name in LANGUAGES}
        sources = {name: without_imports(files[path]) for name, path in paths.items()}
        for name, language in LANGUAGES.items():
            for wrong in translation.wrong_translations(sources[name], language, part.steps):
                yield paths[name], f"{wrong} is not its source expression"
        for where, problem in stored_values.failures(sources, stored, part.steps):
            yield paths.get(where, ORACLES), problem
    source = files["torch.py"].replace(TORCH_IMPORT, "\n", 1)  # torch need not be installed
    for wrong in translation.wrong_translations(source, TORCH, training_steps(model)):
        yield "torch.py", f"{wrong} is not its source expression"
