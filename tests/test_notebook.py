"""The notebook: it runs from top to bottom, and in a browser its numbers and figures follow the
sliders, without a network.
"""

import contextlib
import importlib.util
import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from numeric.laws.marchenko_pastur import MarchenkoPastur
from numeric.problem.problem import Problem
from numeric.problem.solution import Status, failed_solution

ROOT = Path(__file__).parents[1]
NOTEBOOK = ROOT / "docs" / "notebook" / "explore.py"
CHROMIUM = Path("/usr/bin/chromium")
#: So that the browser asks nobody but the notebook.
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PATIENCE = 120_000  # milliseconds: kernels may have to be compiled


@pytest.fixture(scope="module")
def notebook():
    """The notebook's app."""
    spec = importlib.util.spec_from_file_location("explore", NOTEBOOK)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.app


@pytest.mark.slow
def test_it_runs_from_top_to_bottom(notebook):
    started = time.monotonic()
    outputs, names = notebook.run()
    assert time.monotonic() - started < 180
    assert (
        len([output for output in outputs if output is not None]) == 6
    )  # a title, sliders, numbers and three figures
    assert names["point"].trusted and names["point"].problem.alpha == names["alpha"].value


def test_a_point_without_a_value_is_said_and_not_drawn(notebook):
    asked = Problem(1.0, MarchenkoPastur(0.5), 0.01, 0.5)
    lost = failed_solution(asked, Status.DIVERGED, float("inf"), 3)
    stated = {"solved": lambda *_: lost, "curve": lambda *_: [lost], "stated": (0.01, 0.5, 0.5)}
    outputs, _ = notebook.run(defs=stated)
    said = " ".join(output.text for output in outputs if output is not None)
    assert (
        said.count(">no value<") == 5 and "curve of 1 points, no value, and not drawn, at 1" in said
    )
    assert "the iteration left the domain" in said and "none at alpha = 1" in said
    assert said.count("<img") == 1


@pytest.fixture(scope="module")
def address():
    """Where the notebook is served."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--headless", "--no-token", "--host", "127.0.0.1", "--port", str(port)]
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "MARIMO_SKIP_UPDATE_CHECK": "1",
        "DO_NOT_TRACK": "1",
    }
    with subprocess.Popen(
        [sys.executable, "-m", "marimo", "run", str(NOTEBOOK), *options],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as server:
        try:
            found = f"http://127.0.0.1:{port}"
            for _ in range(600):
                assert server.poll() is None, "the server has ended"
                with (
                    contextlib.suppress(OSError),
                    urllib.request.urlopen(f"{found}/health", timeout=5),
                ):
                    break
                time.sleep(0.1)
            yield found
        finally:
            server.terminate()


@pytest.fixture
def page(address):
    """The notebook in a browser that reaches nothing else; `page.asked` lists what it wanted from
    elsewhere.
    """
    playwright = pytest.importorskip("playwright.sync_api")
    if not CHROMIUM.exists():
        pytest.skip(f"no browser at {CHROMIUM}")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=str(CHROMIUM), args=list(QUIET))
        page = browser.new_page(viewport={"width": 1100, "height": 2400})
        page.failures = []
        page.on("pageerror", lambda error: page.failures.append(str(error)))
        page.route(
            lambda url: (
                urlsplit(url).hostname not in (None, "127.0.0.1") and url.startswith("http")
            ),
            lambda route: route.abort(),
        )
        page.goto(address)
        yield page
        browser.close()


FIGURES = ("learned spectrum", "parts of the test error", "learning curve")


def figures(page):
    """Sources of the figures, once all are shown."""
    for what in FIGURES:
        page.get_by_alt_text(what).wait_for(timeout=PATIENCE)
    return [page.get_by_alt_text(what).get_attribute("src") for what in FIGURES]


def settled(page, alpha):
    """Wait until numbers, spectrum, parts and curve are those of a sample ratio."""
    for text in (
        "",
        "spectrum at ",
        "parts at ",
        "curve of 10 points, all with values; the slider is at ",
    ):
        page.get_by_text(f"{text}alpha = {alpha}", exact=True).first.wait_for(timeout=PATIENCE)


@pytest.mark.slow
def test_numbers_and_figures_follow_the_slider(page, tmp_path):
    settled(page, "1")
    before, numbers = figures(page), page.get_by_role("table").all_inner_texts()
    slider = page.get_by_role("slider").first
    slider.focus()
    for _ in range(3):
        slider.press("ArrowRight")
    settled(page, "1.41")
    assert all(now != then for now, then in zip(figures(page), before, strict=True))
    assert all(
        now != then
        for now, then in zip(page.get_by_role("table").all_inner_texts(), numbers, strict=True)
    )
    assert page.failures == []
    text = page.inner_text("body")
    assert "exception" not in text.lower() and "traceback" not in text.lower()
    assert len(page.screenshot(path=tmp_path / "notebook.png", full_page=True)) > 50_000
