"""Generated code: translation validation, oracles, and the commands that keep it current."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import mpmath
import numpy as np
import pytest
import sympy as sp

from derive.code import emit
from derive.code.printers import balls as balls_printer
from derive.code.printers import float64 as float64_printer
from derive.code.printers import multiprecision as multiprecision_printer
from derive.code.proofs import translation
from derive.code.proofs.generated_module import load as load_source
from derive.language.model import ModelError, Target
from derive.language.notation import sym
from derive.models import load
from derive.pipeline import derive, functions
from derive.tools import diff as compare
from numeric.model import float64, multiprecision

ROOT = Path(__file__).parents[2]
WITH_NOISE = {
    "noisy_variance", "interpolation_residual", "interpolation_level", "interpolation_objective", "interpolating_residual",
    "interpolation_bounds.least", "interpolation_bounds.most", "bayes_sample_ratio",
}  # fmt: skip
MODEL = load("tied_attention")
FOLDER = emit.folder(MODEL.name)


@pytest.fixture(scope="module")
def steps():
    return derive(MODEL)


@pytest.fixture(scope="module")
def files():
    return emit.build(MODEL, emit.reasons(FOLDER))


@pytest.fixture
def copy(tmp_path, monkeypatch, files):
    """A writable copy of the generated folder that `emit` takes for the real one."""
    target = tmp_path / MODEL.name
    target.mkdir()
    for name, text in files.items():
        (target / name).write_text(text)
    monkeypatch.setattr(emit, "GENERATED", tmp_path)
    return target


def test_generated_files_are_current(files):
    assert emit.problems(FOLDER, files) == []


PRINTERS = pytest.mark.parametrize("printer", [float64_printer, multiprecision_printer, balls_printer])


@PRINTERS
def test_generated_code_run_on_symbols_is_its_source(printer, steps, files):
    text = files[f"{printer.LANGUAGE.name}.py"]
    assert translation.mistranslated(text, printer.LANGUAGE, steps) == []


@PRINTERS
def test_translation_validation_sees_a_wrong_sign(printer, steps, files):
    text = files[f"{printer.LANGUAGE.name}.py"]
    assert "J - Delta/2 - J_v*v - q0" in text
    wrong = text.replace("J - Delta/2 - J_v*v - q0", "J - Delta/2 + J_v*v - q0")
    assert translation.mistranslated(wrong, printer.LANGUAGE, steps) == ["interpolation_residual"]


def oracles():
    table = json.loads((FOLDER / "oracles.json").read_text())["values"]
    return [(name, entry) for name, entries in table.items() for entry in entries]


def number(mp, text):
    real, imaginary = sp.sympify(text).as_real_imag()
    parts = [mp.mpf(int(part.p)) / int(part.q) for part in (real, imaginary)]
    return mp.mpc(*parts) if imaginary != 0 else parts[0]


def test_every_equation_has_three_oracles(steps):
    table = json.loads((FOLDER / "oracles.json").read_text())["values"]
    expected = {identifier for _, function in functions(steps) for identifier in function.equation_ids()}
    assert set(table) == expected
    assert all(len(entries) == 3 for entries in table.values())


def test_generated_functions_meet_their_oracles(steps):
    mp = mpmath.mp.clone()
    mp.dps = 60
    by_name = {i: (f, k) for _, f in functions(steps) for k, i in enumerate(f.equation_ids())}
    for name, entry in oracles():
        function, k = by_name[name]
        exact = [number(mp, text) for text in entry["inputs"].values()]
        value = getattr(multiprecision, function.name)(mp, *exact)
        value = value[k] if isinstance(value, tuple) else value
        oracle = mp.mpmathify(entry["value"].replace("*I", "j").replace(" ", ""))
        assert abs(value - oracle) <= mp.mpf(10) ** -48 * max(1, abs(oracle)), name
        rounded = [complex(x) if isinstance(x, mp.mpc) else float(x) for x in exact]
        value = getattr(float64, function.name)(*rounded)
        value = value[k] if isinstance(value, tuple) else value
        # Sums of up to 15 terms, each at most 1e3 times the result at these points.
        assert abs(complex(value) - complex(oracle)) <= 1e-12 * max(1, abs(complex(oracle))), name


def test_float64_functions_take_arrays():
    g = np.array([0.3 - 0.7j, -0.2 - 0.5j])
    both = float64.spectral_J(g, 0.64, 0.1, 0.5, 0.7)
    assert both.shape == (2,)
    assert both[1] == float64.spectral_J(g[1], 0.64, 0.1, 0.5, 0.7)


def test_generation_is_byte_identical_under_two_hash_seeds(files):
    program = (
        "import hashlib\nfrom derive.code import emit\nfrom derive.models import load\n"
        "files = emit.build(load('tied_attention'), [])\n"
        "print(hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest())"
    )
    digests = set()
    for seed in ("1", "20211"):
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        digests.add(done.stdout)
    assert len(digests) == 1


def test_check_names_an_edited_a_missing_and_a_foreign_file(copy, files):
    text = (copy / "float64.py").read_text()
    (copy / "float64.py").write_text(text.replace("c*(x - b)", "c*(x + b)", 1))
    (copy / "equations.tex").unlink()
    (copy / "notes.txt").write_text("mine")
    assert sorted(emit.problems(copy, files)) == [
        ("equations.tex", "missing"),
        ("float64.py", "edited by hand"),
        ("notes.txt", "not generated by this model"),
    ]


def test_check_names_a_stale_file_after_a_change_of_the_model(copy):
    (Delta,) = sym("Delta")
    changed = replace(MODEL, channel=replace(MODEL.channel, noise=Delta))
    stale = dict(emit.problems(copy, emit.build(changed, [])))
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
    (Delta,) = sym("Delta")
    changed = replace(MODEL, channel=replace(MODEL.channel, noise=Delta))
    with pytest.raises(emit.OraclesChanged, match="noisy_variance"):
        emit.generate(changed, force=False, reason=None)
    emit.generate(changed, force=False, reason="noise counts once")
    recorded = json.loads((copy / "oracles.json").read_text())["reasons"]
    names, reason = recorded[-1].split(": ")
    assert {"interpolation_residual", "noisy_variance"} <= set(names.split(", ")) <= WITH_NOISE
    assert reason == "noise counts once"


def test_gen_deletes_what_it_once_generated_and_no_longer_does(copy):
    (copy / "old.py").write_text("x = 1\n")
    manifest = json.loads((copy / "MANIFEST.json").read_text())
    manifest["files"]["old.py"] = emit.digest("x = 1\n")
    (copy / "MANIFEST.json").write_text(json.dumps(manifest))
    assert "old.py (deleted)" in emit.generate(MODEL, force=False, reason=None)
    assert not (copy / "old.py").exists()


def test_an_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("old")
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        emit.write_atomically(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_diff_names_the_equations_whose_value_changed():
    (Delta,) = sym("Delta")
    changed = replace(MODEL, channel=replace(MODEL.channel, noise=Delta))
    changes = compare.compare((FOLDER / "multiprecision.py").read_text(), MODEL.title, derive(changed))
    different = {change.equation: change for change in changes if change.verdict != "unchanged"}
    assert set(different) == WITH_NOISE
    assert all(change.verdict == "value changed" and "Delta = " in change.where for change in different.values())


def test_diff_tells_text_from_value(files, steps):
    text = files["multiprecision.py"]
    text = text.replace("return c*(x - b)", "return c*x - c*b").replace("return J_v/(2*D)", "return J_v/(3*D)")
    verdicts = {change.equation: change.verdict for change in compare.compare(text, MODEL.title, steps)}
    assert verdicts["shrinkage"] == "text changed"
    assert verdicts["interpolation_ratio"] == "value changed"
    assert verdicts["overlaps.m"] == "unchanged"


def test_equations_for_reports_have_balanced_braces():
    for record in json.loads((FOLDER / "equations.json").read_text()):
        assert record["latex"].count("{") == record["latex"].count("}"), record["id"]
        assert record["latex"].count(r"\left") == record["latex"].count(r"\right"), record["id"]


@pytest.mark.parametrize("model", ["tied_attention", "tied_attention_two_bulks"])
def test_balls_hold_the_oracles(model):
    from flint import acb, arb, fmpq

    from numeric.maths.balls import working

    folder = emit.folder(model)
    by_name = {i: (f, k) for _, f in functions(derive(load(model))) for k, i in enumerate(f.equation_ids())}
    balls = load_source((folder / "balls.py").read_text())

    def enclose(text):
        real, imaginary = (fmpq(int(part.p), int(part.q)) for part in sp.sympify(text).as_real_imag())
        return acb(real, imaginary) if imaginary != 0 else arb(real)

    with working(230):
        for name, entries in json.loads((folder / "oracles.json").read_text())["values"].items():
            function, k = by_name[name]
            for entry in entries:
                value = getattr(balls, function.name)(*(enclose(text) for text in entry["inputs"].values()))
                value = acb(value[k] if isinstance(value, tuple) else value)
                real, imaginary = (str(part) for part in sp.sympify(entry["value"]).as_real_imag())
                stated = acb(arb(real), arb(imaginary))
                # The stated value is rounded to 50 digits; the ball holds the exact one.
                assert (value - stated).abs_lower() <= arb(10) ** -48 * (1 + stated.abs_upper()), name
                assert float(value.rad()) < 1e-50 * (1 + float(stated.abs_upper())), name


def test_header_states_the_rounding_of_float64_code():
    header = (FOLDER / "float64.py").read_text().split('"""')[0]
    assert "proven to first order" in header and "sampled at 1000 points" in header


def test_code_that_errs_by_more_than_its_bound_is_refused(files):
    from derive.code.proofs import accuracy
    from derive.language.step import DerivationError

    wrong = files["float64.py"].replace("ROUNDING = 2.0**-50", "ROUNDING = 2.0**-70")
    with pytest.raises(DerivationError, match="times its bound"):
        accuracy.statements(MODEL.target, derive(MODEL), wrong, files["balls.py"])


g, kappa0, r = sym("g kappa0 r")


@pytest.mark.parametrize(
    ("z", "rule"),
    [
        (2 / g + kappa0 / (r - g), "total mass one"),
        (1 / g - kappa0 / (r - g), "not positive"),
        (1 / g + kappa0 / (-r - g), "negative eigenvalues"),
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
