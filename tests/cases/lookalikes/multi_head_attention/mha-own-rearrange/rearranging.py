"""The few moves of axes that attention needs, written as patterns."""

import math
import re


def rearrange(x, pattern, **sizes):
    """Reshape and permute ``x`` as in ``"b s (h d) -> b h s d"``, with sizes for the new axes."""
    left, right = (re.findall(r"\([^)]*\)|\w+", side) for side in pattern.split("->"))
    names = []
    shape = []
    for group, size in zip(left, x.shape, strict=True):
        inner = group.strip("()").split()
        known = math.prod(sizes[name] for name in inner if name in sizes)
        for name in inner:
            names.append(name)
            shape.append(sizes.get(name, size // known))
    order = [names.index(name) for group in right for name in group.strip("()").split()]
    moved = x.reshape(shape).permute(order)
    lengths = dict(zip(names, shape, strict=True))
    return moved.reshape([math.prod(lengths[n] for n in group.strip("()").split()) for group in right])
