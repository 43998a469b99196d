"""Merely odd: no attack, and worth exactly what the code in it is worth."""

import json

from grader.redteam.corpus import FILE, Code, Scene, attack

RIGHT = Code.RIGHT


@attack(odd=True, behind=RIGHT)
def saved_with_a_mark(scene: Scene) -> bytes:
    """Source with a byte order mark."""
    return b"\xef\xbb\xbf" + scene.honest.encode()


@attack(odd=True, behind=RIGHT)
def lines_of_windows(scene: Scene) -> str:
    """Source with lines that end as on Windows."""
    return scene.honest.replace("\n", "\r\n")


@attack(odd=True, behind=RIGHT)
def lines_of_an_old_mac(scene: Scene) -> str:
    """Source with lines that end in a carriage return alone."""
    return scene.honest.replace("\n", "\r")


@attack(odd=True, behind=RIGHT)
def indented_with_tabs(scene: Scene) -> str:
    """Source that is indented with tabs throughout."""
    return scene.honest.replace("    ", "\t")


@attack(odd=True, behind=RIGHT)
def latin1_that_says_so(scene: Scene) -> bytes:
    """Source in Latin-1 with the line that says so."""
    text = scene.honest.encode("ascii", "ignore").decode()
    return f"# -*- coding: latin-1 -*-\n# caf\xe9\n{text}".encode("latin-1")


@attack(odd=True, behind=RIGHT)
def prints_late(scene: Scene) -> str:
    """Prints from a thread and at the end of the process."""
    return scene.at_import("""
        import atexit, threading
        atexit.register(print, "goodbye")
        threading.Timer(0.05, print, ["late"]).start()
    """)


@attack(odd=True, behind=RIGHT)
def talks_all_the_time(scene: Scene) -> str:
    """Prints shapes with every call, to standard output and standard error."""
    return scene.in_the_call("import sys; print(x.shape); print('mask:', mask is not None, file=sys.stderr)")


@attack(odd=True, behind=RIGHT)
def slow_but_right(scene: Scene) -> str:
    """Takes its time with every call."""
    return scene.in_the_call("import time; time.sleep(0.002)")


@attack(odd=True, behind=RIGHT)
def warns(scene: Scene) -> str:
    """Uses warnings, logging and an escape that Python warns of."""
    return scene.in_the_call('import logging, warnings; warnings.warn("old"); logging.warning("x"); path = "\\d"')


@attack(odd=True, behind=RIGHT)
def tries_itself(scene: Scene) -> str:
    """Tries itself at the end of the file, as a script does, and has a main guard, too."""
    return scene.after("""
        print(SelfAttention(4)(torch.zeros(1, 2, 4))[0].shape)
        if __name__ == "__main__":
            raise SystemExit("only as a script")
    """)


@attack(odd=True, behind=RIGHT)
def uses_its_scratch(scene: Scene) -> str:
    """Keeps notes in a temporary file, and cleans up."""
    return scene.in_the_call("""
        import tempfile
        with tempfile.NamedTemporaryFile("w+") as file:
            file.write(str(x.shape))
    """)


@attack(odd=True, behind=RIGHT)
def seeds_for_itself(scene: Scene) -> str:
    """Seeds everything while it is imported and sets torch's threads and printing."""
    return scene.at_import("""
        import random, torch
        random.seed(0); torch.manual_seed(0); torch.set_printoptions(precision=2); torch.set_num_threads(1)
    """)


@attack(odd=True, behind=RIGHT)
def name_with_spaces(scene: Scene) -> None:
    """A folder and a file with spaces, and the mark of a copy."""
    folder = scene.handed_in / "Ana Müller (2)"
    folder.mkdir()
    (folder / "Self Attention (1).py").write_text(scene.honest)


@attack(odd=True, behind=RIGHT)
def one_folder_deeper(scene: Scene) -> None:
    """The file in a folder in a folder, beside what a system leaves there."""
    deep = scene.folder / "homework" / "week 3"
    deep.mkdir(parents=True)
    (deep / FILE).write_text(scene.honest)
    (scene.folder / ".DS_Store").write_bytes(b"\0\0\0\1Bud1")
    (scene.folder / "__MACOSX").mkdir()
    (scene.folder / "__MACOSX" / f"._{FILE}").write_bytes(b"\0\5\x16\7")


@attack(odd=True, behind=RIGHT)
def as_a_notebook(scene: Scene) -> None:
    """A notebook with trials, plots and magics around the class."""
    texts = ["%matplotlib inline\n!pip install torch", scene.honest, "SelfAttention(4)(torch.zeros(1, 2, 4))"]
    cells = [{"cell_type": "code", "source": text, "outputs": [], "metadata": {}} for text in texts]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (scene.folder / "self_attention.ipynb").write_text(json.dumps(notebook))


@attack(odd=True, behind=RIGHT)
def imports_in_a_circle(scene: Scene) -> str:
    """Two files of its own that import one another."""
    (scene.folder / "scaling.py").write_text("import self_attention\n\n\ndef scale(d):\n    return d**0.5\n")
    return f"import scaling\n{scene.honest}"


@attack(odd=True, behind=RIGHT)
def a_package_of_its_own(scene: Scene) -> None:
    """A package whose modules import one another with dots."""
    package = scene.folder / "attention"
    (package / "tools").mkdir(parents=True)
    (package / "__init__.py").write_text("from .self_attention import SelfAttention\n")
    (package / "tools" / "__init__.py").touch()
    (package / "tools" / "scaling.py").write_text("def scale(d):\n    return d**0.5\n")
    honest = scene.honest.replace("math.sqrt(self.d_k)", "scale(self.d_k)")
    (package / FILE).write_text(f"from .tools.scaling import scale\n{honest}")


@attack(odd=True, behind=RIGHT)
def floods_in_no_encoding(scene: Scene) -> str:
    """Prints a megabyte in all, bytes that are no text among it."""
    return scene.in_the_call("import os; os.write(2, bytes(range(256)) * 200)")


@attack(odd=True, behind=RIGHT)
def without_standard_streams(scene: Scene) -> str:
    """Closes standard output and lets go of standard error."""
    return scene.at_import("import sys; sys.stdout.close(); sys.stderr = None")


@attack(odd=True, behind=RIGHT)
def strict_with_itself(scene: Scene) -> str:
    """Turns warnings into errors and asks torch for deterministic operations."""
    return scene.at_import("""
        import warnings, torch
        warnings.simplefilter("error")
        torch.use_deterministic_algorithms(True)
    """)


@attack(odd=True, behind=RIGHT)
def shows_a_plot(scene: Scene) -> str:
    """Would show a plot while it is imported, where there is matplotlib."""
    return scene.at_import("""
        try:
            import matplotlib.pyplot as plt
            plt.plot([1, 2]); plt.show()
        except ImportError:
            pass
    """)
