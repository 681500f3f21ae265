"""What the writer and the listeners note of a frame: station index, frame number, nanoseconds of the monotonic
clock."""

from __future__ import annotations

import struct

RECORD = struct.Struct("<iiq")
