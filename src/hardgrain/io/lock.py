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
from pathlib import Path
from typing import IO

from hardgrain.errors import InputError

if sys.platform != "win32":
    import fcntl

__all__ = ["claim", "is_locked"]

_LOCK = struct.Struct("hhqqi4x")  # struct flock: type, whence, start, length, pid
_LOCK_AT = 1 << 62  # [bytes] where the locked byte lies: beyond any file, so that HDF5 locks others


def _try_lock(file: IO[bytes]) -> bool:
    """Take the writer's lock; False if another writer has it."""
    try:
        if sys.platform == "linux":
            request = _LOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, _LOCK_AT, 1, 0)
            fcntl.fcntl(file, fcntl.F_OFD_SETLK, request)
        elif sys.platform != "win32":
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
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
    told = told or path
    while True:
        try:
            file = path.open("a+b" if create else "r+b", buffering=0)
        except OSError as error:
            raise InputError(f"{told} cannot be written ({error.strerror}).") from None
        if not _try_lock(file):
            file.close()
            raise InputError(
                f"{told} is being written by another run; wait for its end or choose another file."
            )
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        file.close()  # the file was renamed or replaced in between
