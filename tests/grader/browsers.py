"""The browser that is installed, without a window, and where its screenshots are kept."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tests.grader.project import ROOT

CHROMIUM = shutil.which("chromium")
SCREENSHOTS = ROOT / "build/screenshots"
_QUIET = (
    *("--no-sandbox", "--disable-quic", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--no-first-run", "--disable-dev-shm-usage"),
)


@contextlib.contextmanager
def page() -> Iterator[Page]:
    """A page of a fresh browser; errors of its scripts fail the test in the end."""
    errors: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*_QUIET])
        try:
            opened = browser.new_page(viewport={"width": 1280, "height": 900})
            opened.on("pageerror", lambda error: errors.append(str(error)))
            yield opened
        finally:
            browser.close()
    assert errors == []


def screenshot(page: Page, name: str) -> Path:
    """Keep what the page looks like."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    path = SCREENSHOTS / f"{name}.png"
    page.screenshot(path=path, full_page=True)
    return path
