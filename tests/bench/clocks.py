"""What the writer and the listeners note, each in its own process."""

from __future__ import annotations

import struct

RECORD = struct.Struct("<iiq")
"""Station index, frame number, nanoseconds of the monotonic clock, which the processes of a machine share."""
