"""Message passing as a command: beside the descent and the theory, and its verdict can turn."""

import json

import pytest

from attention_erm.runtime.errors import InvalidParameter
from verify.__main__ import main
from verify.studies.message_passing.study import ORDER_PARAMETERS, message_store

pytestmark = pytest.mark.usefixtures("no_workers")


def asked(*arguments):
    """Without steps beside state evolution, which are tested in messages/."""
    settings = ["--kappa0", "0.5", "--lambda", "0.05", "--noise", "0.5", "--steps", "0"]
    return ["message-passing", *settings, *arguments]


@pytest.mark.slow
def test_messages_end_where_the_theory_says(tmp_path, capsys):
    """Order parameters of the fixed point, V and Vh included, which no other way of training
    shows.
    """
    code = main(asked("--dim", "16,28", "--runs", "4", "--out", str(tmp_path), "--json"))
    (point,) = json.loads(capsys.readouterr().out)["points"]
    assert code == 0 and point["agrees"]
    assert [found["quantity"] for found in point["order_parameters"]] == list(ORDER_PARAMETERS)
    for found in point["order_parameters"]:
        # the comparison is sharp enough to mean something: errors below a tenth of the values
        assert found["sizes"][-1]["standard_error"] < 0.1 * found["sizes"][-1]["theory"]
        if found["descent"] is not None:
            assert found["descent"] == pytest.approx(found["sizes"][-1]["simulation"], rel=1e-3)
    assert len(message_store(tmp_path).path.read_text().splitlines()) == 8


@pytest.mark.slow
def test_broken_data_disagree_and_say_so(tmp_path, capsys):
    assert (
        main(asked("--dim", "10,14", "--runs", "4", "--out", str(tmp_path), "--shuffle-labels"))
        == 1
    )
    assert "alpha 1: DISAGREES; maps of messages and descent" in capsys.readouterr().out


def test_a_rank_limit_is_refused(tmp_path):
    with pytest.raises(InvalidParameter, match=r"--width 0.5: width < 1 is not supported"):
        main(asked("--width", "1/2", "--out", str(tmp_path)))
