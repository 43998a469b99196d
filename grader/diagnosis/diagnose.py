"""The one question the rest of the grader asks: what is the matter with this exercise?"""

from __future__ import annotations

from grader.candidate.interface import Candidate
from tests.support.drawing import Draw
from tests.support.layers import LAYERS, MultiHeadAttentionLayer

from .findings import Finding
from .interview import interview
from .splitting import interview_split


def diagnose(exercise: str, candidate: Candidate, seed: int) -> list[Finding]:
    """The diagnoses of one exercise of a candidate, most telling first.

    Empty for a right answer, for what has no name, and for an exercise without an interview.
    Raises CandidateError or AssertionError when the candidate answers in no way that can be read.
    """
    kind = LAYERS.get(exercise)
    if kind is None:
        return []
    candidate.begin(seed)
    layer = kind(candidate, Draw(seed))
    if exercise == "split_heads" and isinstance(layer, MultiHeadAttentionLayer):
        return interview_split(layer)
    return interview(layer)
