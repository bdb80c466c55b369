"""A lock that keeps two runs from writing one file.

On Linux it is a lock of the open file description on one byte far beyond the end. HDF5, which uses
flock, does not see it, and it ends with the process, however that ends. Other systems use flock.
"""

from __future__ import annotations

import contextlib
import errno
import os
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from hardgrain.errors import InputError, RunError

if sys.platform != "win32":
    import fcntl

__all__ = ["alone", "claim", "is_locked", "try_claim"]

_LOCK = struct.Struct("hhqqi4x")  # struct flock: type, whence, start, length, pid
_LOCK_AT = 1 << 62  # [bytes] where the locked byte lies: beyond any file, so that HDF5 locks others


def _try_lock(file: IO[bytes], wait: bool = False) -> bool:
    """Take the writer's lock; False if another writer has it, for whom one may also wait."""
    try:
        if sys.platform == "linux":
            request = _LOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, _LOCK_AT, 1, 0)
            fcntl.fcntl(file, fcntl.F_OFD_SETLKW if wait else fcntl.F_OFD_SETLK, request)
        elif sys.platform != "win32":
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError as error:  # a file system without locks is not an obstacle
        return error.errno not in (errno.EAGAIN, errno.EACCES)
    return True


def is_locked(file: IO[bytes]) -> bool:
    """Whether a writer holds the lock."""
    if sys.platform == "linux":
        request = _LOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, _LOCK_AT, 1, 0)
        with contextlib.suppress(OSError):
            answer = fcntl.fcntl(file, fcntl.F_OFD_GETLK, request)
            return bool(_LOCK.unpack(answer)[0] != fcntl.F_UNLCK)
        return False
    return not _try_lock(file)


def claim(path: Path, *, create: bool = False, told: Path | None = None) -> IO[bytes]:
    """Open `path` with the writer's lock on it, held until the file object is closed."""
    file = try_claim(path, create=create, told=told)
    if file is None:
        raise InputError(
            f"{told or path} is being written by another run; wait for its end or choose another"
            " file."
        )
    return file


def try_claim(path: Path, *, create: bool = False, told: Path | None = None) -> IO[bytes] | None:
    """The same, or None if another writer has the lock."""
    while True:
        try:
            file = path.open("a+b" if create else "r+b", buffering=0)
        except OSError as error:
            raise InputError(f"{told or path} cannot be written ({error.strerror}).") from None
        if not _try_lock(file):
            file.close()
            return None
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        file.close()  # the file was renamed or replaced in between


@contextlib.contextmanager
def alone(path: Path) -> Iterator[IO[bytes]]:
    """Open a file to add to its end, made if there is none, once all others have let go of it."""
    try:
        file = path.open("ab", buffering=0)
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror}") from None
    with file:
        _try_lock(file, wait=True)
        yield file
