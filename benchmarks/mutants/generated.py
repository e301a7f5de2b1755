"""Mutations of generated code, against what `derive check` proves of it: equal to its source on symbols, and right at stored values.

Run: python -m benchmarks.mutants.generated [MUTATIONS OF EACH FUNCTION]        (default 2)
"""

from __future__ import annotations

import ast
import random
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from benchmarks.mutants.mutations import Mutation, mutations
from derive.code import emit, manifest
from derive.code.files import PRINTERS, build, place, without_imports
from derive.code.proofs import stored_values, translation
from derive.code.proofs.oracles import Oracle
from derive.code.sharing import parts
from derive.language.step import Step
from derive.models import available, load
from derive.pipeline import derive, functions


def alone(steps: tuple[Step, ...]) -> dict[str, tuple[Step, ...]]:
    """Each generated function by name, as a step with no other."""
    return {function.name: (replace(step, functions=(function,)),) for step, function in functions(steps)}


def by_function(source: str) -> dict[str, list[Mutation]]:
    """Mutations within the functions of a module."""
    found: dict[str, list[Mutation]] = {
        node.name: [] for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)
    }
    for mutation in mutations(source.encode()):
        if mutation.function in found:
            found[mutation.function].append(mutation)
    return found


def noticed(source: str, language: str, steps: tuple[Step, ...], stored: dict[str, list[Oracle]]) -> Iterator[str]:
    """Which proofs fail of a function; what raises is seen by both."""
    try:
        if translation.mistranslated(source, PRINTERS[language].LANGUAGE, steps):
            yield "translation"
    except Exception:
        yield "translation"
    try:
        if any(stored_values.failures({language: source}, stored, steps)):
            yield "stored values"
    except Exception:
        yield "stored values"


def main(each: int) -> int:
    counts: dict[str, Counter[str]] = {language: Counter() for language in PRINTERS}
    seen: set[str] = set()
    for name in available():
        model = load(name)
        steps, files = derive(model), build(model)
        stored = emit.stored_values(manifest.folder(name)) or {}
        for part in parts(model, steps):
            for language in PRINTERS:
                file = place(part, language)
                if file in seen and part.shared:
                    continue
                seen.add(file)
                source, own = without_imports(files[file]), alone(part.steps)
                for function, found in by_function(source).items():
                    if function not in own or not found:
                        continue
                    counts[language]["functions"] += 1
                    for mutation in random.Random(f"{file}{function}").sample(found, min(each, len(found))):
                        proofs = list(
                            noticed(mutation.applied(source.encode()).decode(), language, own[function], stored)
                        )
                        counts[language].update(["mutations", *proofs, *(["either"] if proofs else ["neither"])])
                        if not proofs:
                            line = source.splitlines()[mutation.line - 1].strip()
                            print(f"{file}: {function}: {mutation.old} -> {mutation.new} in {line}", flush=True)
        print(name, flush=True)
    names = ("functions", "mutations", "translation", "stored values", "either")
    print(
        "| code | "
        + " | ".join(("functions", "mutations", "not equal to source", "wrong at stored values", "noticed"))
        + " |"
    )
    print("| --- " * 6 + "|")
    for language, count in counts.items():
        print(f"| {language} | " + " | ".join(str(count[name]) for name in names) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 2))
