"""Stubs: what is cut out, what is refused, and what generation never overwrites."""

from __future__ import annotations

import ast
from pathlib import Path
from textwrap import dedent

import pytest

from grader.release.markers import MarkerError, parse
from grader.release.stubs import MANIFEST, GenerationError, generate, make_stub

SOLUTION = '''\
"""A small exercise."""

import math


class Scale:
    def __init__(self, width: int) -> None:
        super().__init__()
        ### BEGIN SOLUTION: Keep the factor "1/√width".
        self.factor = 1 / math.sqrt(width)
        ### END SOLUTION

    def forward(self, x):
        """Scale x."""
        ### BEGIN SOLUTION

        if x:  # a comment
            return x * self.factor
        return 0
        ### END SOLUTION
'''


def method(body: str) -> str:
    return "def f(x):\n" + "".join(
        f"    {line}\n" if line else "\n" for line in dedent(body).strip().split("\n")
    )


@pytest.fixture
def solutions(tmp_path: Path) -> Path:
    folder = tmp_path / "solutions"
    (folder / "hints").mkdir(parents=True)
    (folder / "scale.py").write_text(SOLUTION, encoding="utf-8")
    (folder / "README.md").write_text("# Read me\n")
    (folder / "hints" / "scale.md").write_text("## Hint 1\n")
    return folder


@pytest.fixture
def exercises(tmp_path: Path) -> Path:
    return tmp_path / "exercises"


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_blocks_are_found_with_their_lines_and_sentence() -> None:
    first, second = parse(SOLUTION, "scale.py")
    assert (first.begin, first.end, first.indent) == (9, 11, " " * 8)
    assert first.sentence == 'Keep the factor "1/√width".'
    assert first.lines == ("        self.factor = 1 / math.sqrt(width)",)
    assert second.sentence is None
    assert len(second.lines) == 4


def test_a_stub_says_what_is_missing_and_keeps_all_else() -> None:
    stub = make_stub(SOLUTION, "scale.py")
    assert stub == dedent('''\
        """A small exercise."""

        import math


        class Scale:
            def __init__(self, width: int) -> None:
                super().__init__()
                raise NotImplementedError("Keep the factor \\"1/√width\\".")

            def forward(self, x):
                """Scale x."""
                raise NotImplementedError("Write this part.")
        ''')


def test_a_stub_raises_the_sentence_when_called() -> None:
    namespace: dict[str, type] = {}
    exec(make_stub(SOLUTION, "scale.py"), namespace)
    with pytest.raises(NotImplementedError, match='Keep the factor "1/√width"'):
        namespace["Scale"](4)


@pytest.mark.parametrize("ending", ["", "\n\n\n"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_stub_does_not_depend_on_line_ends(newline: str, ending: str) -> None:
    source = (SOLUTION.rstrip("\n") + ending).replace("\n", newline)
    assert make_stub(source, "scale.py") == make_stub(SOLUTION, "scale.py")


@pytest.mark.parametrize(
    ("body", "line", "why"),
    [
        ("### BEGIN SOLUTION\nreturn x", 2, "never closed"),
        ("return x\n### END SOLUTION", 3, "never opened"),
        ("### BEGIN SOLUTION\n### BEGIN SOLUTION\nreturn x\n### END SOLUTION\n### END SOLUTION", 3, "nested"),
        ("### BEGIN SOLUTION\n\n# only words\n### END SOLUTION\nreturn x", 2, "no code"),
        ("### BEGIN SOLUTION\nif x:\n    x = 2\n    ### END SOLUTION\nreturn x", 5, "indented"),
        ("if x:\n    ### BEGIN SOLUTION\n    x = 2\nx = 3\n    ### END SOLUTION", 5, "left of its markers"),
        ("x = 2  ### BEGIN SOLUTION\nreturn x\n### END SOLUTION", 2, "shares its line"),
        ('"""\n### BEGIN SOLUTION\n"""\nreturn x', 3, "inside a string"),
        ('x = "### END SOLUTION"\nreturn x', 2, "inside a string"),
        ('x = f"{x} ## begin solution"\nreturn x', 2, "inside a string"),
        ("return (x", 1, "not valid Python"),
    ],
)  # fmt: skip
def test_malformed_markers_are_refused_by_file_and_line(body: str, line: int, why: str) -> None:
    with pytest.raises(MarkerError, match=why) as refusal:
        parse(method(body), "f.py")
    assert str(refusal.value).startswith("f.py:")
    assert line == 1 or str(refusal.value).startswith(f"f.py:{line}: ")


@pytest.mark.parametrize(
    "marker",
    [
        "## BEGIN SOLUTION", "# BEGIN SOLUTION", "#### BEGIN SOLUTION", "###BEGIN SOLUTION",
        "###  BEGIN SOLUTION", "### BEGIN  SOLUTION", "### Begin solution", "### begin solution",
        "### BEGIN SOLUTIONS", "### BEGIN SOLUTON", "### BEGN SOLUTION", "### BEGIN_SOLUTION",
        "### BEGIN SOLUTION here", "### BEGIN SOLUTION:", "### BEGIN", "### SOLUTION BEGIN",
        "### END SOLUTION: done", "### END OF SOLUTION", "## END SOLUTION", "### end Solution",
        "### ENDSOLUTION", "### BEGIN HIDDEN TESTS",
    ],
)  # fmt: skip
def test_near_misses_are_refused(marker: str) -> None:
    with pytest.raises(MarkerError, match="looks like a marker but is not one"):
        parse(method(f"{marker}\nreturn x"), "f.py")


@pytest.mark.parametrize(
    "comment", ["# begin with the solution", "# the end", "# solution 2", "# append, resolution"]
)
def test_ordinary_comments_are_no_markers(comment: str) -> None:
    assert parse(method(f"{comment}\nreturn x"), "f.py") == []


@pytest.mark.parametrize(
    "source",
    [
        "### BEGIN SOLUTION\nx = 1\n### END SOLUTION\n",
        "class A:\n    ### BEGIN SOLUTION\n    x = 1\n    ### END SOLUTION\n",
    ],
)
def test_a_block_outside_a_function_is_refused(source: str) -> None:
    with pytest.raises(MarkerError, match="not inside a function"):
        make_stub(source, "f.py")


def test_a_block_that_cuts_a_statement_in_two_is_refused() -> None:
    body = "### BEGIN SOLUTION\nif x:\n    x = 2\n### END SOLUTION\nelse:\n    x = 3\nreturn x"
    with pytest.raises(MarkerError, match="cuts a statement in two"):
        make_stub(method(body), "f.py")


def test_code_without_a_block_would_be_published_and_is_refused() -> None:
    with pytest.raises(MarkerError, match="whole file would be published"):
        make_stub(method("return x"), "f.py")


@pytest.mark.parametrize("source", ["", '"""Only words."""\n'])
def test_a_file_without_code_needs_no_block(source: str) -> None:
    assert make_stub(source, "__init__.py") == source


def test_generation_writes_stubs_readme_and_hints(solutions: Path, exercises: Path) -> None:
    report = generate(solutions, exercises)
    assert report.written == ("README.md", "hints/scale.md", "notebooks/scale.ipynb", "scale.py")
    assert set(snapshot(exercises)) == {*report.written, MANIFEST}
    assert "sqrt(" not in (exercises / "scale.py").read_text(encoding="utf-8")
    ast.parse((exercises / "scale.py").read_bytes())


def test_generation_is_byte_stable(solutions: Path, exercises: Path, tmp_path: Path) -> None:
    generate(solutions, exercises)
    generate(solutions, tmp_path / "again")
    before = snapshot(exercises)
    assert generate(solutions, exercises).written == ()
    assert snapshot(exercises) == before == snapshot(tmp_path / "again")


def test_an_old_stub_is_renewed(solutions: Path, exercises: Path) -> None:
    generate(solutions, exercises)
    (solutions / "scale.py").write_text(SOLUTION.replace("Scale x", "Stretch x"), encoding="utf-8")
    assert generate(solutions, exercises).written == ("notebooks/scale.ipynb", "scale.py")
    assert b"Stretch x" in (exercises / "scale.py").read_bytes()


@pytest.mark.parametrize("manifest", [None, b"{", b"[]", b'{"scale.py": 1}'])
def test_an_edited_file_stops_generation_before_anything_is_written(
    solutions: Path, exercises: Path, manifest: bytes | None
) -> None:
    generate(solutions, exercises)
    (exercises / "scale.py").write_text("my own work\n")
    (exercises / "README.md").unlink()
    if manifest is not None:
        (exercises / MANIFEST).write_bytes(manifest)
    before = snapshot(exercises)
    with pytest.raises(GenerationError, match=r"scale\.py"):
        generate(solutions, exercises)
    assert snapshot(exercises) == before


def test_a_malformed_source_stops_generation_before_anything_is_written(
    solutions: Path, exercises: Path
) -> None:
    (solutions / "z.py").write_text(method("### BEGIN SOLUTION\nreturn x"))
    with pytest.raises(MarkerError, match=r"solutions/z\.py:2: "):
        generate(solutions, exercises)
    assert not exercises.exists()


def test_force_overwrites_an_edited_file(solutions: Path, exercises: Path) -> None:
    generate(solutions, exercises)
    expected = snapshot(exercises)
    (exercises / "scale.py").write_text("my own work\n")
    assert generate(solutions, exercises, force=True).written == ("scale.py",)
    assert snapshot(exercises) == expected


def test_a_folder_in_a_stubs_place_is_refused_even_with_force(solutions: Path, exercises: Path) -> None:
    (exercises / "scale.py").mkdir(parents=True)
    with pytest.raises(GenerationError, match=r"scale\.py"):
        generate(solutions, exercises, force=True)


def test_a_stub_whose_source_is_gone_is_removed(solutions: Path, exercises: Path) -> None:
    (solutions / "old.py").write_text(SOLUTION, encoding="utf-8")
    generate(solutions, exercises)
    (solutions / "old.py").unlink()
    assert generate(solutions, exercises).removed == ("notebooks/old.ipynb", "old.py")
    assert not (exercises / "old.py").exists()


@pytest.mark.parametrize("force", [False, True])
def test_an_edited_file_is_kept_when_its_source_is_gone(
    solutions: Path, exercises: Path, force: bool
) -> None:
    (solutions / "old.py").write_text(SOLUTION, encoding="utf-8")
    generate(solutions, exercises)
    (solutions / "old.py").unlink()
    (exercises / "old.py").write_text("my own work\n")
    for _ in range(2):
        assert generate(solutions, exercises, force=force).kept == ("old.py",)
    assert (exercises / "old.py").read_text() == "my own work\n"


def test_a_forged_manifest_cannot_remove_a_file_elsewhere(solutions: Path, exercises: Path) -> None:
    generate(solutions, exercises)
    victim = solutions / "README.md"
    text = (exercises / MANIFEST).read_text().replace('"README.md"', '"../solutions/README.md"')
    (exercises / MANIFEST).write_text(text)
    generate(solutions, exercises)
    assert victim.exists()


def test_check_reports_and_writes_nothing(solutions: Path, exercises: Path) -> None:
    new = ("README.md", "hints/scale.md", "notebooks/scale.ipynb", "scale.py")
    assert generate(solutions, exercises, check=True).written == new
    assert not exercises.exists()
    generate(solutions, exercises)
    assert generate(solutions, exercises, check=True).up_to_date
    (exercises / "scale.py").write_text("my own work\n")
    report = generate(solutions, exercises, check=True)
    assert (report.refused, report.up_to_date) == (("scale.py",), False)


def test_an_empty_solutions_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GenerationError, match="no Python file"):
        generate(tmp_path, tmp_path / "exercises")
