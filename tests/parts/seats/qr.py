"""Read QR codes, drawn by Chromium, with zxing-cpp, which shares no code with the encoder."""

from __future__ import annotations

import base64

import numpy as np
import zxingcpp
from playwright.sync_api import Page

_PIXELS = 480
_DRAW = """async ([svg, size]) => {
    const image = new Image();
    image.src = `data:image/svg+xml,${encodeURIComponent(svg)}`;
    await image.decode();
    const canvas = new OffscreenCanvas(size, size);
    const context = canvas.getContext("2d");
    context.fillStyle = "#888";
    context.fillRect(0, 0, size, size);
    context.drawImage(image, 0, 0, size, size);
    const { data } = context.getImageData(0, 0, size, size);
    const grey = new Uint8Array(size * size);
    for (let pixel = 0; pixel < grey.length; pixel++) grey[pixel] = data[4 * pixel];
    let text = "";
    for (let first = 0; first < grey.length; first += 4096)
        text += String.fromCharCode(...grey.subarray(first, first + 4096));
    return btoa(text);
}"""


def text_in(svg: str, page: Page) -> str:
    """The text of the QR code in an SVG image. `page` draws it."""
    grey = base64.b64decode(page.evaluate(_DRAW, [svg, _PIXELS]))
    picture = np.frombuffer(grey, dtype=np.uint8).reshape(_PIXELS, _PIXELS)
    found = zxingcpp.read_barcodes(picture)
    assert len(found) == 1, "expected one code"
    text: str = found[0].text
    return text
