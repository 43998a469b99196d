"""What students are told: a spread of wrong answers graded as a class would be, printed as JSON.

Run as a program, in the root of a project: collecting a suite is not done inside another's run.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from zlib import crc32

from grader.assignment import load_assignment
from grader.examination.suite import Suite, with_suite
from grader.quality.cases import Mistake, as_submission, load_mistakes
from grader.run.engine import LocalEngine
from grader.run.marking import RunContext
from grader.sandbox.launch import launcher
from grader.submissions import Submission

MOST = 40
OPENING = (
    "import torch\n\n\nclass SelfAttention(torch.nn.Module):\n    def __init__(self, d_model, d_k=None):\n"
)
BUILT = OPENING + (
    "        super().__init__()\n"
    "        d_k = d_k or d_model\n"
    "        self.W_Q = torch.nn.Linear(d_model, d_k, bias=False)\n"
    "        self.W_K = torch.nn.Linear(d_model, d_k, bias=False)\n"
    "        self.W_V = torch.nn.Linear(d_model, d_k, bias=False)\n\n"
    "    def forward(self, x, mask=None):\n"
)
OWN_WORDS = "my first line\nmy second line"
# answers that are wrong in ways that no change to a solution is
ODD = {
    "raises-own-words": BUILT + f"        raise ValueError({OWN_WORDS!r})\n",
    "raises-in-constructor": OPENING + "        raise KeyError('mine')\n",
    "raises-from-another": BUILT
    + "        try:\n            1 / 0\n        except ZeroDivisionError as error:\n"
    "            raise RuntimeError('again mine') from error\n",
    "returns-text": BUILT + "        return 'output', 'weights'\n",
    "returns-a-dict": BUILT + "        return {'output': x}\n",
    "returns-objects": BUILT + "        return object(), self\n",
    "returns-nan": BUILT + "        return x * float('nan'), x @ x.transpose(1, 2) * float('nan')\n",
    "ends-the-process": BUILT + "        import os\n        os._exit(3)\n",
    "is-no-python": OPENING + "        return (\n",
    "imports-nothing-known": "import nothing_of_that_name\n" + BUILT + "        return x, x\n",
}


def spread(mistakes: Sequence[Mistake], most: int) -> list[Mistake]:
    """So many of them, the same ones every time: every diagnosis once before any twice."""
    mixed = sorted(mistakes, key=lambda mistake: crc32(mistake.id.encode()))
    rank: Counter[str] = Counter()
    ranked = []
    for mistake in mixed:
        rank[mistake.diagnosis] += 1
        ranked.append((rank[mistake.diagnosis], mistake))
    return [mistake for _, mistake in sorted(ranked, key=lambda pair: pair[0])][:most]


def odd() -> list[Submission]:
    """The odd answers as submissions of one file."""
    name, file = "SelfAttention", "self_attention.py"
    return [Submission(id, Path(file), {file: text.encode()}, {name: file}) for id, text in ODD.items()]


def main(root: Path) -> None:
    """Print every result, the tests' hints, and what failed on our side."""
    assignment = load_assignment(root)
    mistakes = load_mistakes(root / "tests/cases/mistakes", root / "solutions", assignment)
    wrong = [as_submission(mistake, assignment) for mistake in spread(mistakes, MOST)]

    def work(suite: Suite) -> dict[str, Any]:
        context = RunContext(assignment, suite.tests, suite.digest, 11, "process")
        with (
            closing(launcher()) as host,
            LocalEngine(context, suite, host, jobs=os.cpu_count() or 1) as engine,
        ):
            results = [result.model_dump(mode="json") for result in engine.grade([*wrong, *odd()])]
        return {
            "results": results,
            "sources": {one.id: next(iter(one.files.values())).decode() for one in [*wrong, *odd()]},
            "hints": sorted({test.hint for test in suite.tests if test.hint}),
            "faults": engine.faults,
        }

    print(json.dumps(with_suite(root, work)))


if __name__ == "__main__":
    main(Path.cwd())
