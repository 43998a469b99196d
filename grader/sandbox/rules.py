"""What a worker of each level may still do: found out once, in the host, before any worker is forked."""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from grader.sandbox.levels import ROOT, Level

# libraries and what they look up; no settings, no users, no secrets
_SYSTEM = (
    *("/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/local/lib"),
    *("/etc/ld.so.cache", "/etc/localtime", "/usr/share/zoneinfo", "/usr/share/locale"),
    *("/etc/fonts", "/usr/share/fonts", "/usr/share/fontconfig", "/usr/local/share/fonts"),
    *("/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu", "/sys/devices/system/node"),
    *("/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"),
)
_WRITABLE = ("/dev/null",)
# what NVIDIA's and AMD's drivers read, and the devices they talk to
_DRIVERS_READ = (
    *("/proc/driver/nvidia", "/proc/devices", "/proc/modules", "/proc/self", "/sys/bus/pci", "/sys/module"),
    *(
        "/sys/devices",
        "/sys/class/kfd",
        "/sys/class/drm",
        "/usr/local/cuda",
        "/opt/rocm",
        "/etc/alternatives",
    ),
)
_DRIVERS_DEVICES = ("nvidia*", "nvidia-caps/*", "kfd", "dri/*")


@dataclass(frozen=True)
class Rules:
    """What a worker applies to itself; ``readable`` and ``writable`` are files and whole folders."""

    level: Level
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    filter: bytes = b""
    keep_reading: bool = False  # the interpreter lies where only root may go: keep that one right

    @property
    def confines(self) -> bool:
        return self.level >= Level.CONFINED


def find_rules(level: Level, *, accelerator: bool = False) -> Rules:
    """The rules of that level on this machine.

    ``accelerator``: a real one is used, so let its driver through, too. Raises ImportError, OSError
    or RuntimeError where the level cannot be had.
    """
    libraries = library_paths()
    closed = os.name == "posix" and os.geteuid() == 0 and not all(map(_open_to_all, libraries))
    if level < Level.CONFINED:
        return Rules(level, keep_reading=closed)
    import landlockpy

    from grader.sandbox.syscalls import build_filter

    abi = landlockpy.abi_version()
    if abi < 1:
        raise OSError("this kernel has no Landlock, or it was not turned on")
    readable = _existing((*libraries, *_SYSTEM, *(_DRIVERS_READ if accelerator else ())))
    writable = _existing((*_WRITABLE, *(driver_devices() if accelerator else ())))
    program = build_filter(truncation=abi < 3, device_memory=accelerator)
    return Rules(level, readable, writable, program, closed)


def library_paths() -> tuple[str, ...]:
    """Where Python's modules and their native libraries come from: folders and zip files, links resolved."""
    return _outermost(list(_existing(library_names())))


def library_names() -> list[str]:
    """The same by the names that Python knows them by, which may lead through links."""
    paths = sysconfig.get_paths()
    found = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    found += [entry for entry in sys.path if entry]
    found += site.getsitepackages()
    found += [str(sysconfig.get_config_var("LIBDIR") or "")]
    found += os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
    return [
        path for path in found if path and os.path.exists(path) and not _holds(os.path.realpath(path), ROOT)
    ]


def driver_devices() -> list[str]:
    """The device files through which a GPU's driver is spoken to."""
    return [str(path) for pattern in _DRIVERS_DEVICES for path in Path("/dev").glob(pattern)]


def _existing(paths: tuple[str, ...] | list[str]) -> tuple[str, ...]:
    real = (os.path.realpath(path) for path in paths if path and os.path.exists(path))
    return tuple(dict.fromkeys(real))


def _outermost(paths: list[str]) -> tuple[str, ...]:
    """Without those that lie within another."""
    return tuple(
        path for path in paths if not any(other != path and _holds(other, Path(path)) for other in paths)
    )


def _holds(folder: str, inside: Path) -> bool:
    return inside == Path(folder) or Path(folder) in inside.parents


def _open_to_all(path: str) -> bool:
    """Whether any user at all may read this, as far as permissions tell."""
    try:
        return bool(os.stat(path).st_mode & 0o004) and all(
            os.stat(parent).st_mode & 0o001 for parent in Path(path).parents
        )
    except OSError:
        return False
