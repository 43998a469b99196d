"""What a matplotlib figure shows, as plain data: a figure itself cannot cross the wall.

matplotlib is never imported here. A figure can only come back where the student's code has
imported it already, and everything else works without it.
"""

from __future__ import annotations

import contextlib
import sys
from typing import Any

import torch


def is_figure(value: object) -> bool:
    """Is this a matplotlib ``Figure``, whatever it claims to be?"""
    kind = getattr(sys.modules.get("matplotlib.figure"), "Figure", None)
    return isinstance(kind, type) and issubclass(type(value), kind)


def facts_of(figure: Any) -> dict[str, Any]:
    """What the figure shows.

    ``title``, ``x_label`` and ``y_label`` are the whole figure's. ``axes`` lists, in the order in
    which they were made, for each pair of axes:

    - ``title``, ``x_label``, ``y_label``: texts, empty where there are none;
    - ``visible``, and ``is_colorbar``: whether it only explains the colours of another one;
    - ``x_ticks``, ``y_ticks``: [position, label] pairs; ``x_labels_shown``, ``y_labels_shown``:
      whether those labels are drawn;
    - ``heat_maps``: for each image or colour mesh ``values`` (rows, columns), the positions ``x`` of
      its columns' and ``y`` of its rows' centres, and the values ``low`` and ``high`` between which
      its colours run.
    """
    return {
        "title": str(figure.get_suptitle()),
        "x_label": str(figure.get_supxlabel()),
        "y_label": str(figure.get_supylabel()),
        "axes": [_axes(axes) for axes in figure.axes],
    }


def forget_figures() -> None:
    """Close what pyplot, which keeps every figure that it made, still holds."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    with contextlib.suppress(AttributeError):  # its import may have failed halfway
        if pyplot is not None:
            pyplot.close("all")


def _axes(axes: Any) -> dict[str, Any]:
    titles = (axes.get_title(loc) for loc in ("left", "center", "right"))
    is_colorbar = axes.get_label() == "<colorbar>" or getattr(axes, "_colorbar", None) is not None
    meshes = (part for part in axes.collections if hasattr(part, "get_coordinates"))
    drawn = [*map(_image, axes.images), *map(_mesh, meshes)]
    return {
        "title": " ".join(filter(None, map(str, titles))),
        "x_label": str(axes.get_xlabel()),
        "y_label": str(axes.get_ylabel()),
        "visible": bool(axes.get_visible()),
        "is_colorbar": is_colorbar,
        "x_ticks": _ticks(axes.xaxis),
        "y_ticks": _ticks(axes.yaxis),
        "x_labels_shown": _labels_shown(axes, axes.xaxis, ("labelbottom", "labeltop")),
        "y_labels_shown": _labels_shown(axes, axes.yaxis, ("labelleft", "labelright")),
        "heat_maps": [] if is_colorbar else drawn,
    }


def _ticks(axis: Any) -> list[list[Any]]:
    """Positions and labels as they would be drawn, without drawing."""
    places = [float(place) for place in axis.get_majorticklocs()]
    labels = axis.get_major_formatter().format_ticks(places)
    return [[place, str(label)] for place, label in zip(places, labels, strict=False)]


def _labels_shown(axes: Any, axis: Any, sides: tuple[str, str]) -> bool:
    settings = axis.get_tick_params(which="major")
    return bool(axes.axison and axis.get_visible() and any(settings.get(side) for side in sides))


def _image(image: Any) -> dict[str, Any]:
    values = _numbers(image.get_array())
    left, right, bottom, top = map(float, image.get_extent())
    first, last = (top, bottom) if image.origin == "upper" else (bottom, top)
    rows, columns = values.shape[0], values.shape[1] if values.dim() > 1 else 0
    return _heat_map(image, values, _centres(left, right, columns), _centres(first, last, rows))


def _mesh(mesh: Any) -> dict[str, Any]:
    values, corners = (
        _numbers(mesh.get_array()),
        _numbers(mesh.get_coordinates()),
    )  # (rows + 1, columns + 1, 2)
    if values.dim() == 1:
        values = values.reshape(corners.shape[0] - 1, corners.shape[1] - 1)
    middle = corners
    if corners.shape[:2] != values.shape[:2]:  # the values stand between the corners, not at them
        middle = (corners[1:, 1:] + corners[:-1, :-1]) / 2
    return _heat_map(mesh, values, middle[0, :, 0].contiguous(), middle[:, 0, 1].contiguous())


def _heat_map(drawn: Any, values: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> dict[str, Any]:
    low, high = drawn.get_clim()
    limits = {"low": None if low is None else float(low), "high": None if high is None else float(high)}
    return {"values": values, "x": x, "y": y, **limits}


def _centres(start: float, stop: float, count: int) -> torch.Tensor:
    width = (stop - start) / max(count, 1)
    return start + width * (torch.arange(count, dtype=torch.float64) + 0.5)


def _numbers(array: Any) -> torch.Tensor:
    """The array as float64, NaN where it is masked."""
    import numpy as np

    filled = np.ma.filled(np.ma.asarray(array).astype(np.float64), np.nan)
    return torch.from_numpy(np.ascontiguousarray(filled))
