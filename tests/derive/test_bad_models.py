"""Model files that are none: each is refused in one line with file, field, rule and way out, and
stops no other model.
"""

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from derive import models
from derive.__main__ import main
from derive.code import manifest
from derive.language.errors import ModelError
from derive.language.index import CrossScores, SymmetricScores
from derive.language.notation import BY_NAME, SETTINGS
from derive.language.setting import notation_of, setting

HEAD = """from dataclasses import replace
import sympy as sp
from derive.language.channel import *
from derive.language.index import CrossScores, SymmetricScores
from derive.language.model import Model
from derive.language.notation import sym
from derive.language.setting import setting
from derive.models.cross_attention import MODEL as CROSS
from derive.models.quadratic_network import MODEL as BASE
"""


def with_channel(output="identity", loss="square_loss", **stated):
    more = "".join(f", {name}={value}" for name, value in stated.items())
    channel = f"Channel({output}, {loss}{more})"
    return f"{HEAD}MODEL = replace(BASE, name='bad', title='t', channel={channel})\n"


def of_two_tokens(output="row_softmax", loss="cross_entropy", **stated):
    """The same, of two tokens."""
    return with_channel(output, loss, **stated).replace(
        "replace(BASE,", "replace(BASE, index=SymmetricScores(2),"
    )


BAD = {
    "function without code in the output": (
        with_channel("lambda h: [sp.erf(h[0])]"),
        "line 10: channel: output: erf is not a function of generated code; use sqrt, tanh, "
        "exp, log, Logistic,",
    ),
    "function without code in the loss": (
        with_channel(loss="lambda o, y: sp.cosh(sp.gamma(o[0] - y[0]))"),
        "line 10: channel: loss: gamma is not a function of generated code",
    ),
    "cases without a last one": (
        with_channel(
            loss="lambda o, y: sp.Piecewise((0, o[0] > y[0]), (y[0] - o[0], o[0] < y[0] - 1))"
        ),
        "line 10: channel: loss: Piecewise has no last case, and no value where none of its",
    ),
    "label that is stated twice": (
        with_channel(label="sign", drawn="row_softmax"),
        "line 10: channel: both label and drawn are given, but a label is a function of the index",
    ),
    "label that sees nothing": (
        with_channel(label="lambda h: [sp.Integer(1)]"),
        "channel: label [1] does not depend on the index, so that nothing is learned",
    ),
    "label that is one number": (
        with_channel(label="lambda h: sp.sign(h[0])"),
        "channel: label sign(h11) is a single number; give a list of numbers, [sign(h11)]",
    ),
    "label and loss that do not fit": (
        with_channel(label="lambda h: [h[0], h[0]]"),
        "channel: loss of 1 outputs and 2 numbers of the label: zip() argument 2 is longer than",
    ),
    "loss that does not see the label": (
        with_channel(label="sign", loss="lambda o, y: o[0] ** 2"),
        "channel: loss o1**2 does not depend on the label y1, y2, ..., so that nothing is learned",
    ),
    "probabilities that do not add up": (
        with_channel(drawn="lambda h: [1 / (1 + sp.exp(h[0]))]"),
        "channel: drawn: probabilities [Logistic(-h11)] do not add up to 1; give those of all",
    ),
    "probability above one": (
        with_channel(drawn="lambda h: [h[0], 1 - h[0]]", loss="lambda o, y: (o[0] - y[0]) ** 2"),
        "channel: drawn: number 1, h11, is not a probability; give numbers of [0, 1]",
    ),
    "flips of a label with many values": (
        with_channel(flips="sp.Rational(1, 10)"),
        "channel: flips = 1/10, but label [h11] has more than a few values; flip signs or classes",
    ),
    "flips of all labels": (
        with_channel(label="sign", flips="sp.Integer(1)"),
        "channel: flips = 1 must be a share below 1; try 1/10",
    ),
    "noise on a class": (
        with_channel(label="sign", noise_on_label="sp.Rational(1, 10)"),
        "channel: noise_on_label = 1/10, but the label has a few values only; give flips instead",
    ),
    "label of scores that the output does not see": (
        of_two_tokens("lambda h: [h[0]]", "square_loss", label="lambda h: [sp.sign(h[1])]"),
        "the label is independent of all that the output sees; give an output and a label of",
    ),
    "kink of several indices": (
        of_two_tokens("identity", loss="lambda o, y: sp.Max(0, o[0] - y[0] + o[1]) + o[2] ** 2"),
        "in a block of 2 visible indices; kinks are derived for one visible index, as of one token",
    ),
    "kink that is not straight": (
        with_channel(loss="lambda o, y: abs(o[0] ** 2 - y[0])"),
        "= 0, which is not linear in the index; give an output that is linear in the index",
    ),
    "loss without a lower bound at a class": (
        with_channel(label="sign", loss="lambda o, y: -y[0] * o[0]"),
        "is not bounded below: it falls to",
    ),
    "penalty that is a number": (
        f"{HEAD}MODEL = replace(BASE, name='bad', matrix=replace(BASE.matrix, linear=1))\n",
        "line 10: matrix: linear = 1 does not vanish with the weight decay lambda_; multiply it by "
        "lambda_",
    ),
    "three free Poisson parts": (
        f"{HEAD}from derive.language.target import Target\n"
        "g, kappa0, r1, r2 = sym('g kappa0 r1 r2')\n"
        "law = Target('three', g, 1 / g + sum(kappa0 / (k - g) for k in (1, 2, 3)), ())\n"
        "MODEL = replace(BASE, name='bad', title='t', target=law)\n",
        "3 free Poisson parts, at most 2 are derived; leave some out",
    ),
    "syntax error": ("MODEL = = 3\n", "line 1: not Python"),
    "null byte": ("MODEL = None\x00\n", "not Python"),
    "no model": ("x = 1\n", "MODEL: missing"),
    "something else": ("MODEL = 3\n", "MODEL: has type int"),
    "missing part": (
        f"{HEAD}MODEL = Model(name='bad', title='t', matrix=BASE.matrix, target=BASE.target, "
        "index=BASE.index)\n",
        "Model: 'channel' missing",
    ),
    "unknown part": (f"{HEAD}MODEL = replace(BASE, name='bad', los=3)\n", "Model: has no los"),
    "part of another type": (
        f"{HEAD}MODEL = replace(BASE, name='bad', channel='softmax')\n",
        "channel: has type str",
    ),
    "name of another": (
        f"{HEAD}MODEL = BASE\n",
        "name 'quadratic_network': must equal the name of the file",
    ),
    "floats in the output": (with_channel("lambda h: [0.5 * h[0]]"), "channel: output"),
    "floats in the loss": (
        with_channel(loss="lambda o, y: 0.5 * (o[0] - y[0]) ** 2"),
        "has floats",
    ),
    "concave loss": (
        with_channel(loss="lambda o, y: -((o[0] - y[0]) ** 2)"),
        "is not bounded below",
    ),
    "loss that noise on the label leaves without a bound": (
        f"{HEAD}MODEL = replace(BASE, name='bad', channel=Channel("
        "lambda h: [1 / (1 + sp.exp(-h[0]))], "
        "lambda o, y: -y[0] * sp.log(o[0]) - (1 - y[0]) * sp.log(1 - o[0]), "
        "noise_on_label=sp.Rational(1, 10)))\n",
        "is not bounded below",
    ),
    "rank of nothing": (
        f"{HEAD}MODEL = replace(BASE, name='bad', matrix=replace(BASE.matrix, rank_ratio=None))\n",
        "rank_ratio = None is not an expression",
    ),
    "linear loss": (with_channel(loss="lambda o, y: o[0] - y[0]"), "is not bounded below"),
    "slowly falling loss": (
        with_channel(loss="lambda o, y: -sp.log(1 + o[0] ** 2)"),
        "is not bounded below",
    ),
    "saddle": (
        f"{HEAD}MODEL = replace(BASE, name='bad', index=SymmetricScores(2), "
        "channel=Channel(identity, lambda o, y: (o[0] - o[3]) ** 2 - (o[1] + o[0]) * o[3]))\n",
        "is not bounded below",
    ),
    "loss that is not real": (with_channel(loss="cross_entropy"), "not a real number"),
    "law of another class": (
        f"{HEAD}MODEL = replace(BASE, name='bad', target=CROSS.target)\n",
        "negative eigenvalues",
    ),
    "unknown name": (f"{HEAD}(foo,) = sym('foo')\n", "'foo' is not in the notation table"),
    "unknown symbol": (
        with_channel(loss="lambda o, y: sp.Symbol('foo') * (o[0] - y[0]) ** 2"),
        "loss: foo is not in",
    ),
    "symbol of the theory": (
        with_channel(loss="lambda o, y: sym('delta')[0] * (o[0] - y[0]) ** 2"),
        "no setting",
    ),
    "symbol of the same name": (
        with_channel(loss="lambda o, y: sp.Symbol('mu') * (o[0] - y[0]) ** 2"),
        "write sym('mu')",
    ),
    "setting that the notation has": (
        f"{HEAD}mu = setting('mu', 'x')\n",
        "setting 'mu': the notation has it",
    ),
    "no such part of the project": (
        "from derive.language.channel import nothing\n",
        "import: cannot import name 'nothing'",
    ),
    "no such package": ("import no_such_package\n", "import: No module named"),
    "exception inside": (
        f"{HEAD}def loss(o, y):\n    raise "
        f"RuntimeError('oh\\nno')\n\n\n{with_channel(loss='loss')[len(HEAD) :]}",
        "line 11: raises RuntimeError: oh no",
    ),
    "it leaves": ("import sys\nsys.exit(0)\n", "line 2: raises SystemExit"),
    "nonsense index": (
        f"{HEAD}MODEL = replace(BASE, name='bad', index=SymmetricScores(1, 1))\n",
        "SymmetricScores",
    ),
    "index of no geometry": (
        f"{HEAD}from derive.language.index import Index\nMODEL = replace(BASE, name='bad', "
        "index=Index(1, 1))\n",
        "Index is not a geometry; give SymmetricScores(tokens), CrossScores(queries, keys) or "
        "MaskedScores(tokens)",
    ),
    "too many tokens": (
        f"{HEAD}MODEL = replace(BASE, name='bad', index=SymmetricScores(9))\n",
        "from 1 to 8",
    ),
    "one number by itself": (with_channel("lambda h: h[0, 0]"), "give a list of numbers"),
    "too many numbers": (with_channel("lambda h: [h[0, 0]] * 65"), "at most 64"),
}


@pytest.fixture
def command(monkeypatch, capsys):
    """`python -m derive ...` in this process: exit code, stdout and stderr."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["derive", *arguments])
        try:
            code = main()
        except SystemExit as stop:
            code = stop.code
        return code, *capsys.readouterr()

    return run


@pytest.mark.parametrize("what", BAD)
def test_a_bad_file_is_refused_in_one_line(what, model_file, command):
    text, words = BAD[what]
    model_file("bad", text)
    code, out, err = command("gen", "bad")
    assert code == 2
    assert err.startswith("derive/models/bad.py") and words in err and err.count("\n") == 1, err
    assert out == ""


@pytest.mark.slow
def test_a_bad_file_stops_no_other_model(model_file, command, tmp_path, monkeypatch):
    monkeypatch.setattr(manifest, "GENERATED", tmp_path / "generated")
    models.load("direct_general")  # and the models that it starts from, which stay imported
    model_file("bad", "MODEL = = 3\n")
    model_file("direct_general", Path(models.__file__).with_name("direct_general.py").read_text())
    monkeypatch.setattr(models, "__path__", models.__path__[-1:])
    printed = {}
    for arguments, code in (
        (("list",), 0),
        (("gen",), 2),
        (("check", "--json"), 2),
        (("diff",), 2),
        (("explain", "overlaps.m"), 0),
    ):
        found, out, err = printed[arguments[0]] = command(*arguments)
        assert found == code, arguments
        assert "derive/models/bad.py, line 1: not Python" in err
        assert "overlaps" in out or "direct_general" in out
    document = json.loads(printed["check"][1])
    assert [report["model"] for report in document["models"]] == ["direct_general"]
    assert document["problems"] == [] and list(document["refused"]) == ["bad"]


def test_what_no_pass_covers_is_said_in_one_line(model_file, command):
    model_file(
        "bad", with_channel(loss="lambda o, y: ((o[0] - y[0]) ** 2 + 1) ** sp.Rational(1, 3)")
    )
    code, _, err = command("gen", "bad")
    lines = [line for line in err.splitlines() if not line.startswith("derive: ")]
    assert code == 2 and len(lines) == 1
    assert lines[0].startswith("derive/models/bad.py: cannot be derived:")


@pytest.mark.parametrize("name", ["two-words", "class", "Upper", "shared"])
def test_files_whose_name_no_package_can_have_are_refused(name, model_file):
    model_file(name, "")
    with pytest.raises(ModelError, match=rf"derive/models/{name}\.py: name"):
        models.load(name)


NUMBERS = st.one_of(st.integers(-3, 9), st.floats(), st.booleans(), st.text(max_size=2), st.none())


@given(NUMBERS, NUMBERS)
def test_an_index_is_made_of_whole_numbers_or_refused(rows, columns):
    for build, given_ in ((SymmetricScores, (rows,)), (CrossScores, (rows, columns))):
        if all(type(one) is int and 1 <= one <= 4 for one in given_):
            assert len(build(*given_).entries) == len({*build(*given_).entries})
        else:
            with pytest.raises(ModelError, match="whole number from 1 to 8"):
                build(*given_)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("lambda", "x"), "must be a Python name"),
        (("two words", "x"), "must be a Python name"),
        (("x3", "x"), "generated code uses"),
        (("logistic", "x"), "generated code uses"),
        (("np", "x"), "generated code uses"),
        (("kappa0", "x"), "the notation has it"),
        (("width", " "), "meaning is empty"),
        (("width", "x", "1 2"), "three exact values"),
        (("width", "x", "1 2 three"), "three exact values"),
        (("width", "x", "0 1 2"), "inside its domain"),
        (("width", "x", "1/2 1/3 1/4", "0..1"), "not an interval"),
        (("width", "x", "1/2 1/3 1/4", "(1, 0)"), "is empty"),
    ],
)
def test_settings_that_cannot_be_are_refused(arguments, words):
    with pytest.raises(ModelError, match=words):
        setting(*arguments)


def test_settings_of_two_models_do_not_meet():
    """Each carries its own row: the same name means something else in another file, and the table
    knows neither.
    """
    one, other = (
        setting("width", "of a kink"),
        setting("width", "of a plateau", "1/3 1/2 2/3", "(0, 1)"),
    )
    assert one != other and one == setting("width", "of a kink")
    assert (notation_of(one).meaning, notation_of(other).meaning) == ("of a kink", "of a plateau")
    assert "width" not in BY_NAME
    assert (
        one.is_positive
        and setting("bias", "of either sign", domain="(-inf, inf)").is_positive is None
    )


def test_settings_are_in_the_table():
    assert all(BY_NAME[name].meaning for name in SETTINGS)
