"""What people and programs read afterwards: messages, the table, scores.csv, a CI service's log."""

from grader.redteam.corpus import FILE, Code, Scene, attack

WRONG_AS_EVER = "attention weights"


def called(scene: Scene, name: str) -> None:
    """A submission whose folder has that name."""
    folder = scene.handed_in / name
    folder.mkdir()
    (folder / FILE).write_text(scene.honest)


def raising(scene: Scene, text: str, name: str = "Mine") -> str:
    """Code that raises an exception with that text and class name."""
    return scene.in_the_call(f"raise type({name!r}, (Exception,), {{}})({text!r})")


@attack(says="stopped with Mine: .*green")
def escapes_in_a_message(scene: Scene) -> str:
    """An exception whose text clears the screen, recolours it and renames the window."""
    return raising(scene, "\x1b[2J\x1b[32mgreen\x1b]0;owned\x07 \x9b31m \r all passed")


@attack(says=r"stopped with .*Error: x")
def escapes_in_a_class_name(scene: Scene) -> str:
    """An exception whose class has escapes and line breaks in its name."""
    return raising(scene, "x", "\x1b[2J\nScore: 25\x08Error")


@attack(says="stopped with Mine")
def direction_turned_round(scene: Scene) -> str:
    """An exception whose text turns the direction of reading round."""
    return raising(scene, "\u202edessap lla\u202c \u2066 \u200f passed")


@attack(says="stopped with Mine: first")
def lines_that_pose_as_ours(scene: Scene) -> str:
    """An exception whose text has lines that read as the grader's own."""
    return raising(scene, "first\nIt looks like: All is well.\n::error::owned\n##[error]x\nScore: 25 / 25")


@attack(says="stopped with Mine")
def markup_in_a_message(scene: Scene) -> str:
    """An exception whose text is markup, HTML and a template."""
    return raising(scene, "[bold red]x[/] [/] <script>alert(1)</script> {{7*7}} ${x} %s %(x)s {0} </pre>")


@attack(says="stopped with Mine")
def formula_in_a_message(scene: Scene) -> str:
    """An exception whose text is a formula for a spreadsheet."""
    return raising(scene, "=HYPERLINK(\"http://example.org\",\"x\")\n+1\n@SUM(1)")


@attack(says="stopped with Mine")
def breaks_json(scene: Scene) -> str:
    """An exception whose text ends strings, lines and encodings."""
    return raising(scene, "\"}],\"score\":25,\\ \u2028 \ud800 \udfff \x00 \ufeff \uffff")


@attack(says="stopped with Mine")
def megabytes_of_message(scene: Scene) -> str:
    """An exception with fifty megabytes of text and a name of a megabyte."""
    return scene.once("raise type('Mine' + 'e' * 10**6, (Exception,), {})('x' * 5 * 10**7)")


@attack(says="stopped with Mine|stopped with")
def line_with_escapes(scene: Scene) -> str:
    """A line of its own, shown with the message, that holds escapes and is endless."""
    line = "raise Mine('x')  # \x1b[2J\x1b[31m " + "y" * 100_000
    return f"class Mine(Exception):\n    pass\n\n\n{scene.in_the_call(line)}"


@attack(says="SyntaxError|stopped with")
def syntax_error_of_its_own(scene: Scene) -> str:
    """A SyntaxError made by hand that points to a line of a file that students must not read."""
    return scene.in_the_call("""
        error = SyntaxError("made up")
        error.filename, error.lineno, error.text = "<root>/tests/hidden/test_parity.py", 12, "secret"
        raise error
    """)


@attack(says=r"cannot import name 'SelfAttention' from .* \(self_attention\.py\)")
def circle_of_imports(scene: Scene) -> str:
    """Two files whose imports go in a circle, of which Python would say where they lie."""
    (scene.folder / "scaling.py").write_text("from self_attention import SelfAttention\n\nscale = 1\n")
    return f"from scaling import scale\n{scene.honest}"


@attack(says="stopped with")
def traceback_of_its_own(scene: Scene) -> str:
    """Code compiled under the name of a hidden test, so that a traceback would quote that file."""
    return scene.in_the_call("""
        code = "\\n" * 20 + "raise ValueError('from there')"
        exec(compile(code, "<root>/tests/hidden/test_parity.py", "exec"))
    """)


@attack(says="stopped with|weights")
def line_cache_poisoned(scene: Scene) -> str:
    """Changes what the lines of its file are taken to be."""
    return scene.in_the_call("""
        import linecache
        linecache.cache[__file__] = (1, None, ["\\x1b[31mforged line " * 1000] * 500, __file__)
        raise ValueError("look at the line")
    """)


@attack(says="object of type")
def escapes_in_a_type(scene: Scene) -> str:
    """Returns objects whose type has escapes in its name."""
    return scene.in_the_call("""
        kind = type("\\x1b[2J\\x1b[1mFull\\nmarks", (), {"__module__": "\\x1b[31m"})
        return kind(), kind()
    """)


@attack(says="matrix|parameter|has no parameter|names")
def escapes_in_a_parameter(scene: Scene) -> str:
    """Names its parameters with escapes and line breaks."""
    return scene.after("""
        _init = SelfAttention.__init__
        def __init__(self, *args, **kwargs):
            _init(self, *args, **kwargs)
            weight = self.W_Q.weight
            del self.W_Q
            self._parameters["\\x1b[2J\\nW_Q"] = weight
            self._parameters["=1+1" * 5000] = weight
        SelfAttention.__init__ = __init__
    """)


@attack(says="printed|weights")
def warnings_and_prints(scene: Scene) -> str:
    """Warns and prints escapes, orders to a CI service and full marks."""
    return scene.in_the_call("""
        import sys, warnings
        for stream in (sys.stdout, sys.stderr):
            print("\\x1b[2J::error::owned\\n##vso[task.complete result=Succeeded;]\\n::set-output name=score::25", file=stream)
        warnings.warn("\\x1b[31mdo not look")
    """)


@attack(says=WRONG_AS_EVER)
def name_with_escapes(scene: Scene) -> None:
    """A folder whose name clears the screen and breaks the line."""
    called(scene, "\x1b[2J\x1b[31mattack\r\nneighbour-right 25")


@attack(says=WRONG_AS_EVER)
def name_that_orders(scene: Scene) -> None:
    """A folder whose name is an order to a CI service, at the start of a line of its log."""
    called(scene, "::error::owned by attack")


@attack(says=WRONG_AS_EVER)
def name_that_orders_elsewhere(scene: Scene) -> None:
    """A folder whose name is an order to another CI service, wherever it stands in a line."""
    called(scene, "x##vso[task.complete result=Succeeded;]")


@attack(says=WRONG_AS_EVER)
def name_that_is_a_formula(scene: Scene) -> None:
    """A folder whose name is a formula for a spreadsheet."""
    called(scene, "=cmd|' -C calc'!A0")


@attack(says=WRONG_AS_EVER)
def name_that_is_an_option(scene: Scene) -> None:
    """A folder whose name begins with a dash, and is markup."""
    called(scene, "--resume [bold red]x[bold]")


@attack(says=WRONG_AS_EVER)
def name_turned_round(scene: Scene) -> None:
    """A folder whose name reads as a neighbour's, by turning the direction round."""
    called(scene, "\u202ethgir-ruobhgien")


@attack(says=WRONG_AS_EVER)
def name_that_is_no_text(scene: Scene) -> None:
    """A folder whose name is no UTF-8."""
    called(scene, "attack\udcff\udc80")


@attack(says=WRONG_AS_EVER)
def name_that_spells_out_another(scene: Scene) -> None:
    """Two folders, of which one spells out in its name the byte that the other has there."""
    called(scene, "attack\udcff")
    called(scene, "attack\\xff")


@attack(says=WRONG_AS_EVER)
def name_as_long_as_can_be(scene: Scene) -> None:
    """A folder with the longest name there can be."""
    called(scene, "a" * 250)


@attack(behind=Code.NOTHING, says="no code")
def name_in_a_message(scene: Scene) -> None:
    """A folder without code, whose name is an order and an escape, and is quoted in the message."""
    (scene.handed_in / "::error::\x1b[31mowned").mkdir()
    (scene.handed_in / "::error::\x1b[31mowned" / "notes.txt").write_text("nothing")


@attack(says="is not valid Python|invalid syntax")
def syntax_error_with_escapes(scene: Scene) -> str:
    """Source whose broken line holds escapes and would be quoted."""
    return f"{scene.honest}\nx = '\x1b[2J\x1b[31m' '=1+1' def ::error::\n"
