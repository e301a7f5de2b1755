"""Malformed input of every command: one line that names the argument, and exit code 2."""

import argparse
from pathlib import Path

import pytest

from attention_erm.cli.exit import run_to_exit
from attention_erm.runtime.errors import InvalidParameter
from derive import __main__ as derive
from numeric import __main__ as numeric
from verify import __main__ as verify

PROGRAMS = {"derive": derive, "numeric": numeric, "verify": verify}
LAW = "--kappa0 .5 --noise .5"
WORDS = Path(__file__).parents[1] / "data" / "word_vectors.npy"
POWERS = "--power-law 1 --dim 50 --lambda 1 --samples 9 --noise 1"
MALFORMED = """
numeric
numeric curve
numeric curves --alpha 1
numeric curve --alpha 1 LAW --lambda .05 --model quadratic_netwrk
numeric curve --alpha 1 LAW --lambda .05 --model nowhere/model.py
numeric curve --alpha 1 LAW --lambda .05 --model .
numeric curve --alpha 1 LAW --lambda .05 --settings kappa1
numeric curve --alpha 1 LAW --lambda .05 --settings kappa1=1
numeric curve --alpha 1 LAW --lambda .05 --plot curve.xyz
numeric curve --alpha 1 LAW --lambda .05 --plot /nowhere/curve.png
numeric curve --alpha 1 LAW --lambda .05 --plot curve.png --style nostyle
numeric curve --alpha 1 LAW --lambda .05 --digits 5 --plot curve.png
numeric curve --alpha 1 LAW --lambda .05 --digits 50
numeric curve --alpha 1 LAW --lambda .05 --csv /nowhere/x.csv
numeric curve --alpha 1 LAW --lambda .05 --config nowhere.toml
numeric curve --alpha 1 LAW --lambda .05 --eigenvalues 1,2 --dim 2
numeric curve --alpha 1 --lambda .05 --noise .5 --eigenvalues 1,2 --dim 1
numeric curve --alpha 1 --lambda .05 --noise .5 --eigenvalues -1,2 --dim 2
numeric curve --alpha 1 --lambda .05 --noise .5 --eigenvalues 1,2 --weights 1
numeric curve --alpha 1 --lambda .05 --noise .5 --eigenvalues 1,2 --weights .5,.6
numeric curve --alpha 1 --lambda .05 --noise .5 --power-law 3/4
numeric curve --alpha 1 --lambda .05 --noise .5 --power-law 3/4 --dim 100 --leading 200
numeric curve --alpha 1 LAW --lambda .05 --leading 3
numeric curve --alpha 1 LAW --lambda .05 --parametrisation symmetric --width .5
numeric curve --alpha 1 LAW --lambda .05 --parametrisation square
numeric curve --alpha 1 LAW --lambda .05 --accuracy 2
numeric curve --alpha 1 LAW --lambda .05 --tokens 3 --model quadratic_network
numeric curve --alpha 1 LAW --lambda .05 --beta 2 --model quadratic_network
numeric curve --alpha 1 LAW --lambda .05 --covariance power:-1 --dim 5
numeric curve --alpha 1 LAW --lambda .05 --covariance power:1/2
numeric curve --alpha 1 LAW --lambda .05 --covariance atoms:1
numeric curve --alpha 1 LAW --lambda .05 --covariance atoms:1:1/2
numeric curve --alpha 1 LAW --lambda .05 --covariance list:1,2
numeric curve --alpha 1 LAW --lambda .05 --covariance nowhere.npy
numeric curve --alpha 1 LAW --lambda .05 --tokens-file nowhere.npy
numeric curve --alpha 1 LAW --lambda .05 --covariance atoms:1:1 --digits 5
numeric curve --alpha 1 --lambda .05 --noise .5 --eigenvalues 1,2 --covariance list:1
numeric curve --alpha 1 --lambda .05 --noise .5 --eigenvalues 1,2 --covariance atoms:1:1
numeric curve --alpha 1 LAW --lambda 1 --covariance list:1 --model elastic_attention --settings mu=1
numeric bayes --alpha 1 LAW --covariance atoms:1/2:1/2,3/2:1/2
numeric curve --alpha 1 LAW --lambda .05 --vocabulary 0
numeric curve --alpha 1 LAW --lambda .05 --vocabulary many
numeric curve --alpha 1 LAW --lambda 0 --vocabulary 1/5
numeric curve --alpha 1 LAW --lambda .05 --vocabulary 1/5 --digits 5
numeric curve --alpha 1 LAW --lambda .05 --vocabulary 1/5 --model quadratic_network --digits 5
numeric curve --alpha 1 LAW --lambda .05 --vocabulary 1/5 --sample-minimum fitted
numeric curve --alpha 1 LAW --lambda .05 --vocabulary 1/5 --model cross_attention
numeric decompose --alpha 1 LAW --lambda .05 --vocabulary 1/5
numeric bayes --alpha 1 LAW --vocabulary 1/5
numeric curve --alpha 1 LAW --lambda .05 --norms -1
numeric curve --alpha 1 LAW --lambda .05 --norms unit
numeric curve --alpha 1 LAW --lambda .05 --norms nan
numeric curve --alpha 1 LAW --lambda 0 --norms fixed
numeric curve --alpha 1 LAW --lambda .05 --norms fixed --digits 5
numeric curve --alpha 1 LAW --lambda .05 --norms fixed --sample-minimum fitted
numeric decompose --alpha 1 LAW --lambda .05 --norms fixed
numeric curve --alpha 1 LAW --lambda .05 --model sign_quadratic_hinge --digits 5
numeric curve --alpha 1 LAW --lambda .05 --model hard_attention_cross_entropy --vocabulary 1/5
numeric decompose --alpha 1 LAW --lambda .05 --model phase_retrieval
numeric capacity LAW --model tied_attention
numeric reliability --alpha 1 LAW --lambda .1 --model sign_quadratic_hinge
numeric reliability --alpha 1 LAW --lambda .1 --model sign_quadratic_logistic --bins 0
numeric optimal-lambda --alpha 1 LAW --for misclassification
numeric optimal-lambda --alpha 1 LAW --for agreement
numeric bayes --alpha 1 LAW --model label_noise_attention --settings label_noise=.1
numeric capacity LAW --model sign_quadratic_hinge --lambda .1
numeric bayes --alpha 1 LAW --norms fixed
numeric threshold bayes --kappa0 1/2 --norms fixed
numeric threshold interpolation --kappa0 1/2 --noise 1 --norms fixed --width 1/2
numeric threshold recovery --kappa0 2 --norms fixed --model quadratic_network
numeric threshold recovery --kappa0 1/2 --norms fixed --covariance atoms:1/2:1/2,3/2:1/2
numeric phase-diagram --gamma 3/4 --covariance power:1
numeric scaling POWERS --covariance power:2
numeric scaling POWERS --covariance power:1/2 --leading 2
numeric phase-diagram --gamma 1/4 --covariance power:1/4
numeric phase-diagram --gamma 3/4 --covariance atoms:1:1
numeric curve --alpha 2:1 LAW --lambda .05
numeric curve --alpha 1:2:0 LAW --lambda .05
numeric curve --alpha 1:2:cubic LAW --lambda .05
numeric threshold interpolate --kappa0 .5 --noise 1
numeric threshold interpolation --noise 1
numeric threshold interpolation --kappa0 .5 --noise 0
numeric threshold recovery --kappa0 .5 --noise 1
numeric threshold bayes --kappa0 .5 --digits 0
numeric spectrum --alpha 1,2 LAW --lambda .05
numeric decompose --alpha 1 --kappa0 .5 --lambda .05
numeric optimal-lambda --alpha 1 LAW --tolerance 1
numeric scaling --gamma 1/4
numeric scaling --gamma 3/4 --samples 1e30
numeric exponents --gamma 1/2
numeric exponents --gamma 3/4,3/4:1
numeric phase-diagram --gamma 3/4 --points 0
numeric samples LAW --lambda .05
numeric samples LAW --lambda .05 --test-error .1 --excess .1
numeric samples LAW --lambda bestest --test-error .1
numeric recovery --kappa0 .5 --tokens 1
numeric sweep nowhere.toml
numeric sweep .
numeric bayes --alpha 1 LAW --parametrisation general
verify curve --alpha
verify curve --alpha 1 --dim 1
verify curve --alpha 1 --dim 20,20
verify curve --alpha 1 --dim 20 --runs 0
verify curve --alpha .5,.5001 --dim 12 --runs 2
verify width --alpha .5,.50001 --dim 12
verify curve --alpha 1 --dim 20 --runs 2 --lambda 0
verify spectrum --alpha 1 --dim 20 --runs 0
verify covariance --alpha 1 --dim 20 --runs 2
verify curve --alpha 1 --dim 20 --runs 2 --norms -1
verify curve --alpha 1 --dim 20 --runs 2 --norms fixed --parametrisation symmetric
verify covariance --alpha 1 --dim 20,30 --runs 2 --minimiser proximal
verify covariance-exponents --gamma 3/4,1
verify tokens
verify tokens nowhere.npy
verify tokens README.md
verify tokens WORDS --rows 5
verify tokens WORDS --rows 5:2
verify tokens WORDS --rows 0:20 --dim 24
verify tokens WORDS --dim 50
verify tokens WORDS --tensor x
verify tokens WORDS --lambda 0
numeric weights
numeric weights nowhere.safetensors
numeric weights README.md
numeric weights model.bin
numeric weights WORDS
numeric weights WORDS --query {layer}.q
numeric weights WORDS --query q --key k
numeric weights WORDS --query {layer}.q --key {layer}.k
numeric weights WORDS --heads 0
numeric weights WORDS --heads many
numeric weights WORDS --head 0
numeric weights WORDS --tensor x
verify exponents --covariance power:1/2 --hidden 8
verify exponents --covariance power:1/2 --theory-noise-factor 2
verify curve --model quadratic_network --covariance atoms:1/2:1/2,3/2:1/2
verify scaling --preset huge
verify models --model nonsense --alpha 1
verify models --model quadratic_network --alpha 1 --dim 20 --runs 1
verify exponents --cell corner
verify figure 99
verify thresholds --dim 10,
verify thresholds --vocabulary 1/100
verify thresholds --vocabulary 1/5 --parametrisation symmetric
verify vocabulary --vocabulary 0
verify vocabulary --vocabulary 1/100 --dim 20,30
verify models --model quadratic_network --alpha 1 --vocabulary 1/2
verify models --model quadratic_network --alpha 1 --vocabulary 1/100 --data sequences
numeric threshold interpolation --kappa0 1/2 --noise 1 --vocabulary 1/5 --norms fixed
numeric threshold interpolation --kappa0 1/2 --noise 1 --vocabulary 1/5 --model linear_attention
numeric threshold interpolation-limit --kappa0 1/2 --vocabulary 1/5
verify cross-validate --folds 1
verify --preset tiny
verify sweep nowhere.toml
derive
derive gen nowhere
derive gen nowhere.py
derive check tied_atention
derive explain
derive explain overlaps.z
derive explain overlaps.m --model nowhere
derive tex
derive tex nowhere
derive new tied_attention
derive new My-Model
derive diff nowhere
derive gen tied_attention --into /dev/null/x
"""
NO_NUMBERS = ("abc", "nan", "inf", "-inf", "", "1e999", "1,,2", "0x10", "1e", "--", "\u00bd")


@pytest.mark.parametrize("line", MALFORMED.strip().splitlines())
def test_malformed_input_gives_one_line_and_exit_code_2(line, monkeypatch, capsys, tmp_path):
    short = {"LAW": LAW, "POWERS": POWERS, "WORDS": str(WORDS)}
    program, *arguments = " ".join(short.get(word, word) for word in line.split()).split()
    monkeypatch.setattr("sys.argv", [program, *arguments])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("derive.cli.output.PATIENCE", 1e9)  # no line of progress on a slow machine
    with pytest.raises(SystemExit) as stop:
        run_to_exit(PROGRAMS[program].main)
    printed = capsys.readouterr()
    assert stop.value.code == 2
    assert printed.out == "" and printed.err.count("\n") == 1 and "Traceback" not in printed.err
    assert not list(tmp_path.iterdir())  # nothing is written


def options(parser, path=()):
    """All options of a parser and of its commands that read a text, with the command."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                yield from options(command, (*path, name))
        elif action.type not in (None, str):
            yield path, action


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_option_with_a_type_refuses_what_is_no_number(program):
    """Options of names and of lists of names refuse these texts too."""
    found = list(options(PROGRAMS[program].build_parser()))
    for path, action in found:
        for text in NO_NUMBERS:
            with pytest.raises(InvalidParameter):
                action.type(text)
                raise AssertionError(f"{program} {path} {action.option_strings} takes {text!r}")
    assert len(found) > 100 or program == "derive"
