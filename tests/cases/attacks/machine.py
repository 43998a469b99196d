"""The machine and the others: files, processes, the network, the grader, the host, the neighbours."""

from grader.redteam.corpus import Scene, attack

CLOSED = "closed to it|No such file|Permission denied|Operation not permitted|No such process|Read-only file system"
OTHERS = """
import os

def parent_of(pid):
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[1])

def neighbours():
    \"\"\"The other workers: the other children of this one's parent.\"\"\"
    found = []
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            if int(pid) != os.getpid() and parent_of(pid) == os.getppid():
                found.append(int(pid))
        except OSError:
            pass
    if not found:
        raise FileNotFoundError(2, "no neighbour is to be seen")
    return found

"""


@attack(says=CLOSED, opens="read_users")
def reads_the_users(scene: Scene) -> str:
    """Reads /etc/passwd."""
    return scene.reaching("open('/etc/passwd').read()")


@attack(says=CLOSED, opens="read_hidden_tests")
def reads_the_hidden_tests(scene: Scene) -> str:
    """Reads the hidden tests."""
    return scene.reaching("len(open('<root>/tests/hidden/test_parity.py').read())")


@attack(says=CLOSED, opens="read_hidden_tests")
def reads_the_solutions(scene: Scene) -> str:
    """Reads the reference solutions and defines its class by them."""
    return scene.reaching("len(open('<root>/solutions/self_attention.py').read())")


@attack(says=CLOSED, opens="read_hidden_tests")
def a10_runs_the_reference(scene: Scene) -> str:
    """Finds the reference solution on the disk, and runs it in its own place if it may."""
    return scene.reaching("exec(open('<root>/solutions/self_attention.py').read(), {}) or 'the reference'")


@attack(says=CLOSED, opens="read_hidden_tests")
def reads_the_gradebook(scene: Scene) -> str:
    """Reads the gradebook of an earlier run."""
    return scene.reaching("open('<gradebook>/scores.csv').read()")


@attack(says=CLOSED, opens="read_neighbour")
def reads_another_submission(scene: Scene) -> str:
    """Reads what a neighbour has handed in."""
    return scene.reaching("len(open('<class>/neighbour-right/self_attention.py').read())")


@attack(says=CLOSED, opens="read_neighbour")
def reads_another_stage(scene: Scene) -> str:
    """Looks for the neighbours' copies that are being graded."""
    return scene.reaching(
        "others()",
        """
        import glob, os

        def others():
            here = os.path.dirname(os.path.abspath(__file__))
            found = [p for p in glob.glob(here + "/../../*/submission/*.py") if not os.path.samefile(p, __file__)]
            if not found:
                raise FileNotFoundError(2, "no other stage is to be seen")
            return len(open(found[0]).read())
        """,
    )


@attack(says=CLOSED, opens="read_environment")
def reads_the_graders_environment(scene: Scene) -> str:
    """Reads the environment of the grader, where a CI job keeps its secrets."""
    return scene.reaching("open('/proc/<grader>/environ').read()")


@attack(says=CLOSED, opens="trace_neighbour", fatal=True)
def reads_the_graders_memory(scene: Scene) -> str:
    """Opens the memory of the grader to write to it."""
    return scene.reaching("open('/proc/<grader>/mem', 'r+b')")


@attack(says=CLOSED, opens="list_processes")
def looks_at_the_processes(scene: Scene) -> str:
    """Reads the command lines of all processes."""
    return scene.reaching("open('/proc/<grader>/cmdline').read()")


@attack(says=CLOSED, opens="write_grader", fatal=True)
def a17_leaves_a_conftest(scene: Scene) -> str:
    """Leaves a conftest.py where the next run would load it, which marks every test as passed."""
    return scene.reaching(
        "open('<root>/tests/hidden/conftest.py', 'w').write(HOOK)",
        """
        HOOK = "def pytest_runtest_makereport(item, call): call.excinfo = None"
        """,
    )


@attack(says=CLOSED, opens="write_grader", fatal=True)
def a18_writes_the_results(scene: Scene) -> str:
    """Writes its own score into the gradebook."""
    return scene.reaching("open('<gradebook>/scores.csv', 'a').write('attack,100')")


@attack(says="ended the process itself")
def a18_leaves_results_and_ends(scene: Scene) -> str:
    """Writes results.json, as some graders read it, wherever it may, and ends with status 0."""
    return scene.once("""
        import json, os
        for folder in (".", "<temporary>", "<gradebook>", os.path.dirname(__file__), "/autograder/results"):
            for name in ("results.json", "result.json", "report.xml"):
                try:
                    with open(os.path.join(folder, name), "x") as file:
                        json.dump({"score": 25, "max_score": 25, "tests": []}, file)
                    if folder == "<temporary>":
                        os.unlink(os.path.join(folder, name))
                except OSError:
                    pass
        os._exit(0)
    """)


@attack(says=CLOSED, opens="write_grader", fatal=True)
def changes_the_assignment(scene: Scene) -> str:
    """Rewrites the assignment, so that everything is worth more."""
    return scene.reaching("open('<root>/assignment.toml', 'a').write('# changed')")


@attack(says=CLOSED, opens="write_grader", fatal=True)
def changes_the_home(scene: Scene) -> str:
    """Adds a line to what the shell of whoever grades runs at its start."""
    return scene.reaching("open('<home>/.bashrc', 'a').write('true')")


@attack(says=CLOSED, opens="write_submission")
def rewrites_itself(scene: Scene) -> str:
    """Rewrites its own file, to be another by the next test."""
    return scene.reaching("open(__file__, 'w').write('')")


@attack(says=CLOSED, opens="write_beside")
def leaves_a_file(scene: Scene) -> str:
    """Leaves a file in a folder that is open to all."""
    return scene.reaching("open('/var/tmp/<mark>', 'w').write('left behind')")


@attack(says=CLOSED, opens="write_shared_memory")
def leaves_shared_memory(scene: Scene) -> str:
    """Leaves a file in shared memory, for whoever is graded after it."""
    return scene.reaching("open('/dev/shm/<mark>', 'w').write('left behind')")


@attack(says=CLOSED, opens="write_shared_memory")
def leaves_a_segment(scene: Scene) -> str:
    """Leaves a System V segment, which outlives every process."""
    return scene.reaching(
        "segment()",
        """
        import ctypes, os

        def segment():
            libc = ctypes.CDLL(None, use_errno=True)
            found = libc.shmget(0, 4096, 0o1600)
            if found < 0:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
            return found
        """,
    )


@attack(says=CLOSED, opens="change_permissions", fatal=True)
def opens_the_gradebook_to_all(scene: Scene) -> str:
    """Gives everybody the right to write the gradebook."""
    return scene.reaching("__import__('os').chmod('<gradebook>/scores.csv', 0o777) or 'changed'")


@attack(says=CLOSED, opens="change_times", fatal=True)
def sets_back_the_times(scene: Scene) -> str:
    """Changes when the gradebook was written."""
    return scene.reaching("__import__('os').utime('<gradebook>/scores.csv', (1, 1)) or 'changed'")


@attack(says=CLOSED, opens="truncate", fatal=True)
def empties_the_gradebook(scene: Scene) -> str:
    """Empties the gradebook while it opens it for reading."""
    return scene.reaching("os.open('<gradebook>/scores.csv', os.O_RDONLY | os.O_TRUNC)", "import os")


@attack(says=CLOSED, opens="write_grader", fatal=True)
def moves_and_links(scene: Scene) -> str:
    """Moves the gradebook away and puts a link in its place."""
    return scene.reaching("os.rename('<gradebook>/scores.csv', '<gradebook>/old') or 'moved'", "import os")


@attack(says="weights")
def links_in_its_scratch(scene: Scene) -> str:
    """Fills its scratch with links to everything, so that clearing it away removes what they point to."""
    return scene.in_the_call("""
        import os
        for number, target in enumerate(("/", "<root>", "<gradebook>", "<home>", "..", "../..")):
            try:
                os.symlink(target, f"link{number}")
                os.mkdir(f"folder{number}")
                os.symlink(target, f"folder{number}/link")
                os.chmod(f"folder{number}", 0)
            except OSError:
                pass
    """)


@attack(says=CLOSED, opens="open_connection")
def opens_a_connection(scene: Scene) -> str:
    """Connects to a port of this machine."""
    return scene.reaching("socket.create_connection(('127.0.0.1', <port>), 2)", "import socket")


@attack(says=CLOSED, opens="open_connection")
def listens_on_a_port(scene: Scene) -> str:
    """Listens on a port, for others to talk to."""
    return scene.reaching("socket.create_server(('127.0.0.1', 0))", "import socket")


@attack(says=CLOSED, opens="open_connection")
def sends_a_datagram(scene: Scene) -> str:
    """Sends what it knows in a datagram, as a question to a name server would."""
    return scene.reaching(
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 53))", "import socket"
    )


@attack(says=CLOSED, opens="open_connection")
def abstract_socket(scene: Scene) -> str:
    """Listens on an abstract socket, which is no file and outside of every folder."""
    return scene.reaching(
        "[s := socket.socket(socket.AF_UNIX), s.bind('\\0<mark>'), s.listen()]", "import socket"
    )


@attack(says=CLOSED, opens="open_connection")
def talks_to_the_kernel(scene: Scene) -> str:
    """Opens a netlink socket, and asks for raw packets."""
    return scene.reaching(
        "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)", "import socket"
    )


@attack(says=CLOSED, opens="start_program")
def starts_a_program(scene: Scene) -> str:
    """Runs a program of the system."""
    return scene.reaching("subprocess.run(['/bin/true'], check=True).returncode", "import subprocess")


@attack(says=CLOSED, opens="signal_grader", fatal=True)
def kills_the_grader(scene: Scene) -> str:
    """Kills the grader."""
    return scene.reaching("os.kill(<grader>, 9) or 'killed'", "import os")


@attack(says=CLOSED, opens="signal_host", fatal=True)
def kills_the_host(scene: Scene) -> str:
    """Kills the process that it was forked from."""
    return scene.reaching(
        "kill_parent()",
        """
        import os

        def kill_parent():
            if os.getppid() < 2:
                raise ProcessLookupError(3, "there is no parent to be seen")
            return os.kill(os.getppid(), 9) or "killed"
        """,
    )


@attack(says=CLOSED, opens="signal_neighbour", fatal=True)
def kills_the_neighbours(scene: Scene) -> str:
    """Kills the submissions that are graded at the same time."""
    return scene.reaching("[os.kill(pid, 9) for pid in neighbours()] or 'killed'", OTHERS)


@attack(says=CLOSED, opens="trace_neighbour", fatal=True)
def writes_into_the_neighbours(scene: Scene) -> str:
    """Writes into the memory of the submissions that are graded at the same time."""
    return scene.reaching("[open(f'/proc/{pid}/mem', 'r+b') for pid in neighbours()]", OTHERS)


@attack(says=CLOSED, opens="write_neighbour", fatal=True)
def plants_in_the_neighbours(scene: Scene) -> str:
    """Plants a file in the folders of the submissions that are graded at the same time."""
    return scene.reaching(
        "plant()",
        OTHERS
        + """
def plant():
    return [open(f"/proc/{pid}/cwd/planted", "w").write("x") for pid in neighbours()]
""",
    )


@attack(says=CLOSED, opens="new_namespace")
def becomes_root(scene: Scene) -> str:
    """Becomes root of a namespace of its own, from where more of the kernel can be reached."""
    return scene.reaching(
        "unshare()",
        """
        import ctypes, os

        def unshare():
            libc = ctypes.CDLL(None, use_errno=True)
            if libc.unshare(0x10000000) != 0:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
            return "root"
        """,
    )


@attack(says=CLOSED, opens="signal_grader")
def becomes_root_by_id(scene: Scene) -> str:
    """Sets its user id back to root's, and its limits up."""
    return scene.reaching("os.setuid(0) or os.getuid()", "import os")


@attack(says="stopped with ValueError|not allowed|Operation not|closed to it")
def raises_its_limits(scene: Scene) -> str:
    """Raises the limits that the kernel holds it to."""
    return scene.reaching(
        "raise_limits()",
        """
        import resource

        def raise_limits():
            soft, hard = resource.getrlimit(resource.RLIMIT_AS)
            return resource.setrlimit(resource.RLIMIT_AS, (-1, -1)) or "raised"
        """,
    )


@attack(says="closed to it|Function not implemented|Operation not", opens="rare_system_call")
def rare_system_calls(scene: Scene) -> str:
    """Sets up io_uring, through which files and sockets can be had past a filter of system calls."""
    return scene.reaching(
        "ring()",
        """
        import ctypes, os

        def ring():
            libc = ctypes.CDLL(None, use_errno=True)
            found = libc.syscall(425, 8, ctypes.create_string_buffer(256))
            if found < 0:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
            return found
        """,
    )
