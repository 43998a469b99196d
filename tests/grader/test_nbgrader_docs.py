"""docs/nbgrader.md, followed word for word in an environment that is not activated."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.grader.project import ROOT, copied, environment

pytestmark = pytest.mark.nbgrader

PAGE = (ROOT / "docs/nbgrader.md").read_text()
SCRIPT = "".join(re.findall(r"^```sh\n(.*?)^```$", PAGE, re.M | re.S))


def test_the_page_is_true(tmp_path: Path) -> None:
    """Every command of the page, in its order, ends well; what it greps for is there."""
    project = copied(tmp_path / "headstart", suite=None)
    for name in ("Makefile", "requirements.txt"):
        (project.root / name).write_bytes((ROOT / name).read_bytes())
        os.utime(project.root / name, (0, 0))  # the environment is newer: nothing is installed again
    (project.root / ".venv").symlink_to(ROOT / ".venv")
    exchange = tmp_path / "exchange"
    exchange.mkdir(mode=0o777)
    exchange.chmod(0o777)
    jupyter = tmp_path / "jupyter"  # where a machine's administrator says where the exchange is
    jupyter.mkdir()
    (jupyter / "nbgrader_config.py").write_text(f"c = get_config()\nc.Exchange.root = {str(exchange)!r}\n")
    ended = subprocess.run(
        ["bash", "-euxo", "pipefail", "-c", SCRIPT],
        cwd=project.root,
        env={
            **environment(),
            "PATH": "/usr/bin:/bin",
            "JUPYTER_CONFIG_DIR": str(jupyter),
            "HOME": str(tmp_path),
        },
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    (tmp_path / "log").write_text(ended.stdout + ended.stderr)
    assert ended.returncode == 0, (ended.stdout + ended.stderr)[-3000:]
    assert "VALIDATION FAILED" in ended.stdout
    assert [*(tmp_path / "course/feedback").glob("*/attention/self_attention.html")] != []


def test_the_page_names_every_step() -> None:
    for command in (
        *("release --format nbgrader", "generate_assignment", "release_assignment", "collect", "validate"),
        *(
            "autograde",
            "generate_feedback",
            "release_feedback",
            "export --to",
            "regrade",
            "export --format nbgrader",
        ),
    ):
        assert command in PAGE or command.replace(" --", '" --') in PAGE
