"""Generated code: translation validation, oracles, and the commands that keep it current."""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

from attention_erm.runtime.digests import digest
from derive.code import check, emit, manifest, orphans
from derive.code.files import LANGUAGES, build, part_path
from derive.code.printers import latex
from derive.code.printers.languages import MULTIPRECISION
from derive.code.printers.python import module
from derive.code.proofs import accuracy, translation
from derive.code.shared_functions import parts
from derive.language.errors import DerivationError
from derive.language.model import ModelError, Target
from derive.language.notation import sym
from derive.models import available, load
from derive.pipeline import derive, skipped_steps
from derive.tools import diff as compare
from numeric.model import float64

ROOT = Path(__file__).parents[2]
WITH_NOISE = {
    "noisy_variance",
    "interpolation_residual",
    "interpolation_level",
    "interpolation_objective",
    "interpolating_residual",
    "interpolation_bounds.least",
    "interpolation_bounds.most",
    "bayes_sample_ratio",
}
MODEL = load("tied_attention")
FOLDER = manifest.model_folder(MODEL.name)
CHANGED = replace(MODEL, channel=replace(MODEL.channel, noise_inside=sym("Delta")[0]))
# Deriving a model takes seconds: in a quick run one with factors and one without, and check names
# any stale file of the others.
QUICK = {"direct_symmetric", "tied_attention"}
EVERY_MODEL = pytest.mark.parametrize(
    "model",
    [
        pytest.param(load(name), id=name, marks=[] if name in QUICK else [pytest.mark.slow])
        for name in available()
    ],
)
EVERY_LANGUAGE = pytest.mark.parametrize("language", LANGUAGES.values(), ids=list(LANGUAGES))


@pytest.fixture
def files():
    return build(MODEL)


def test_code_for_torch_is_proven_where_torch_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    model = load("direct_symmetric")  # which is derived in half the time
    files = build(model)
    mistaken = {**files, "torch.py": files["torch.py"].replace("return ", "return 2*", 1)}
    assert [file for file, _ in check.failed_proofs(model, mistaken)] == [
        "torch.py"
    ]  # once: its other functions are proven


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """An empty folder and an empty history that `emit` takes for the real ones."""
    monkeypatch.setattr(manifest, "GENERATED", tmp_path)
    monkeypatch.setattr(emit, "REASONS", tmp_path / "reasons.md")
    return tmp_path


@pytest.fixture
def copy(elsewhere, files):
    """A writable copy of the generated folder there, and of what it shares."""
    emit.generate(MODEL, force=False, reason=None)
    return elsewhere / MODEL.name


def contents(folder):
    """Every file of a model, those that it shares too."""
    own = [path for path in folder.iterdir() if path.is_file()]
    return {
        os.path.relpath(path, folder): path.read_bytes()
        for path in (*own, *emit.imported_shared_files(folder))
    }


def file_of(stem, language="float64", model=MODEL):
    """Name of the shared file of this stem."""
    (part,) = (part for part in parts(model, derive(model)) if part.stem == stem)
    return part_path(part, language)


@EVERY_MODEL
def test_gen_into_an_empty_folder_gives_what_is_committed(model, tmp_path, monkeypatch):
    elsewhere = tmp_path
    monkeypatch.setattr(emit, "REASONS", tmp_path / "reasons.md")
    committed = contents(ROOT / "generated" / model.name)
    monkeypatch.setattr(manifest, "GENERATED", elsewhere)
    emit.generate(model, force=False, reason=None)
    assert contents(elsewhere / model.name) == committed
    assert not emit.REASONS.exists() and orphans.unused_shared_files() == []


@EVERY_MODEL
def test_every_equation_is_its_source_and_meets_three_stored_values(model):
    report = check.report(model)
    assert report.problems == ()
    assert report.values == 3 * report.equations > 300
    assert report.files == len(contents(manifest.model_folder(model.name)))


@EVERY_LANGUAGE
def test_a_wrong_sign_is_seen_on_symbols_and_at_stored_values(language, files):
    name = file_of("thresholds_positive", language.name)
    wrong = files[name].replace("J - Delta/2 - J_v*v - q0", "J - Delta/2 + J_v*v - q0")
    assert wrong != files[name]
    found = list(check.failed_proofs(MODEL, {**files, name: wrong}))
    misses = [
        (name, f"interpolation_residual misses its value at reference point {k}") for k in (1, 2, 3)
    ]
    assert found == [(name, "interpolation_residual is not its source expression"), *misses]


def test_code_of_mpmath_numbers_is_its_source():
    """It is printed in memory, for tests and for users; no file of generated/ holds it."""
    steps = derive(MODEL)
    assert (
        translation.wrong_translations(
            module(MODEL.title, steps, MULTIPRECISION), MULTIPRECISION, steps
        )
        == ()
    )


def test_stored_values_that_are_wrong_or_missing_fail(copy):
    document = json.loads((copy / "oracles.json").read_text())
    values = document["values"]
    grossly, slightly = values["recovery_mass"][2], values["recovery_mass"][1]
    grossly["value"] = grossly["value"].replace("0.848079705", "0.848079706")
    slightly["value"] = (
        slightly["value"][:46] + str((int(slightly["value"][46]) + 5) % 10) + slightly["value"][47:]
    )
    del values["zero_mass"], values["shrinkage"][2]
    values["bayes_error"][0]["inputs"]["v"] = "1"
    (copy / "oracles.json").write_text(json.dumps(document))
    found = {(row.file, row.problem) for row in check.report(MODEL).problems}
    stale = {("oracles.json", "edited by hand")}
    missing = {
        ("zero_mass", 1),
        ("zero_mass", 2),
        ("zero_mass", 3),
        ("shrinkage", 3),
        ("bayes_error", 1),
    }
    missed = {("recovery_mass", 3, name) for name in ("float64", "balls")}
    missed |= {("recovery_mass", 2, "balls")}
    expected = stale | {
        ("oracles.json", f"{name} has no value at reference point {k}") for name, k in missing
    }
    expected |= {
        (file_of("recovery_positive", file), f"{name} misses its value at reference point {k}")
        for name, k, file in missed
    }
    assert found == {
        (os.path.normpath(f"generated/{MODEL.name}/{file}"), problem) for file, problem in expected
    }


def test_float64_functions_take_arrays():
    g = np.array([0.3 - 0.7j, -0.2 - 0.5j])
    both = float64.spectral_J(g, 0.64, 0.1, 0.5, 0.7)
    assert both.shape == (2,)
    assert both[1] == float64.spectral_J(g[1], 0.64, 0.1, 0.5, 0.7)


# SymPy reads t as t0, and sorts the two by hash: in opposite ways under the seeds 0 and 1.
@pytest.mark.slow
@pytest.mark.parametrize("name", ["direct_symmetric", "quadratic_network", "tied_attention"])
def test_generation_is_byte_identical_under_another_hash_seed(name):
    program = (
        "import hashlib\nfrom derive.code.files import build\nfrom derive.models import load\n"
        f"print(hashlib.sha256(repr(sorted(build(load({name!r})).items())).encode()).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(digests) == 1


def test_check_names_an_edited_a_missing_and_a_foreign_file(copy, files):
    shared = file_of("positive")
    text = (copy / shared).read_text()
    (copy / shared).write_text(text.replace("c*(x - b)", "c*(x + b)", 1))
    (copy / "float64.py").write_text((copy / "float64.py").read_text() + "x = 1\n")
    (copy / "equations.tex").unlink()
    (copy / "notes.txt").write_text("mine")
    assert sorted(emit.problems(copy, files)) == [
        (shared, "edited by hand"),
        ("equations.tex", "missing"),
        ("float64.py", "edited by hand"),
        ("notes.txt", "not generated by this model"),
    ]


def test_check_names_a_stale_file_after_a_change_of_the_model(copy):
    stale = dict(emit.problems(copy, build(CHANGED)))
    assert stale["float64.py"] == "stale" and stale["MANIFEST.json"] == "stale"


def test_gen_refuses_to_overwrite_an_edited_file_unless_forced(copy):
    original = (copy / "float64.py").read_text()
    (copy / "float64.py").write_text(original + "# mine\n")
    with pytest.raises(emit.HandEdited, match=r"float64\.py"):
        emit.generate(MODEL, force=False, reason=None)
    assert (copy / "float64.py").read_text().endswith("# mine\n")
    assert emit.generate(MODEL, force=True, reason=None) == ["float64.py"]
    assert (copy / "float64.py").read_text() == original


def test_gen_asks_for_a_reason_when_reference_values_change_and_records_it(copy):
    with pytest.raises(emit.OraclesChanged, match="noisy_variance"):
        emit.generate(CHANGED, force=False, reason=None)
    assert not emit.REASONS.exists()
    emit.generate(CHANGED, force=False, reason="noise counts once")
    (line,) = emit.REASONS.read_text().splitlines()
    model, names, reason = line.removeprefix("- ").split(": ")
    assert model == MODEL.name and reason == "noise counts once"
    assert {"interpolation_residual", "noisy_variance"} <= set(names.split(", ")) <= WITH_NOISE


def test_gen_tells_lost_values_from_values_never_stored(copy):
    (copy / "oracles.json").unlink()
    with pytest.raises(emit.OraclesChanged, match=r"oracles\.json \(missing"):
        emit.generate(MODEL, force=False, reason=None)


@pytest.mark.parametrize("language", ["float64", "balls"])
def test_what_models_share_is_written_once(language):
    """Functions of the theory, the class, the law and the thresholds: most of what a model uses."""
    used = sum(emit.full_source(name, language).count("derivation step: ") for name in available())
    paths = (
        *manifest.GENERATED.glob(f"shared/{language}/*.py"),
        *manifest.GENERATED.glob(f"*/{language}.py"),
    )
    written = sum(path.read_text().count("derivation step: ") for path in paths)
    assert written < 0.4 * used
    theory = [path.name for path in paths if path.name.startswith("theory")]
    assert len(theory) == 1, theory


@pytest.mark.slow
def test_models_do_not_disturb_each_other(elsewhere):
    """Whatever is generated with it or after it, a model has the same files; what the last model
    leaves behind goes.
    """
    one, other = load("quadratic_network"), load("direct_symmetric")
    emit.generate(one, force=False, reason=None)
    alone = contents(elsewhere / one.name)
    emit.generate(other, force=False, reason=None)
    assert contents(elsewhere / one.name) == alone and check.report(one).problems == ()
    both = set(contents(elsewhere / other.name)) & set(alone)
    assert {Path(name).name.rpartition("_")[0] for name in both if name.startswith("..")} == {
        "theory",
        "token_norms",
        "law_marchenko_pastur",
    }
    shutil.rmtree(elsewhere / other.name)
    left = orphans.unused_shared_files()
    assert {Path(name).name.rpartition("_")[0] for name in left} == {
        *("symmetric_frobenius", "tied_softmax", "thresholds_symmetric", "vocabulary"),
    }
    assert [f"{name} (deleted)" for name in left] == emit.generate(one, force=False, reason=None)
    assert contents(elsewhere / one.name) == alone and orphans.unused_shared_files() == []


@pytest.mark.slow
def test_a_law_of_the_same_name_and_another_formula_has_a_file_of_its_own():
    other = replace(
        MODEL, target=replace(load("tied_attention_two_bulks").target, name=MODEL.target.name)
    )
    assert file_of("law_marchenko_pastur") != file_of("law_marchenko_pastur", model=other)


def test_gen_deletes_what_it_once_generated_and_no_longer_does(copy):
    (copy / "old.py").write_text("x = 1\n")
    record = json.loads((copy / "MANIFEST.json").read_text())
    record["files"]["old.py"] = digest("x = 1\n")
    (copy / "MANIFEST.json").write_text(json.dumps(record))
    assert "old.py (deleted)" in emit.generate(MODEL, force=False, reason=None)
    assert not (copy / "old.py").exists()


@pytest.mark.parametrize("name", ["../../../secret.py", "../../secret.py", "/etc/passwd"])
def test_a_manifest_names_no_file_outside_of_generated(name, copy):
    """Whoever wrote it: nothing there is read, and nothing deleted."""
    record = json.loads((copy / "MANIFEST.json").read_text())
    known = dict(record["files"])
    record["files"][name] = "0" * 16
    (copy / "MANIFEST.json").write_text(json.dumps(record))
    assert manifest.recorded_hashes(copy) == known


@pytest.mark.parametrize(
    ("changed", "text", "anew"),
    [
        ("cli/output.py", "CHANGED = 1\n", False),
        ("models/tied_attention.py", "CHANGED = 1\n", False),
        ("code/check.py", "# changed\n", False),
        ("code/check.py", "CHANGED = 1\n", True),
    ],
)
def test_words_of_commands_make_no_generated_file_stale(changed, text, anew, tmp_path, monkeypatch):
    """A changed refusal had every file of every model generated anew; what commands are made of
    imports from below alone.
    """
    source = shutil.copytree(
        manifest.SOURCE, tmp_path / "derive", ignore=shutil.ignore_patterns("__pycache__")
    )
    with (source / changed).open("a") as file:
        file.write(text)
    unchanged = manifest.generator_digest()
    monkeypatch.setattr(manifest, "SOURCE", source)
    assert (manifest.generator_digest.__wrapped__() != unchanged) == anew


def test_an_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("old")
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        emit.write_atomically(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_diff_names_the_equations_whose_value_changed():
    changes = compare.compare(emit.full_source(MODEL.name, "balls"), MODEL.title, derive(CHANGED))
    different = {change.equation: change for change in changes if change.verdict != "unchanged"}
    assert set(different) == WITH_NOISE
    assert all(
        change.verdict == "value changed" and "Delta = " in change.where
        for change in different.values()
    )


def test_diff_tells_text_from_value():
    text = emit.full_source(MODEL.name, "balls")
    text = text.replace("return c*(x - b)", "return c*x - c*b").replace(
        "return J_v/(2*D)", "return J_v/(3*D)"
    )
    changes = compare.compare(text, MODEL.title, derive(MODEL))
    verdicts = {change.equation: change.verdict for change in changes}
    assert verdicts["shrinkage"] == "text changed"
    assert verdicts["interpolation_ratio"] == "value changed"
    (where,) = (change.where for change in changes if change.equation == "interpolation_ratio")
    before, after = map(float, where.rpartition(": ")[2].split(" -> "))
    assert after == pytest.approx(1.5 * before)  # what stands in the file comes first
    assert verdicts["overlaps.m"] == "unchanged"


def test_equations_for_reports_have_balanced_braces():
    for record in json.loads((FOLDER / "equations.json").read_text()):
        assert record["latex"].count("{") == record["latex"].count("}"), record["id"]
        assert record["latex"].count(r"\left") == record["latex"].count(r"\right"), record["id"]


@EVERY_MODEL
def test_the_document_reads_as_an_appendix(model):
    """Problem first, a sentence for each section, what does not apply with its reason, and the
    symbols that are used.
    """
    text = latex.document(model, derive(model))
    assert text.isascii() and text.count("{") == text.count("}")
    sections = re.findall(r"\\section\{(.*)\}\n(.*)", text)
    assert sections[0][0] == "The model" and all(
        len(sentence) > 20 or "itemize" in sentence for _, sentence in sections
    )
    names = [title for title, _ in skipped_steps(model)]
    assert all(f"\\item {title}: " in text for title in names)
    assert not {title for title, _ in sections} & set(names)
    body, table = text.split(r"\section*{Notation}")
    for glyph in re.findall(r"^\$(.*?)\$ &", table, re.M):
        assert glyph in body or glyph.strip("{}") in body, glyph


def test_header_states_the_rounding_of_float64_code():
    header = (FOLDER / file_of("law_marchenko_pastur")).read_text().split('"""')[0]
    assert "proven to first order" in header and "sampled at 1000 points" in header


def test_code_that_errs_by_more_than_its_bound_is_refused(files):
    exact, fast = (
        files[file_of("law_marchenko_pastur", language)] for language in ("balls", "float64")
    )
    wrong = fast.replace("ROUNDING = 2.0**-50", "ROUNDING = 2.0**-70")
    (law,) = (part for part in parts(MODEL, derive(MODEL)) if part.stem == "law_marchenko_pastur")
    with pytest.raises(DerivationError, match="times its bound"):
        accuracy.statements(law.steps, wrong, exact)


g, kappa0, r = sym("g kappa0 r")


@pytest.mark.parametrize(
    ("z", "rule"),
    [
        (2 / g + kappa0 / (r - g), "total mass one"),
        (1 / g - kappa0 / (r - g), "not positive"),
        (1 / g + kappa0 / (r - g) ** 2, "not simple"),
        (1 / g + kappa0 / (r + g**2), "not real"),
        (1 / g + kappa0 / (r - g) + g, "below zero"),
        (1 / g - kappa0 + kappa0 / (r - g), "shifted by"),
        (1 / g + sp.Rational(1, 2) / (r - g), "depends on no setting"),
        (1 / g + 0.5 / (r - g), "floats"),
        (1 / g + kappa0 / (r - g) + sp.I, "not real"),
        (1 / g + sp.sqrt(r - g), "must be rational"),
        (1 / g + sp.Symbol("unheard") / (r - g), "not in the notation table"),
    ],
)
def test_a_function_that_is_no_inverse_stieltjes_transform_is_refused(z, rule):
    with pytest.raises(ModelError, match=rule):
        Target(name="test", g=g, inverse_stieltjes=z, definitions=())


def test_sources_of_a_model_have_one_order_whatever_the_hash_seed():
    """Of a model that imports two others; the manifest lists them in this order."""
    code = (
        "from attention_erm.runtime.digests import model_sources; "
        "print(*model_sources('signed_phase_retrieval'))"
    )
    orders = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2", "3")
    }
    assert len(orders) == 1
