"""The command line and the report: one line for bad input, one document for --json, whole files only."""

import dataclasses
import json
import math

import numpy as np
import pytest

from numeric.arguments import BadInput
from verify import job, report
from verify.__main__ import build_parser, main
from verify.data import DataKind
from verify.job import Campaign, Panel, Plan, carry_out, preset
from verify.run import Run, RunResult
from verify.spectra import distance, zero_fraction
from verify.store import Store

SMALL = ["--dim", "16,24", "--runs", "4", "--alpha", "1", "--lambda", "0.05", "--workers", "2"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["curve", "--kappa0", "0"], "--kappa0 0: must be positive"),
        (["curve", "--lambda", "0"], "--lambda 0: the theory needs weight decay"),
        (["curve", "--tokens", "3"], "--tokens 3: the theory is solved for two tokens"),
        (["curve", "--runs", "8,8,8"], "--runs 8,8,8: must be one number or 2"),
        (["curve", "--data", "gaussian-equivalent", "--dim", "300,400"], "--dim 300: .* GiB"),
        (["--out", "/dev/null/report"], "--out /dev/null/report: cannot be written"),
    ],
)
def test_bad_input_is_named_with_its_rule(arguments, message):
    with pytest.raises(BadInput, match=message):
        main(arguments)


def test_every_command_shows_an_example(capsys):
    for command in ([], ["curve"], ["spectrum"]):
        with pytest.raises(SystemExit) as end:
            build_parser().parse_args([*command, "--help"])
        assert end.value.code == 0
        assert "example: python -m verify" in capsys.readouterr().out


def test_curve_prints_one_document_and_shuffling_makes_it_fail(tmp_path, capsys):
    codes = [main(["curve", *SMALL, "--out", str(tmp_path), "--json", *extra]) for extra in ([], ["--shuffle-labels"])]
    assert codes == [0, 1]
    decoder = json.JSONDecoder()
    text = capsys.readouterr().out
    good, end = decoder.raw_decode(text)
    broken = json.loads(text[end:])
    assert good["agrees"]
    assert not broken["agrees"]
    assert {p["quantity"] for p in good["points"]} == {"m", "q", "train_error", "test_error"}


def test_the_report_stands_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(job, "CURVE_POINTS", 4)
    base = Run(dim=24, alpha=1.0, kappa0=0.5, width=1.0, lambda_=0.05, noise=0.5)
    campaign = Campaign(DataKind.SEQUENCES, ((16, 4), (24, 4)), (1.0, 2.0), (1.0,))
    outcome = carry_out(
        Plan(base, (campaign,), ((1.0, 24, 4),)), Store(tmp_path, RunResult), lambda stage: None, workers=2
    )
    report.write(outcome, tmp_path)
    page = (tmp_path / "index.html").read_text()
    assert page.count("data:image/png;base64,") == 3
    assert "<math" in page
    assert "http" not in page.replace("http://www.w3.org/1998/Math/MathML", "")
    document = json.loads((tmp_path / "report.json").read_text())
    assert document["agrees"] == outcome.agrees
    assert len(document["thresholds"]["interpolation"]["value"].strip("0.")) >= 50
    assert {p.name for p in tmp_path.iterdir()} == {
        "index.html", "report.json", "runs.jsonl", "curve.png", "spectra.png", "scores.png"
    }  # fmt: skip


def test_spectrum_runs_of_the_main_job_are_those_of_its_curve():
    plan = preset("main", "lbfgs", 0, "deterministic", "cpu", shuffle_labels=False)
    campaign = set(plan.campaigns[0].runs(plan.base))
    assert [set(runs) <= campaign for runs in plan.spectrum_runs()] == [True, True, True, False]
    assert all(math.isclose(w * d, round(w * d)) for c in plan.campaigns for d, _ in c.sizes for w in c.widths)


def test_distance_sees_a_shift_and_not_the_sampling():
    @dataclasses.dataclass
    class Law:  # uniform on [1, 2], half of the mass at zero
        x = np.linspace(1, 2, 400)
        density = np.full(400, 0.5)
        zero_mass = 0.5

    values = np.concatenate([np.zeros(50), 1 + (np.arange(50) + 0.5) / 50])
    exact = Panel(1.0, 100, Law(), values[None])
    assert zero_fraction(exact) == 0.5
    assert distance(exact) < 1e-10
    shifted = dataclasses.replace(exact, values=np.where(values > 0, values + 0.2, 0)[None])
    assert distance(shifted) == pytest.approx(0.1, abs=0.01)
