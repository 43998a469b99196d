"""The one question the rest of the grader asks: what is the matter with this exercise?"""

from __future__ import annotations

from collections.abc import Callable

from grader.candidate.interface import Candidate
from tests.diagnosis.findings import Finding
from tests.diagnosis.interview import interview
from tests.diagnosis.parallel import interview_parallel
from tests.diagnosis.patterns import interview_patterns
from tests.diagnosis.plots import interview_plots
from tests.diagnosis.splitting import interview_split
from tests.support.drawing import Draw
from tests.support.layers import CrossAttentionLayer, MultiHeadAttentionLayer, SelfAttentionLayer

# An exercise may do without: its failures then say what was observed, and give no name to it.
INTERVIEWS: dict[str, Callable[[Candidate, Draw], list[Finding]]] = {
    "self_attention": lambda candidate, draw: interview(SelfAttentionLayer(candidate, draw)),
    "cross_attention": lambda candidate, draw: interview(CrossAttentionLayer(candidate, draw)),
    "split_heads": lambda candidate, draw: interview_split(MultiHeadAttentionLayer(candidate, draw)),
    "multi_head_attention": lambda candidate, draw: interview(MultiHeadAttentionLayer(candidate, draw)),
    "head_plots": interview_plots,
    "head_patterns": interview_patterns,
    "parallel_heads": interview_parallel,
}


def diagnose(exercise: str, candidate: Candidate, seed: int) -> list[Finding]:
    """The diagnoses of one exercise of a candidate, most telling first.

    Empty for a right answer, for what has no name, and for an exercise without an interview.
    Raises CandidateError or AssertionError when the candidate answers in no way that can be read.
    """
    ask = INTERVIEWS.get(exercise)
    if ask is None:
        return []
    candidate.begin(seed)
    return ask(candidate, Draw(seed))
