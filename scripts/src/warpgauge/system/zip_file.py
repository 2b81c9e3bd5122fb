# SPDX-License-Identifier: Apache-2.0
"""Read one file of an untrusted ZIP archive, in memory and within limits.

Nothing is extracted, so that the names and kinds of other entries do no harm.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib

from warpgauge.system.errors import UserError
from warpgauge.system.text import inert

# A session of all benchmarks leaves a dozen files.
ENTRIES_LIMIT = 1000
_ENTRY_MARK = b"PK\x01\x02"
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others take memory as the archive likes
# Exceptions of zipfile, also for an encrypted member.
_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, struct.error),
    *(RuntimeError, ValueError, EOFError, OSError, OverflowError),
)


class MissingEntry(UserError):
    """The archive is sound but lacks the file."""


def entry(archive: bytes, name: str, limit_bytes: int, what: str) -> bytes:
    """Return the content of the file `name`, at most `limit_bytes`.

    Raise MissingEntry if there is no such file, and UserError, a sentence that begins with `what`,
    if it or the archive is faulty.
    """
    # Counted before zipfile creates an object for each.
    if (count := archive.count(_ENTRY_MARK)) > ENTRIES_LIMIT:
        raise UserError(f"{what} holds {count} entries, more than {ENTRIES_LIMIT}; it is refused")
    fault = ""
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as opened:
            found = [one for one in opened.infolist() if one.filename == name]
            if not found:
                raise MissingEntry(inert(f"{what} holds no {name}"))
            if len(found) > 1:
                fault = "twice"
            elif found[0].compress_type not in _METHODS:
                fault = "with another compression than DEFLATE"
            else:
                with opened.open(found[0]) as stream:
                    content = stream.read(limit_bytes + 1)  # without a number there is no limit
                if len(content) <= limit_bytes:
                    return content
                fault = f"of more than {limit_bytes} bytes"
    except _DAMAGED:
        raise UserError(f"{what} is not a ZIP archive, or is damaged; it is refused") from None
    raise UserError(inert(f"{what} holds {name} {fault}; it is refused"))
