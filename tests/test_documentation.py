"""The documents: what they show runs and prints what they say, links lead somewhere, pages made
from the code are whole.
"""

import re
import shlex
import sys
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

import attention_erm
import numeric
from attention_erm.cli.exit import run_to_exit
from derive import __main__ as derive_command
from docs.extensions import commands, equations, glossary, interface
from docs.extensions.mathml import mathml
from docs.extensions.pages import FOLDER, SOURCES
from numeric import __main__ as numeric_command

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [
    ROOT / "README.md",
    *sorted(page for page in DOCS.rglob("*.md") if DOCS / FOLDER not in page.parents),
]
OWN_TEST = (
    DOCS / "howto" / "change_the_model.md"
)  # its commands need a tree to write to: test_tutorial.py
FENCE = re.compile(r"^```(.*)\n((?:.*\n)*?)^```$", re.M)
INDENTED = re.compile(r"^ {4}.*python -m", re.M)
MAIN = {"numeric": numeric_command.main, "derive": derive_command.main}
PARSERS = {program: commands.parser_of(program) for program in commands.PROGRAMS}
INSTALLING = ("python3 -m venv", ".venv/bin/", ". .venv/bin/activate")  # what .ci/run does
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s#]+)(?:#[^)]*)?\)")


class Block(NamedTuple):
    """A fenced block, and the output that stands below it."""

    language: str
    body: str
    output: str | None


def blocks(page):
    """Blocks of a page in order; one of plain text right below another is the output of that."""
    text = page.read_text()
    found = list(FENCE.finditer(text))
    for one, after in zip_longest(found, found[1:]):
        shown = after and after[1] == "text" and not text[one.end() : after.start()].strip()
        output = after[2] if shown else None
        yield Block(one[1], one[2], output)


def of(language, page):
    """Blocks of a language."""
    return [block for block in blocks(page) if block.language == language]


def name(page):
    """A page's path, as the name of a test."""
    return str(page.relative_to(ROOT))


def command_lines(page):
    """Lines of commands, without comments."""
    return [line for block in of("bash", page) for line in block.body.splitlines() if line.strip()]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_block_says_what_it_is(page):
    """Commands, Python, or text that nobody runs; directives are Sphinx's."""
    assert {block.language for block in blocks(page) if not block.language.startswith("{")} <= {
        "bash",
        "python",
        "text",
        "toml",
    }
    assert not INDENTED.search(FENCE.sub("", page.read_text())), (
        "commands stand in a block of their own"
    )


@pytest.mark.parametrize(
    "page", [page for page in PAGES if command_lines(page) and page != OWN_TEST], ids=name
)
def test_commands_are_ones_that_the_programs_take(page):
    for line in command_lines(page):
        words = shlex.split(line, comments=True)
        if words[:2] != ["python", "-m"]:
            assert line.startswith(INSTALLING), line
            continue
        program, *arguments = words[2:]
        arguments = arguments[: arguments.index(">")] if ">" in arguments else arguments
        try:
            assert PARSERS[program].parse_args(arguments)
        except SystemExit:
            pytest.fail(line)


def same(shown, printed):
    """Whether outputs agree: words as they are, decimals to three digits, strings of many digits
    exactly.
    """
    pairs = list(zip(shown.split(), printed.split(), strict=False))
    return len(shown.split()) == len(printed.split()) and all(_same_word(*pair) for pair in pairs)


def _same_word(shown, printed):
    one, other = (word.strip("(),:[]") for word in (shown, printed))
    try:
        return one == other or (
            len(one) < 20 and float(other) == pytest.approx(float(one), rel=2e-3, abs=1e-4)
        )
    except ValueError:
        return False


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [page for page in PAGES if of("python", page) and page != OWN_TEST], ids=name
)
def test_pages_print_what_they_show(page, tmp_path, monkeypatch, capsys):
    """Python of a page runs in one namespace; commands run where their output is shown."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks(page):
        if block.language == "python":
            exec(compile(block.body, name(page), "exec"), names)
        elif block.language == "toml":  # named in its first line
            Path(block.body.splitlines()[0].removeprefix("# ")).write_text(block.body)
        elif block.language == "bash" and block.output is not None:
            for line in block.body.splitlines():
                _, _, program, *arguments = shlex.split(line)
                monkeypatch.setattr(sys, "argv", [program, *arguments])
                with pytest.raises(SystemExit) as stop:
                    run_to_exit(MAIN[program])
                assert stop.value.code == 0, line
        printed = capsys.readouterr().out
        assert block.output is None or same(block.output, printed), printed


def made_pages():
    """Paths of the pages that a build makes."""
    made = {DOCS / FOLDER / path for source in SOURCES for path in source.pages()}
    return made | {DOCS / FOLDER / "gallery" / "index.rst"}


def test_links_lead_to_files():
    made = made_pages()
    links = {
        (page, link) for page in PAGES for link in LINK.findall(FENCE.sub("", page.read_text()))
    }
    local = {(page, link) for page, link in links if not link.startswith(("http://", "https://"))}
    missing = {(name(page), link) for page, link in local if not (page.parent / link).exists()}
    assert len(local) > 50
    assert {
        (page, link)
        for page, link in missing
        if (ROOT / page).parent.joinpath(link).resolve() not in made
    } == set()


def test_every_public_name_has_its_place():
    listed = [name for names in interface.groups().values() for name in names]
    assert sorted(listed) == sorted(numeric._PUBLIC)


def test_every_option_says_what_it_does_and_every_command_has_an_example():
    for program in commands.PROGRAMS:
        for command, parser in commands.commands(PARSERS[program]).items():
            assert parser.epilog, f"{program} {command}"
            silent = [action.dest for action in commands.arguments_of(parser) if not action.help]
            assert not silent, f"{program} {command}: {silent}"


def test_symbols_and_equations_have_their_pages():
    (page,) = glossary.pages().values()
    assert all(
        f"| `{symbol}` |" in page
        for symbol in ("alpha", "Vh", "kappa0", "label_noise", "u1", "h11")
    )
    assert all(f"| `{status.name.lower()}` |" in page for status in numeric.Status)
    made = equations.pages()
    assert {f"equations/{name}.md" for name in equations.names()} < set(made)
    overview = made["equations/index.md"]
    assert all(
        f"## {heading}\n" in overview
        for heading in (*equations.MAIN, "Exponents of power-law targets")
    )
    assert not re.search(
        r"\\(section|paragraph|texttt|begin\{(?!align\*|matrix))", "".join(made.values())
    )


def test_a_formula_needs_no_script():
    assert mathml(r"\hat m_{\rm eff}^2 = \frac{1}{J'}").startswith("<math")
    assert "<mtext>eff</mtext>" in mathml(r"n_{\rm eff}")


def test_the_citation_is_of_this_version():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["version"] == attention_erm.__version__
    assert cited["license"] == "MIT" and (ROOT / "LICENSE").read_text().startswith("MIT")
    assert cited["references"][0]["url"].endswith("2509.24914")
