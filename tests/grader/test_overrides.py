"""Reading overrides.csv: what spreadsheets make of it is taken, what cannot be meant is refused by line."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from grader.assignment import load_assignment
from grader.store.overrides import Decision, OverridesError, read_overrides

ASSIGNMENT = load_assignment(Path(__file__).resolve().parents[2])
KNOWN = ["ann", "bob", "=1+1, two", "Zoe\u0308", "many\nlines"]
HEAD = "submission,exercise,points,comment\n"


def read(out: Path, text: str | bytes) -> dict[tuple[str, str], Decision]:
    """The decisions found in a file of that text, by submission and exercise."""
    (out / "overrides.csv").write_bytes(text.encode() if isinstance(text, str) else text)
    found = read_overrides(out, ASSIGNMENT, KNOWN)
    return {(id, name): decision for id, own in found.items() for name, decision in own.items()}


def test_without_a_file_nothing_is_decided(tmp_path: Path) -> None:
    assert read_overrides(tmp_path, ASSIGNMENT, KNOWN) == {}


def test_a_row_is_a_decision(tmp_path: Path) -> None:
    found = read(tmp_path, f'{HEAD}ann,split_heads,7.5,"said why, and well"\nann,self_attention,0,\n')
    assert found == {
        ("ann", "split_heads"): Decision(Fraction(15, 2), "said why, and well"),
        ("ann", "self_attention"): Decision(Fraction(0), ""),
    }


@pytest.mark.parametrize(
    "text",
    [
        f"\ufeff{HEAD}ann,split_heads,7.5,late\n",
        "submission;exercise;points;comment\r\nann;split_heads;7,5;late\r\n;;;\r\n\r\n",
        "submission\texercise\tpoints\tcomment\nann\tsplit_heads\t7.5\tlate",
        '"submission","exercise","points","comment"\n"ann","split_heads","7,5","late"\n',
        "Points, Submission ,COMMENT,Exercise,seen by\n 7.50 , ann,late , split_heads,me\n",
        f"\n{HEAD}\nann,split_heads,7.5,late,,\n",
    ],
    ids=["byte order mark", "semicolons", "tabs", "quotes", "other order", "empty lines and cells"],
)
def test_what_a_spreadsheet_makes_of_it_is_taken(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text) == {("ann", "split_heads"): Decision(Fraction(15, 2), "late")}


@pytest.mark.parametrize(
    ("cell", "meant"),
    [
        ('"\'=1+1, two"', "=1+1, two"),
        ('"=1+1, two"', "=1+1, two"),
        ("Zo\u00eb", "Zoe\u0308"),
        ('"many\nlines"', "many\nlines"),
    ],
    ids=["as in scores.csv", "as it is", "composed", "lines"],
)
def test_odd_names_are_found(tmp_path: Path, cell: str, meant: str) -> None:
    assert list(read(tmp_path, f"{HEAD}{cell},split_heads,1,\n")) == [(meant, "split_heads")]


WRONG = {
    "a name with a slip": (
        "anm,split_heads,1,",
        "line 2: there is no submission 'anm' here: did you mean ann?",
    ),
    "a strange name": ("xyz,split_heads,1,", "no submission 'xyz' here: write it as scores.csv does"),
    "an exercise with a slip": ("ann,split_head,1,", "no exercise 'split_head': did you mean split_heads?"),
    "a strange exercise": ("ann,xyz,1,", "no exercise 'xyz': the exercises are self_attention, cross_att"),
    "words for points": (
        "ann,split_heads,full,",
        "the points 'full' are not a number: give one from 0 to 10",
    ),
    "a power": ("ann,split_heads,1e1,", "the points '1e1' are not a number"),
    "infinity": ("ann,split_heads,inf,", "the points 'inf' are not a number"),
    "no points": (
        "ann,split_heads,,",
        "the points are missing: give a number from 0 to 10, or delete the line",
    ),
    "negative points": (
        "ann,split_heads,-1,",
        "the points -1 are less than nothing: give a number from 0 to 10",
    ),
    "too many points": ("ann,split_heads,10.01,", "the points 10.01 are more than split_heads is worth"),
    "the same pair": (
        "ann,split_heads,1,\nbob,split_heads,1,\nann,split_heads,2,",
        "line 4: ann has an override of split_heads on line 2 already: keep one of the two",
    ),
    "a bare comma": (
        "ann,split_heads,1,late, but fine",
        'line 2: 5 cells where the header has 4: put "quotes"',
    ),
    "an open quote": (
        'ann,split_heads,1,"late',
        "line 2: this is not CSV (unexpected end of data): look for a",
    ),
    "a line further down": ('bob,split_heads,1,"two\nlines"\nann,split_heads,x,', "line 4: the points 'x'"),
}


@pytest.mark.parametrize("fault", WRONG)
def test_what_cannot_be_meant_is_refused_by_line(tmp_path: Path, fault: str) -> None:
    rows, words = WRONG[fault]
    with pytest.raises(OverridesError) as refused:
        read(tmp_path, f"{HEAD}{rows}\n")
    told = str(refused.value)
    assert words in told
    assert told.startswith(f"Nothing was graded: {tmp_path / 'overrides.csv'} cannot be used as it stands.\n")
    assert told.endswith("Mend that, then run the same command again.")


@pytest.mark.parametrize("text", ["", "ann,split_heads,1,late\n", "submission,exercise,points\n"])
def test_without_its_header_a_file_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(
        OverridesError, match=r"the header lacks .*begin with the line submission,exercise,po"
    ):
        read(tmp_path, text)


def test_a_column_given_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OverridesError, match="has points more than once: keep one"):
        read(tmp_path, "submission,exercise,points,comment,points\nann,split_heads,1,,2\n")


def test_another_encoding_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OverridesError, match=r"is not UTF-8 text\. Save it as CSV in UTF-8"):
        read(tmp_path, f"{HEAD}ann,split_heads,1,spät\n".encode("latin-1"))


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(OverridesError) as refused:
        read(tmp_path, HEAD + "ann,split_heads,x,\n" * 20)
    assert [line.split(":")[0] for line in str(refused.value).splitlines()[1:4]] == [
        "  line 2",
        "  line 3",
        "  line 4",
    ]
    assert "  and 8 more" in str(refused.value)


def test_a_name_that_may_mean_two_is_refused(tmp_path: Path) -> None:
    (tmp_path / "overrides.csv").write_text(f"{HEAD}'=a,split_heads,1,\n")
    with pytest.raises(OverridesError, match=r"may mean .* or .*: rename one"):
        read_overrides(tmp_path, ASSIGNMENT, ["=a", "'=a"])
