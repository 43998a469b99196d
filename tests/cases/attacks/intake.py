"""What is handed in, before any of it runs: archives, links, odd files, names, encodings, shadows."""

import io
import json
import os
import socket
import stat
import warnings
import zipfile

from grader.redteam.corpus import FILE, Code, Scene, attack

WRONG_AS_EVER = "attention weights"


def archived(scene: Scene, name: str = "attack.zip", **members: bytes | str) -> zipfile.ZipFile:
    """A new archive in the class's folder, open for more members."""
    archive = zipfile.ZipFile(scene.handed_in / name, "w", zipfile.ZIP_DEFLATED)
    for member, content in members.items():
        archive.writestr(member, content)
    return archive


# archives


@attack(says="outside its folder")
def zip_slips_out(scene: Scene) -> None:
    """An archive with a file that would land in the folder above."""
    with archived(scene) as archive:
        archive.writestr(FILE, scene.honest)
        archive.writestr("../neighbour-right/self_attention.py", "raise SystemExit")


@attack(says="not a plain relative path")
def zip_with_absolute_names(scene: Scene) -> None:
    """An archive with a file whose name begins at the root."""
    with archived(scene) as archive:
        archive.writestr(f"/var/tmp/{scene.mark}", "written")
        archive.writestr(FILE, scene.honest)


@attack(says="not a plain relative path")
def zip_with_names_of_windows(scene: Scene) -> None:
    """An archive with a drive's letter and backslashes in its names."""
    with archived(scene) as archive:
        archive.writestr("C:\\..\\..\\evil.py", "raise SystemExit")
        archive.writestr(FILE, scene.honest)


@attack(says="link or a device")
def zip_with_a_link(scene: Scene) -> None:
    """An archive with a symbolic link in place of the file."""
    entry = zipfile.ZipInfo(FILE)
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    with archived(scene) as archive:
        archive.writestr(entry, f"{scene.root}/solutions/self_attention.py")


@attack(says="link or a device")
def zip_with_a_device(scene: Scene) -> None:
    """An archive with a device in place of the file."""
    entry = zipfile.ZipInfo(FILE)
    entry.external_attr = (stat.S_IFCHR | 0o666) << 16
    with archived(scene) as archive:
        archive.writestr(entry, b"")


@attack(says="zip bomb|larger than|unpacks to")
def zip_bomb(scene: Scene) -> None:
    """An archive of a few kilobytes that unpacks to 64 MiB."""
    with archived(scene) as archive, archive.open(FILE, "w", force_zip64=True) as member:
        for _ in range(8):
            member.write(b"#" * 2**23)


@attack(says="zip bomb|larger than|unpacks to|cannot be read|Bad")
def zip_that_lies_about_sizes(scene: Scene) -> None:
    """An archive whose directory says that the bomb in it is small."""
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(FILE, b"#" * 2**26)
    content = memory.getvalue().replace((2**26).to_bytes(4, "little"), (100).to_bytes(4, "little"))
    (scene.handed_in / "attack.zip").write_bytes(content)


@attack(says="files, more than the")
def zip_of_many(scene: Scene) -> None:
    """An archive with more files than anybody writes."""
    with archived(scene) as archive:
        archive.writestr(FILE, scene.honest)
        for number in range(20_000):
            archive.writestr(f"{number}.py", "")


@attack(says="archive inside an archive|no \\.py or \\.ipynb")
def zip_in_a_zip(scene: Scene) -> None:
    """An archive in an archive in an archive, each of which is the next."""
    content = scene.honest.encode()
    for depth in range(20):
        memory = io.BytesIO()
        with zipfile.ZipFile(memory, "w") as archive:
            archive.writestr(FILE if depth == 0 else "again.zip", content)
        content = memory.getvalue()
    (scene.handed_in / "attack.zip").write_bytes(content)


@attack(says="two different files called")
def zip_with_a_name_twice(scene: Scene) -> None:
    """An archive with two files of one name, of which one reader shows the first, another the last."""
    with archived(scene) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        archive.writestr(FILE, scene.honest)
        archive.writestr(FILE, "raise SystemExit")


@attack(says="encrypted")
def zip_with_a_password(scene: Scene) -> None:
    """An archive that says it is encrypted."""
    with archived(scene) as archive:
        archive.writestr(FILE, scene.honest)
    path = scene.handed_in / "attack.zip"
    content = bytearray(path.read_bytes())
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(bytes(content))


@attack(says="not a zip archive that can be read")
def zip_cut_short(scene: Scene) -> None:
    """An archive of which the end is missing."""
    with archived(scene) as archive:
        archive.writestr(FILE, scene.honest * 20)
    path = scene.handed_in / "attack.zip"
    path.write_bytes(path.read_bytes()[:-40])


@attack(says="kind that is not read|zip archive that can be read")
def zip_that_is_none(scene: Scene) -> None:
    """A program with the name of an archive."""
    (scene.handed_in / "attack.zip").write_bytes(b"\x7fELF" + os.urandom(4096))


@attack(says="longer than a disk takes")
def zip_with_endless_names(scene: Scene) -> None:
    """An archive with names of sixty thousand characters, made to be looked at again and again."""
    with archived(scene) as archive:
        archive.writestr(FILE, scene.honest)
        archive.writestr(f"x{'-1' * 30_000}.py", "")
        archive.writestr(f"x{' ' * 60_000}y.py", "")


@attack(behind=Code.WRONG, says=WRONG_AS_EVER)
def zip_with_odd_names(scene: Scene) -> None:
    """An archive whose other names hold escapes, line breaks, and orders to a spreadsheet."""
    with archived(scene) as archive:
        archive.writestr(FILE, scene.honest)
        for name in ("\x1b[2Jcleared.py", "a\nb.py", "=cmd|' /C calc'!A0.py", "\u202eyp.live", "-rf.py", " .py"):
            archive.writestr(name, "raise SystemExit")


# links and kinds of files


@attack(says="link|plain file")
def link_to_the_users(scene: Scene) -> None:
    """A symbolic link to /etc/passwd in place of the file."""
    (scene.folder / FILE).symlink_to("/etc/passwd")


@attack(says="link|plain file")
def link_to_the_solution(scene: Scene) -> None:
    """A symbolic link to the reference solution in place of the file."""
    (scene.folder / FILE).symlink_to(scene.root / "solutions" / FILE)


@attack(says="link|plain file")
def link_to_a_neighbour(scene: Scene) -> None:
    """A symbolic link to another submission in place of its own folder."""
    (scene.handed_in / "attack").symlink_to(scene.handed_in / "neighbour-right")


@attack(says="no code|link")
def links_in_a_circle(scene: Scene) -> None:
    """Folders that are links to one another and to their own parents."""
    (scene.folder / "a").symlink_to(scene.folder / "b")
    (scene.folder / "b").symlink_to(scene.folder)
    (scene.folder / "c").symlink_to("/")


@attack(says="plain file|pipe|not a file|FIFO")
def pipe_in_place_of_the_file(scene: Scene) -> None:
    """A named pipe, which keeps whoever opens it waiting for ever."""
    os.mkfifo(scene.folder / FILE)


@attack(says="plain file|socket|not a file")
def socket_in_place_of_the_file(scene: Scene) -> None:
    """A socket in place of the file."""
    here = os.getcwd()
    os.chdir(scene.folder)  # a socket's path must be short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(FILE)
    finally:
        os.chdir(here)


@attack(says="no code|folder")
def folder_called_like_the_file(scene: Scene) -> None:
    """A folder with the name of the file."""
    (scene.folder / FILE).mkdir()
    (scene.folder / FILE / "notes.txt").write_text("nothing")


@attack(behind=Code.WRONG, says=WRONG_AS_EVER)
def hard_link_to_the_solution(scene: Scene) -> str:
    """A hard link to a file of the grader's beside its own."""
    os.link(scene.gradebook / "scores.csv", scene.folder / "scores.py")
    return scene.honest


@attack(says="could not be opened|larger than|no code|is empty")
def sparse_source(scene: Scene) -> None:
    """A file of a terabyte that holds nothing."""
    with (scene.folder / FILE).open("wb") as file:
        file.truncate(2**40)


@attack(says="is defined in 2 files")
def two_answers(scene: Scene) -> None:
    """Two files that define the same class, of which one might be taken for the other."""
    (scene.folder / FILE).write_text(scene.honest)
    (scene.folder / "other").mkdir()
    (scene.folder / "other" / FILE).write_text(scene.honest.replace("dim=-1", "dim=1"))


@attack(behind=Code.WRONG, says=WRONG_AS_EVER)
def thousand_files(scene: Scene) -> str:
    """A thousand files beside its own."""
    for number in range(1000):
        (scene.folder / f"notes_{number}.py").write_text(f"number = {number}\n")
    return scene.honest


@attack(behind=Code.WRONG, says=WRONG_AS_EVER)
def a26_shadows_beside_it(scene: Scene) -> str:
    """Files beside its own that have the names of libraries, of settings and of the grader's own parts."""
    shadows = ("torch", "math", "pytest", "conftest", "sitecustomize", "usercustomize", "json", "site", "__init__")
    for name in shadows:
        (scene.folder / f"{name}.py").write_text("raise SystemExit(0)\n")
    for name in ("grader", "tests", "torch", "safetensors"):
        (scene.folder / name).mkdir()
        (scene.folder / name / "__init__.py").write_text("raise SystemExit(0)\n")
    (scene.folder / "pytest.ini").write_text("[pytest]\naddopts = --collect-only\n")
    (scene.folder / "pyproject.toml").write_text("[tool.pytest.ini_options]\naddopts = '--co'\n")
    (scene.folder / "evil.pth").write_text("import os; os._exit(0)\n")
    return f"import json\nimport math\n{scene.honest}"


@attack(says="stopped with|no module|cannot be|ended the process")
def a26_imports_its_shadows(scene: Scene) -> str:
    """Imports a module of its own that has the name of the grader's package."""
    (scene.folder / "grader").mkdir()
    (scene.folder / "grader" / "__init__.py").write_text("import sys; sys.exit(0)\n")
    (scene.folder / "conftest.py").write_text("import sys; sys.exit(0)\n")
    return f"import conftest\nimport grader.scoring\n{scene.honest}"


# what the text is


@attack(says=r"line 24|is not valid Python")
def a37_syntax_error(scene: Scene) -> str:
    """Source that is no Python."""
    return f"{scene.honest}\ndef (:\n"


@attack(says="tabs and spaces are mixed")
def a40_tabs_and_spaces(scene: Scene) -> str:
    """Source in which tabs and spaces are mixed."""
    return f"{scene.honest}\nif True:\n        a = 1\n\tb = 2\n"


@attack(says="NUL bytes")
def a41_nul_byte(scene: Scene) -> str:
    """Source with a NUL in it, where readers written in C stop reading."""
    return scene.honest + "\0\nraise SystemExit\n"


@attack(says="cannot be read as text: unknown encoding")
def encoding_without_end(scene: Scene) -> str:
    """Source in an encoding with a name of a million letters."""
    return f"# coding: {'a' * 1_000_000}\n{scene.honest}"


@attack(behind=Code.NOTHING, says="is spelled differently from")
def class_name_without_end(scene: Scene) -> str:
    """A class that is nearly called as it should be, with half a million underscores."""
    return f"class Self{'_' * 500_000}Attention:\n    pass\n"


@attack(behind=Code.NOTHING, says="is empty")
def a42_empty(scene: Scene) -> str:
    """A file of nothing."""
    return ""


@attack(says="UTF-16")
def a43_utf16(scene: Scene) -> bytes:
    """Source in UTF-16, as some editors save it."""
    return scene.honest.encode("utf-16")


@attack(says="not UTF-8 text")
def latin1_without_a_word(scene: Scene) -> bytes:
    """Source in Latin-1 that does not say so."""
    return f"{scene.honest.encode('ascii', 'ignore').decode()}\n# caf\xe9\n".encode("latin-1")


@attack(says="declares the encoding unicode_escape")
def encoding_that_runs_code(scene: Scene) -> str:
    """Source in an encoding in which the same bytes are read as another text."""
    return f"# coding: unicode_escape\n# \\nraise SystemExit\n{scene.honest}"


@attack(says="nested too deeply|too deeply|too many|is not valid Python")
def nested_too_deeply(scene: Scene) -> str:
    """Source with a hundred thousand brackets in one another, which is more than a parser's stack holds."""
    return f"{scene.honest}\nx = {'(' * 100_000}{')' * 100_000}\n"


@attack(says="nested too deeply|recursion|RecursionError|too many")
def chain_without_end(scene: Scene) -> str:
    """Source with an expression of fifty thousand operators, which only the compiler finds too deep."""
    return f"{scene.honest}\nx = {'-' * 50_000}1\n"


@attack(says="No answer within 1 s|memory|weights", seconds=1.0)
def constant_without_end(scene: Scene) -> str:
    """Source with constants that take for ever to work out, if the compiler tries."""
    return f"{scene.honest}\nx = 9**9**9**9\ny = 'a' * 10**12\n"


@attack(says="larger than 1 MiB")
def enormous_source(scene: Scene) -> str:
    """Source of ten megabytes."""
    return scene.honest + "# nothing to see here\n" * 500_000


@attack(says="is not a notebook")
def notebook_nested_deeply(scene: Scene) -> None:
    """A notebook whose JSON is nested a hundred thousand deep."""
    (scene.folder / "self_attention.ipynb").write_text('{"cells": ' + "[" * 100_000 + "]" * 100_000 + "}")


@attack(says="larger than|cells")
def notebook_with_huge_outputs(scene: Scene) -> None:
    """A notebook with ten megabytes of output."""
    cell = {"cell_type": "code", "source": scene.honest, "outputs": [{"text": "x" * 10**7}], "metadata": {}}
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (scene.folder / "self_attention.ipynb").write_text(json.dumps(notebook))


@attack(behind=Code.WRONG, says=WRONG_AS_EVER)
def notebook_with_magics(scene: Scene) -> None:
    """A notebook with cells that would run programs where notebooks are run."""
    sources = ["!touch <mark>\n%run evil.py", "%%bash\ntouch evil", scene.honest, "raise SystemExit(0)"]
    cells = [{"cell_type": "code", "source": text, "outputs": [], "metadata": {}} for text in sources]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (scene.folder / "self_attention.ipynb").write_text(json.dumps(notebook))


@attack(behind=Code.NOTHING, says="NotImplementedError|not been written|left as it was|stopped with|pair")
def stub_unchanged(scene: Scene) -> str:
    """The stub, handed in as it was handed out."""
    return (scene.root / "exercises" / FILE).read_text(encoding="utf-8")


@attack(behind=Code.NOTHING, says="no code|was not handed in")
def nothing_at_all(scene: Scene) -> None:
    """An empty folder."""
    scene.folder.touch()
