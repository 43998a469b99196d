"""Using too much: memory, processes, threads, files, output, processor time."""

from grader.redteam.corpus import Scene, attack


@attack(says="MiB of memory")
def a31_huge_allocation(scene: Scene) -> str:
    """Asks for a terabyte at once."""
    return scene.once("import torch; torch.ones(2**38)")


@attack(says="MiB of memory")
def grows_for_ever(scene: Scene) -> str:
    """Keeps all it ever makes, a little more with every step."""
    return scene.once("""
        import torch
        kept = []
        while True:
            kept.append(torch.ones(2**24))
    """)


@attack(says="MiB of memory|memory")
def maps_memory(scene: Scene) -> str:
    """Maps memory past Python's and torch's own allocators, shared and not."""
    return scene.once("""
        import mmap
        kept = []
        while True:
            kept.append(mmap.mmap(-1, 2**27))
            kept[-1].write(b"x" * 2**27)
    """)


@attack(says="MiB of memory")
def python_memory(scene: Scene) -> str:
    """Makes a whole number of a trillion digits."""
    return scene.once("1 << 2**43")


@attack(says="processes and threads|closed to it|not an answer|more than one frame", seconds=5.0)
def fork_bomb(scene: Scene) -> str:
    """Forks without end."""
    return scene.once("""
        import os
        while True:
            os.fork()
    """)


@attack(says="processes and threads", seconds=5.0)
def thread_bomb(scene: Scene) -> str:
    """Starts threads without end."""
    return scene.once("""
        import threading, time
        while True:
            threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    """)


@attack(says="No answer within 1 s|processor time|processes and threads", seconds=1.0)
def burns_in_threads(scene: Scene) -> str:
    """Computes without end in many threads at once."""
    return scene.once("""
        import hashlib, threading
        work = lambda: [hashlib.sha256(b"x" * 10**7) for _ in range(10**6)]
        for _ in range(16):
            threading.Thread(target=work, daemon=True).start()
        work()
    """)


@attack(says="printed [0-9,]+ bytes")
def a33_floods_the_output(scene: Scene) -> str:
    """Prints three megabytes with every call."""
    return scene.in_the_call("print('spam and eggs ' * 100_000, flush=True)")


@attack(says="printed [0-9,]+ bytes|No answer within 1 s", seconds=1.0)
def floods_without_an_end(scene: Scene) -> str:
    """Writes to standard error for ever, without a line's end."""
    return scene.once("""
        import os
        while True:
            os.write(2, b"x" * 65536)
    """)


@attack(says="files of up to 64 MiB|filled its folder", seconds=5.0)
def enormous_file(scene: Scene) -> str:
    """Writes one file until the disk would be full."""
    return scene.once("""
        with open("large", "wb") as file:
            while True:
                file.write(b"x" * 2**20)
    """)


@attack(says="filled its folder", seconds=5.0)
def many_files(scene: Scene) -> str:
    """Makes folders until the disk has no more room for names."""
    return scene.in_the_call("""
        import os
        made = [entry for entry in os.listdir() if entry.isdecimal()]
        for entry in made:  # once is enough
            os.rmdir(entry)
        if not os.path.exists("done"):
            open("done", "w").close()
            for number in range(10**9):
                os.mkdir(str(number))
    """)


@attack(says="filled its folder", seconds=5.0)
def deep_folders(scene: Scene) -> str:
    """Nests folders deeper than any path can name."""
    return scene.once("""
        import os, time
        for _ in range(3000):
            os.mkdir("deeper")
            os.chdir("deeper")
        time.sleep(60)
    """)


@attack(says="128 files open")
def opens_everything(scene: Scene) -> str:
    """Opens descriptors until there are none left."""
    return scene.once("""
        import os
        kept = []
        while True:
            kept.append(os.open("/dev/null", os.O_RDONLY))
    """)


@attack(says="weights|files of up to 64 MiB|File too large|closed to it")
def sparse_file(scene: Scene) -> str:
    """Makes a file of a terabyte that holds nothing."""
    return scene.in_the_call("""
        with open("sparse", "wb") as file:
            file.truncate(2**40)
    """)


@attack(says="weights|stopped with")
def deleted_but_open(scene: Scene) -> str:
    """Writes to files that are deleted already, where no name shows what they hold."""
    return scene.in_the_call("""
        import os
        kept = globals().setdefault("_kept", [])
        if len(kept) < 4:
            kept.append(open(f"gone{len(kept)}", "wb"))
            os.unlink(kept[-1].name)
            kept[-1].write(b"x" * 2**22)
    """)


@attack(says="weights|closed to it|stopped with", opens="write_shared_memory")
def semaphores(scene: Scene) -> str:
    """Makes named semaphores and shared memory and never releases them."""
    return scene.in_the_call("""
        from multiprocessing import shared_memory
        shared_memory.SharedMemory(name="<mark>", create=True, size=4096)
    """)
