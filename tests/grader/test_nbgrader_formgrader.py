"""formgrader in a browser, as a teacher uses it: scores, comments, a score by hand, its autograde button."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator

import pytest
from nbgrader.api import Gradebook
from playwright.sync_api import Page, expect

from tests.grader.browsers import CHROMIUM, page, screenshot
from tests.grader.courses import Course, sources_of
from tests.grader.project import FILES, ROOT, environment

pytestmark = [
    pytest.mark.nbgrader,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed here"),
]
# formgrader takes MathJax from the network; a page here gets this in its place
MATHJAX = """
const nothing = () => {};
window.MathJax = {Hub: {
    Config: nothing, Queue: nothing, Configured: nothing, Typeset: nothing,
    Startup: {signal: {Interest: nothing}}, Register: {StartupHook: nothing},
}};
"""


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    course = Course.released(tmp_path_factory.mktemp("formgrader"))
    right = sources_of(ROOT / "solutions", FILES)
    wrong = {FILES[0]: right[FILES[0]].replace("/ math.sqrt(self.d_k)", "")}
    course.hand_in("ada", course.filled({**right, **wrong}))
    course.hand_in("bob", course.filled(wrong))
    return course


@contextlib.contextmanager
def served(course: Course) -> Iterator[str]:
    """The address of formgrader in a Jupyter server that was started in the course's folder."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = ["--IdentityProvider.token=", "--ServerApp.disable_check_xsrf=True", "--allow-root"]
    command = [sys.executable, "-m", "jupyter", "server", "--no-browser", f"--port={port}", *settings]
    with (course.root / "jupyter.log").open("w") as log:
        server = subprocess.Popen(
            command, cwd=course.root, env={**environment(), "PATH": "/usr/bin:/bin"}, stdout=log, stderr=log
        )
    try:
        address = f"http://127.0.0.1:{port}/formgrader"
        for _ in range(300):
            with contextlib.suppress(OSError), urllib.request.urlopen(address):
                break
            time.sleep(0.2)
        yield address
    finally:
        server.terminate()
        server.wait(30)


def row(shown: Page, student: str) -> str:
    """A student's row in the table of submissions, once it is there."""
    found = shown.locator("tr", has_text=student)
    expect(found).to_contain_text("graded", timeout=60_000)
    return found.inner_text()


def test_a_teacher_grades_in_formgrader(course: Course) -> None:
    """The button grades behind the wall; a score by hand survives when it is pressed again."""
    with served(course) as address, page() as shown:
        shown.route(
            "**/*athjax*/**", lambda route: route.fulfill(body=MATHJAX, content_type="text/javascript")
        )
        shown.goto(f"{address}/manage_submissions/attention")
        for student in ("ada", "bob"):
            shown.locator("tr", has_text=student).locator(".autograde a").click()
            expect(shown.locator(".modal-title", has_text="Success")).to_be_visible(timeout=120_000)
            shown.locator("#success-modal .modal-footer button").click()
            expect(shown.locator(".modal-backdrop")).to_have_count(0)
        score = course.scores()["ada"]
        assert 75 < score < 100
        assert f"{score:g} / 100" in row(shown, "ada")
        screenshot(shown, "formgrader-submissions")

        with Gradebook(course.db_url, "attention") as gradebook:
            submission = gradebook.find_submission_notebook("self_attention", "attention", "ada").id
        shown.goto(f"{address}/submissions/{submission}/")
        expect(shown.locator("body")).to_contain_text("scores that were not scaled at all")
        by_hand = shown.locator(
            "input.score#self_attention-parity, input.score[id='self_attention-parity']"
        ).first
        by_hand.fill("6.5")
        by_hand.press("Tab")
        comment = shown.locator("textarea.comment").first
        comment.fill("Well begun; see me about the scale.")
        comment.press("Tab")
        shown.wait_for_timeout(1500)
        screenshot(shown, "formgrader-submission")

        shown.goto(f"{address}/manage_submissions/attention")
        shown.locator("tr", has_text="ada").locator(".autograde a").click()
        expect(shown.locator(".modal-title", has_text="Success")).to_be_visible(timeout=120_000)
    with Gradebook(course.db_url, "attention") as gradebook:
        grade = gradebook.find_grade("self_attention-parity", "self_attention", "attention", "ada")
        assert grade.manual_score == 6.5
        assert grade.score == 6.5
        comment = gradebook.find_comment("SelfAttention", "self_attention", "attention", "ada")
        assert comment.manual_comment == "Well begun; see me about the scale."
    assert "Kernel started" not in (course.root / "jupyter.log").read_text()
