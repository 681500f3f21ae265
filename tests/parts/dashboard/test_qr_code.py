"""The QR code of the remote control, read by zxing-cpp, which shares no code with the encoder."""

from __future__ import annotations

import numpy as np
import zxingcpp

from tests.web.javascript import needs_node, run

PIXELS = 4
"""Width of a module."""
CAPACITIES = (14, 26, 42, 62, 84, 106, 122, 152, 180, 213)
"""Bytes that fit into the versions 1 to 10."""


@needs_node
def test_codes_are_read() -> None:
    lengths = [length + more for length in CAPACITIES for more in (-1, 0, 1)]
    texts = ["http://192.168.1.20:5151/#remote/station", "日本 🎮", *(("ab/%2F" * 40)[:n] for n in lengths)]
    codes = run('const { qrCode } = await import("./dashboard/qr_code.js"); return given.map(qrCode);', texts)
    assert codes.pop() is None, "longer than the largest version"
    for text, code in zip(texts, codes, strict=False):
        modules = np.pad(np.array(code, dtype=np.uint8), 4)
        picture = np.kron(255 * (1 - modules), np.ones((PIXELS, PIXELS), dtype=np.uint8))
        assert [each.text for each in zxingcpp.read_barcodes(picture)] == [text]
    assert len(codes[0]) == 29
