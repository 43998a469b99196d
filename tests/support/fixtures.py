"""The fixtures that make a test read like a sentence."""

from __future__ import annotations

import pytest

from grader.candidate.interface import Candidate

from .drawing import Draw
from .layers import LAYERS, Layer


@pytest.fixture
def draw(test_seed: int) -> Draw:
    """Random inputs for this test."""
    return Draw(test_seed)


@pytest.fixture
def layer(exercise: str, candidate: Candidate, draw: Draw) -> Layer:
    """The class that the exercise is about."""
    return LAYERS[exercise](candidate, draw)
