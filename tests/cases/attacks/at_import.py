"""What happens while the file is imported: ends, and tampering with everything that can be reached."""

from grader.authoring.attacks import Scene, attack


@attack(says="stopped with SystemExit")
def a01_exit_at_import(scene: Scene) -> str:
    """Ends the process with status 0 while it is imported."""
    return scene.at_import("import sys; sys.exit(0)")


@attack(says=r"ended the process itself \(exit code 0\)")
def exit_hard_at_import(scene: Scene) -> str:
    """Ends the process with status 0, past all that Python would still do."""
    return scene.at_import("import os; os._exit(0)")
