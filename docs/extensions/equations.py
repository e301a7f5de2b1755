"""Pages of equations from `generated/NAME/equations.tex` and `exponents.tex`: nothing on them is
typed.
"""

import re
from pathlib import Path

from docs.extensions.latex import body, markdown, tables

GENERATED = Path(__file__).parents[2] / "generated"
FIRST = "tied_attention"
#: Sections of the default model that the first page shows; every model has a page with all of its
#: own.
MAIN = (
    "Free entropy",
    "Six saddle-point equations",
    "Interpolation threshold",
    "Recovery threshold",
)
_EXPONENTS = ("In samples and weight decay", "With the number of hidden units as a third axis")


def names() -> list[str]:
    """Models with generated equations, the default one first."""
    found = sorted(path.parent.name for path in GENERATED.glob("*/equations.tex"))
    return [FIRST, *(name for name in found if name != FIRST)]


def document(name: str) -> str:
    """The generated LaTeX of a model."""
    return (GENERATED / name / "equations.tex").read_text()


def title(name: str) -> str:
    """What the model file calls the model."""
    found = re.search(r"\\title\{(.*)\}", document(name))
    assert found is not None  # every generated document has one
    return found[1]


def sections(source: str) -> dict[str, str]:
    """Each section of a document by its heading, the heading included."""
    found = re.split(r"(?=\\section\{)", body(source))[1:]
    return {re.match(r"\\section\{(.*)\}", text)[1]: text for text in found}  # type: ignore[index]


def pages() -> dict[str, str]:
    """Markdown of every page by its path."""
    models = "\n".join(f"- [`{name}`]({name}.md): {title(name)}" for name in names())
    first = sections(document(FIRST))
    toctree = "\n".join(
        ["```{toctree}", ":hidden:", "", *(f"{name} <{name}>" for name in names()), "```"]
    )
    opening = (
        "# Equations\n\nTied attention, Marchenko-Pastur target, two tokens, trace penalty: the "
        "limit of the least risk, its six "
        "saddle-point equations, both thresholds and the exponents of power-law targets. SymPy "
        "derives them from the model file "
        "(`python -m derive gen`); this page is made from `generated/tied_attention/equations.tex` "
        "and `exponents.tex`. Symbols "
        "are in the [glossary](../glossary.md), the argument in the [theory "
        "note](../../../explanation/theory.md).\n"
    )
    overview = "\n".join(
        [
            opening,
            *(markdown(first[heading]) for heading in MAIN),
            exponents(FIRST),
            "\n## The whole derivation, model by model\n",
            f"{models}\n\n{toctree}\n",
        ]
    )
    return {"equations/index.md": overview} | {
        f"equations/{name}.md": page(name) for name in names()
    }


def page(name: str) -> str:
    """The derivation of one model."""
    source = (
        f"Made from `generated/{name}/equations.tex`; `python -m derive tex {name}` prints it "
        "as a document."
    )
    return f"# {title(name)}\n\n{source}\n{markdown(body(document(name)))}\n{exponents(name)}"


def exponents(name: str) -> str:
    """The derived phase diagram as tables, nothing for a model without one."""
    path = GENERATED / name / "exponents.tex"
    if not path.exists():
        return ""
    found = zip(_EXPONENTS, tables(path.read_text()), strict=False)
    return "\n## Exponents of power-law targets\n" + "".join(
        f"\n### {heading}\n\n{rows}\n" for heading, rows in found
    )
