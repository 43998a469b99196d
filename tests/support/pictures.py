"""What a figure shows, read for its heat maps: which weights, under which tokens and title."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from grader.candidate.values import Described
from grader.examination.verdicts import WrongAnswer

from .checks import kind_of

_NEAR = 0.26  # of a cell: a tick further from its middle would be read as its border


@dataclass(frozen=True)
class HeatMap:
    """One heat map: its values (rows, columns), the label at each row and column, and its colours."""

    values: Tensor
    row_labels: list[str]
    column_labels: list[str]
    title: str
    x_label: str
    y_label: str
    labels_shown: tuple[bool, bool]  # along x, along y
    limits: tuple[float | None, float | None]

    def by_tokens(self, tokens: list[str]) -> Tensor:
        """The values with rows and columns in the order of the tokens, where each is labelled with one."""
        values = self.values
        if sorted(self.row_labels) == sorted(tokens) and len(set(tokens)) == len(tokens):
            values = values[[self.row_labels.index(token) for token in tokens]]
        if sorted(self.column_labels) == sorted(tokens) and len(set(tokens)) == len(tokens):
            values = values[:, [self.column_labels.index(token) for token in tokens]]
        return values


@dataclass(frozen=True)
class Picture:
    """A figure's heat maps in the order of the heads, and the labels of the figure as a whole."""

    maps: list[HeatMap]
    x_label: str
    y_label: str


def as_picture(value: Any) -> Picture:
    """What the plotting function returned. Raises WrongAnswer unless it is a figure."""
    if not isinstance(value, Described) or "axes" not in value.facts:
        hint = " Is the last line missing?" if value is None else ""
        raise WrongAnswer(
            f"visualize_multi_head_attention returned {kind_of(value)}, it must return a matplotlib "
            f"Figure.{hint}"
        )
    visible = [axes for axes in value.facts["axes"] if axes["visible"]]
    maps = [_heat_map(axes, drawn) for axes in visible for drawn in axes["heat_maps"]]
    return Picture(_in_order(maps), value.facts["x_label"], value.facts["y_label"])


def number_in(title: str) -> int | None:
    """The first whole number that a title holds."""
    found = re.search(r"\d+", title)
    return int(found.group()) if found else None


def _in_order(maps: list[HeatMap]) -> list[HeatMap]:
    """By the number in the title, if the titles number them all from 0; else as they were made."""
    numbers = [number_in(drawn.title) for drawn in maps]
    if sorted(number for number in numbers if number is not None) != list(range(len(maps))):
        return maps
    return [maps[numbers.index(place)] for place in range(len(maps))]


def _heat_map(axes: dict[str, Any], drawn: dict[str, Any]) -> HeatMap:
    values = drawn["values"]
    if values.dim() != 2:
        raise WrongAnswer(
            f"a heat map holds numbers of shape {tuple(values.shape)}, it must hold one number for each "
            "pair of tokens (ready-made colours are no data)."
        )
    return HeatMap(
        values,
        _labels(drawn["y"], axes["y_ticks"]),
        _labels(drawn["x"], axes["x_ticks"]),
        axes["title"],
        axes["x_label"],
        axes["y_label"],
        (axes["x_labels_shown"], axes["y_labels_shown"]),
        (drawn["low"], drawn["high"]),
    )


def _labels(centres: Tensor, ticks: list[list[Any]]) -> list[str]:
    """The label of the tick at each centre, empty where there is none."""
    spread = abs(float(centres[1] - centres[0])) if len(centres) > 1 else 1.0
    found = []
    for centre in centres.tolist():
        place, label = min(ticks, key=lambda tick: abs(tick[0] - centre), default=(float("inf"), ""))
        found.append(label.strip() if abs(place - centre) <= _NEAR * spread else "")
    return found
