"""The command line and the report: one line for bad input, one document for --json, whole files
only.
"""

import csv
import dataclasses
import json
import math
import re

import numpy as np
import pytest
import torch
from devices import needs_cuda

from attention_erm.runtime.errors import InvalidParameter
from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Parametrisation, Problem
from numeric.studies.spectrum import LearnedSpectrum
from verify.__main__ import build_parser, main
from verify.core.campaign import Campaign
from verify.core.cross_validation import DecayChoice, DecaySearch
from verify.core.data import DataKind
from verify.core.decay_choice import ChoiceGroup, against_factors
from verify.core.minimise import DescentStatus
from verify.core.options import result_store
from verify.core.output import write_file
from verify.core.paper import figure_one
from verify.core.pool import Pool
from verify.core.run import Run
from verify.core.spectra import distance, zero_fraction
from verify.main_job.page import MainReport
from verify.main_job.plan import CPU_BELOW, Plan, preset
from verify.main_job.run import sections
from verify.studies.learning_curves import campaigns
from verify.studies.thresholds.crossing import SizePoints, TheoryCurve, find_crossing
from verify.studies.thresholds.section import threshold_section
from verify.studies.thresholds.study import (
    ThresholdEstimate,
    ThresholdOutcome,
    ThresholdPlan,
)

SMALL = ["--dim", "16,24", "--runs", "4", "--alpha", "1", "--lambda", "0.05", "--workers", "2"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["curve", "--kappa0", "0"], "--kappa0 0: must be positive"),
        (["curve", "--lambda", "0"], "--lambda 0: the theory needs weight decay"),
        (["curve", "--runs", "8,8,8"], "--runs 8,8,8: must be one number or 2"),
        (["curve", "--data", "gaussian-equivalent", "--dim", "300,400"], "--dim 300: .* GiB"),
        (["figure", "7"], "argument figure 7: is unknown; use one of 1,2,3,4,5,6"),
        (["figure", "1", "--runs", "8,8,8"], "--runs 8,8,8: must be one number or 2"),
        (["cross-validate", "--parametrisation", "free"], "--parametrisation free: is unknown"),
        (
            ["cross-validate", "--decays", "1,0.1,0.01"],
            "--decays .*: must be three or more, positive and increasing",
        ),
        (
            ["curve", "--model", "quadratic_network", "--tokens", "3"],
            "--tokens 3: is for tied attention",
        ),
        (["curve", "--model", "nowhere"], "--model 'nowhere'"),
        (
            ["models", "--model", "mine", "--alpha", "1"],
            "--model 'mine': is not a generated model; .* derive gen mine`",
        ),
        (
            ["models", "--model", "mine", "--alpha", "1", "--settings", "steep=1"],
            "--model 'mine': is not a generated model",
        ),
        (
            ["models", "--model", "tied_atention", "--alpha", "1"],
            "--model 'tied_atention': .*; use tied_attention, or",
        ),
        (
            ["models", "--model", "tied_attention_two_bulks", "--alpha", "1"],
            "is not a model with a target of rank kappa0",
        ),
        (
            ["models", "--model", "quadratic_network", "--lambda", "1"],
            "--lambda 1: is part of a setting",
        ),
        (["exponents", "--gamma", "1/2"], "--gamma 1/2: must exceed 1/2"),
        (["exponents", "--cell", "width"], "--cell width: is not a cell; use decay or noise"),
        (["exponents", "--runs", "6,6"], "--runs 6,6: must be one number or 3"),
        (["exponents", "--dim", "50"], "--dim 50: must lie from 100"),
        (["exponents", "--hidden", "300", "--dim", "200"], "--hidden 300: must be 1 to d = 200"),
        (["exponents", "--dim", "2000", "--cell", "decay"], "--dim 2000: .* GiB"),
        (["exponents", "--theory-gamma-off=-1/4"], "--theory-gamma-off -1/4: brings gamma to 1/2"),
        (["--theory-noise-factor", "0"], "--theory-noise-factor 0: must be positive"),
        (["models", "--dim", "12"], "--dim 12: results are extrapolated from 2 sizes or more"),
        (["--out", "/dev/null/report"], "--out /dev/null/report: cannot be written"),
        (["published", "--out", "/dev/null"], "--out /dev/null: cannot be written"),
        (["width", "--out", "/dev/null"], "--out /dev/null: cannot be written"),
        (["models", "--out", "/dev/null"], "--out /dev/null: cannot be written"),
        (["width", "--alpha", "1e6"], "--alpha 1000000.0: asks for .* GiB"),
        (["curve", "--tokens", "100"], "--tokens 100: must be an integer from 2 to 12"),
    ],
)
def test_bad_input_is_named_with_its_rule(arguments, message):
    with pytest.raises(InvalidParameter, match=message):
        main(arguments)


def test_every_command_shows_an_example(capsys):
    names = re.search(r"{([\w,-]+)}\n", build_parser().format_usage()).group(1).split(",")
    assert len(names) > 12
    for command in ([], *([name] for name in names)):
        with pytest.raises(SystemExit) as end:
            build_parser().parse_args([*command, "--help"])
        assert end.value.code == 0
        assert "example: python -m verify" in capsys.readouterr().out


def test_curve_prints_one_document_and_shuffling_makes_it_fail(tmp_path, capsys):
    codes = [
        main(["curve", *SMALL, "--out", str(tmp_path), "--json", *extra])
        for extra in ([], ["--shuffle-labels"])
    ]
    assert codes == [0, 1]
    decoder = json.JSONDecoder()
    text = capsys.readouterr().out
    good, end = decoder.raw_decode(text)
    broken = json.loads(text[end:])
    assert good["agrees"]
    assert not broken["agrees"]
    assert {p["quantity"] for p in good["points"]} == {"m", "q", "train_error", "test_error"}


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_device_that_is_not_there_is_named():
    with pytest.raises(InvalidParameter, match="--device cuda: needs a CUDA device"):
        main(["curve", *SMALL, "--device", "cuda"])


@pytest.mark.parametrize("name", ["main", "quick", "paper"])
def test_a_main_job_on_a_device_leaves_small_heads_to_the_cpu(name):
    plan = preset(name, figure_one().varied(device="cuda"))
    runs = [run for campaign in plan.campaign_plan().campaigns for run in campaign.runs(plan.base)]
    spectra = [run for group in plan.spectrum_plan().runs() for run in group]
    assert {run.device for run in (*runs, *spectra) if run.dim < CPU_BELOW} <= {"cpu"}
    assert {run.device for run in (*runs, *spectra) if run.dim >= CPU_BELOW} <= {"cuda"}
    assert plan.exponent_plan().device == "cuda"
    assert {base.device for base in plan.threshold_plan().bases} <= {"cpu"}
    assert plan.scaling_plan().base.device == "cpu"


@pytest.mark.gpu
@needs_cuda
def test_a_gpu_trains_what_a_cpu_does(tmp_path, capsys):
    """In one batch for each size, stored run by run beside those of the CPU."""
    for device in ("cpu", "cuda"):
        main(["curve", *SMALL, "--out", str(tmp_path), "--device", device])
    found = [json.loads(line) for line in result_store(tmp_path).path.read_text().splitlines()]
    on = {
        device: [one for one in found if one["run"]["device"] == device]
        for device in ("cpu", "cuda")
    }
    assert len(on["cpu"]) == len(on["cuda"]) == 8
    for result in on["cuda"]:
        (other,) = (one for one in on["cpu"] if one["run"] == {**result["run"], "device": "cpu"})
        assert result["status"] == other["status"] == DescentStatus.CONVERGED.name
        assert (result["m"], result["q"]) == pytest.approx((other["m"], other["q"]), rel=2e-5)


@pytest.mark.slow
def test_cross_validation_finds_factors_better_and_says_when_they_are_not(tmp_path, capsys):
    """Direct training at few samples of a target of low rank is far worse; with its labels shuffled
    nothing is better than S = 0.
    """
    arguments = [
        "cross-validate",
        "--alpha",
        "0.3",
        "--dim",
        "12",
        "--runs",
        "3",
        "--kappa0",
        "0.1",
        "--folds",
        "3",
        "--decays",
        "0.003:3:5",
        "--workers",
        "2",
        "--out",
        str(tmp_path),
        "--json",
    ]
    assert main(arguments) == 0
    document = json.loads(capsys.readouterr().out)
    errors = {point["parametrisation"]: point["test_error"] for point in document["points"]}
    assert errors["factorised"] < errors["symmetric"]
    assert errors["factorised"] < errors["general"]
    assert [item["z"] > 0 for item in document["direct_against_factorised"]] == [True, True]
    assert all(len(point["lambdas"]) == 3 for point in document["points"])


def test_the_verdict_turns_when_factors_lose():
    search = DecaySearch(Run(Problem(1.0, MarchenkoPastur(0.5), 1.0, 0.5), dim=8), (0.1, 0.2, 0.3))
    groups = [
        ChoiceGroup(
            1.0,
            8,
            what,
            tuple(
                DecayChoice(
                    search,
                    (),
                    (),
                    0.2,
                    1,
                    1,
                    1,
                    error + 0.001 * i,
                    1,
                    DescentStatus.CONVERGED,
                    0.0,
                    1,
                    0.0,
                )
                for i in range(8)
            ),
        )
        for what, error in ((Parametrisation.FACTORISED, 0.2), (Parametrisation.SYMMETRIC, 0.1))
    ]
    groups[1] = dataclasses.replace(
        groups[1], choices=groups[1].choices[::-1]
    )  # so that differences scatter
    assert not against_factors(groups[1], groups)["agrees"]
    assert against_factors(dataclasses.replace(groups[1], choices=groups[0].choices[::-1]), groups)[
        "agrees"
    ]


def thresholds_seen_at(ratio):
    """Of one setting, the root of the loss ending at a multiple of the proven threshold."""
    plan = ThresholdPlan((figure_one(),), ((20, 6), (40, 6)))
    case, rng = next(plan.cases()), np.random.default_rng(0)
    alphas = case.alphas(case.kind.multiples)
    roots = alphas - float(case.threshold())
    points, beyond = (
        tuple(
            SizePoints(dim, alphas[: len(root)], root + 1e-3 * rng.standard_normal((6, 1)))
            for dim in (20, 40)
        )
        for root in (roots - (ratio - 1) * float(case.threshold()), np.zeros(1))
    )
    crossing = find_crossing(
        points, TheoryCurve(alphas, roots, np.zeros(3)), float(case.threshold()), 0
    )
    return ThresholdOutcome(
        plan,
        (
            ThresholdEstimate(
                case,
                case.threshold(),
                None,
                points,
                TheoryCurve(alphas, roots, np.zeros(3)),
                crossing,
                beyond,
                0,
            ),
        ),
        {},
    )


def test_the_report_stands_alone(tmp_path, monkeypatch):
    """And is readable after each section."""
    monkeypatch.setattr(campaigns, "CURVE_POINTS", 4)
    base = Run(Problem(1.0, MarchenkoPastur(0.5), 0.05, 0.5), dim=24)
    campaign = Campaign(DataKind.SEQUENCES, ((16, 4), (24, 4)), (1.0, 2.0), (1.0,))
    plan = Plan(base, (campaign,), ((1.0, 24, 4),))
    report, pages = MainReport(tmp_path, {"seed": 0}, write_file), []
    with Pool(2, progress=False) as pool:
        for section in sections(plan, tmp_path, pool):
            report.add(section)
            pages.append((tmp_path / "index.html").read_text())
    titles = [section.title.split(",")[0] for section in report.sections]
    assert titles[0] == "Thresholds"
    assert sorted(titles[1:]) == [  # in the order in which they are done
        "Learning curve of the theory (Figure 1)",
        "Spectra of trained heads",
        "Trained heads along the sample ratio",
    ]
    assert all("Running: partial results; theory and training" in text for text in pages)
    report.add(threshold_section(thresholds_seen_at(1.0)))
    agrees = report.agrees
    report.write_page(finished=True)
    page = (tmp_path / "index.html").read_text()
    assert page.count("data:image/png;base64,") == 4
    assert "interpolation threshold" in page and "<math" in page
    assert "http" not in page.replace("http://www.w3.org/1998/Math/MathML", "")
    assert report.sections[-1].document["agrees"]
    assert (
        len(report.sections[0].document["thresholds"]["interpolation"]["value"].strip("0.")) >= 50
    )
    report.add(threshold_section(thresholds_seen_at(1.3)))
    assert agrees and not report.agrees  # whatever else agrees
    assert {path.name for path in tmp_path.glob("*.png")} == {
        "curve.png",
        "spectra.png",
        "scores.png",
        "thresholds.png",
    }


def test_a_campaign_varies_any_field_of_a_run():
    base = Run(Problem(1.0, MarchenkoPastur(0.5), 0.05, 0.5), dim=24)
    varied = ({"tokens": 3}, {"beta": 2.0, "lambda_": 0.1}, {"parametrisation": "symmetric"})
    runs = Campaign(DataKind.SEQUENCES, ((16, 1), (24, 2)), (1.0,), (1.0,), varied).runs(base)
    assert len(set(runs)) == len(runs) == 9
    assert {
        (p.tokens, p.beta, p.lambda_, str(p.parametrisation)) for p in (r.problem for r in runs)
    } == {(3, 1.0, 0.05, "factorised"), (2, 2.0, 0.1, "factorised"), (2, 1.0, 0.05, "symmetric")}


def test_spectrum_runs_of_the_main_job_are_those_of_its_curve():
    plan = preset("main", figure_one())
    campaign = set(plan.campaigns[0].runs(plan.base))
    assert [set(runs) <= campaign for runs in plan.spectrum_plan().runs()] == [
        True,
        True,
        True,
        False,
    ]
    assert all(
        math.isclose(w * d, round(w * d))
        for c in plan.campaigns
        for d, _ in c.sizes
        for w in c.widths
    )


def test_distance_sees_a_shift_and_not_the_sampling():
    grid = np.linspace(1, 2, 400)  # uniform on [1, 2], half of the mass at zero
    law = LearnedSpectrum(0.5, grid, np.full(400, 0.5), ((1.0, 2.0),), (), 7 / 6, 0.0)
    values = np.concatenate([np.zeros(50), 1 + (np.arange(50) + 0.5) / 50])[None]
    assert zero_fraction(values) == 0.5
    assert distance(law, [values]) < 1e-10
    assert distance(law, [np.where(values > 0, values + 0.2, 0)]) == pytest.approx(0.1, abs=0.01)


@pytest.mark.slow
def test_another_model_gives_a_verdict_and_a_page(tmp_path, capsys):
    """By either command; the page needs no other file, and labels shuffled on purpose turn the
    verdict.
    """
    arguments = [
        "--model",
        "quadratic_network",
        "--alpha",
        "1",
        "--dim",
        "12,18",
        "--runs",
        "12",
        "--workers",
        "1",
    ]
    assert main(["models", *arguments, "--out", str(tmp_path), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    (found,) = document["models"]
    assert (document["agrees"], found["model"], len(found["points"])) == (
        True,
        "quadratic_network",
        5,
    )
    page = (tmp_path / "models" / "quadratic_network.html").read_text()
    assert "data:image/png;base64," in page
    assert (
        "Theory and simulation agree." in page
        and "python -m verify models --model quadratic_network" in page
    )
    rows = list(
        csv.DictReader((tmp_path / "models" / "quadratic_network.csv").read_text().splitlines())
    )
    assert len(rows) == 5 * 2 and all(
        row["model"] == "quadratic_network" and row["verdict"] == "agrees" for row in rows
    )
    first = next(row for row in rows if (row["quantity"], row["dim"]) == ("m", "12"))
    assert (first["width"], first["parametrisation"]) == (
        "1.0",
        "factorised",
    ) and "beta" not in first
    assert (
        float(first["trained"]) == found["points"][0]["sizes"][0]["simulation"]
        and float(first["lambda"]) > 0
    )
    assert (
        main(["curve", *arguments, "--lambda", "1/20", "--out", str(tmp_path), "--shuffle-labels"])
        == 1
    )
    assert "DISAGREES" in capsys.readouterr().out
