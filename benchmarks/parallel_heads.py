"""Seconds for one attention, computed in three ways: position by position, head by head, all at once.

Grows the number of heads and then the number of positions, on the CPU and, where there is one, on
the GPU; prints a table and draws a plot. Run it from the project's root:
``python benchmarks/parallel_heads.py``.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from solutions.parallel_heads import batched_attention, looped_attention, recurrent_attention  # noqa: E402

WAYS: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "recurrent": recurrent_attention,
    "looped": looped_attention,
    "batched": batched_attention,
}


@dataclass(frozen=True)
class Measured:
    """Seconds of each way at one point of one series."""

    device: str
    grows: str
    size: int
    seconds: dict[str, float]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--heads", type=int, nargs="+", default=[1, 2, 4, 8, 16, 32], metavar="N")
    parser.add_argument("--positions", type=int, nargs="+", default=[32, 64, 128, 256, 512], metavar="N")
    parser.add_argument("--batch", type=int, default=4, help="sequences at once (default: 4)")
    parser.add_argument("--width", type=int, default=64, help="features of a head, d_k (default: 64)")
    parser.add_argument(
        "--rounds", type=int, default=5, help="calls, of which the median counts (default: 5)"
    )
    parser.add_argument("--device", choices=["cpu", "cuda"], action="append", help="default: all there are")
    parser.add_argument("--plot", type=Path, default=ROOT / "build" / "parallel_heads.png", metavar="FILE")
    arguments = parser.parse_args()
    devices = arguments.device or ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    found = []
    for one in measured(arguments, devices):
        found.append(one)
        print(line(one, is_first=len(found) == 1 or found[-2].grows != one.grows), flush=True)
    draw(found, arguments.plot)
    print(f"\nplot in {arguments.plot}")


def measured(arguments: argparse.Namespace, devices: list[str]) -> Iterator[Measured]:
    """Every point of every series: heads at 128 positions, then positions at 8 heads."""
    series = {
        "heads": [(n, 128) for n in arguments.heads],
        "positions": [(8, n) for n in arguments.positions],
    }
    for device in devices:
        for grows, points in series.items():
            for heads, positions in points:
                shape = (arguments.batch, heads, positions, arguments.width)
                inputs = tuple(torch.randn(shape, device=device) for _ in range(3))
                seconds = {name: timed(way, inputs, arguments.rounds) for name, way in WAYS.items()}
                yield Measured(device, grows, heads if grows == "heads" else positions, seconds)


@torch.no_grad()
def timed(way: Callable[..., Tensor], inputs: tuple[Tensor, ...], rounds: int) -> float:
    """The median seconds of a call, after one that does not count."""
    taken = []
    for _ in range(rounds + 1):
        wait_for(inputs[0].device)
        started = time.perf_counter()
        way(*inputs)
        wait_for(inputs[0].device)
        taken.append(time.perf_counter() - started)
    return statistics.median(taken[1:])


def wait_for(device: torch.device) -> None:
    """A GPU is told what to do and works on by itself: its clock is read when it is through."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def line(one: Measured, *, is_first: bool) -> str:
    cells = "".join(f"{1000 * one.seconds[name]:12.3f}" for name in WAYS)
    row = f"{one.device:6}{one.size:10}{cells}{one.seconds['recurrent'] / one.seconds['batched']:14.1f}x"
    if not is_first:
        return row
    head = "".join(f"{name:>12}" for name in WAYS)
    return f"\n{'device':6}{one.grows:>10}{head}{'batched wins':>15}   (milliseconds)\n{row}"


def draw(found: list[Measured], path: Path) -> None:
    """One panel for each device and series, both axes logarithmic."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    devices = list(dict.fromkeys(one.device for one in found))
    size = (10, 4 * len(devices))
    figure, panels = plt.subplots(len(devices), 2, figsize=size, squeeze=False, layout="constrained")
    for row, device in zip(panels, devices, strict=True):
        for axes, grows in zip(row, ("heads", "positions"), strict=True):
            points = [one for one in found if (one.device, one.grows) == (device, grows)]
            for name in WAYS:
                seconds = [1000 * one.seconds[name] for one in points]
                axes.loglog([one.size for one in points], seconds, marker="o", label=name)
            axes.set(title=f"{device}: more {grows}", xlabel=grows, ylabel="milliseconds a call")
            axes.grid(True, which="both", alpha=0.3)
            axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
