"""A submission of functions: one to differentiate, others that draw."""

import matplotlib
import matplotlib.pyplot as plt


def product(a, b):
    return a * b


def draw(values, words):
    figure, (left, right) = plt.subplots(1, 2)
    image = left.imshow(values.numpy(), vmin=-1, vmax=1)
    left.set(title="A title", xlabel="along", ylabel="down")
    left.set_xticks(range(len(words)), words)
    figure.colorbar(image, ax=left)
    right.set_visible(False)
    figure.suptitle("The whole")
    return [figure, matplotlib.get_backend()]


def draw_mesh(values):
    figure = matplotlib.figure.Figure()
    axes = figure.add_subplot()
    axes.pcolormesh(values)
    axes.axis("off")
    return figure


def open_figures():
    return len(plt.get_fignums())
