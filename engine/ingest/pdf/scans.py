"""Pages without a text layer: rendered, and read by optical character recognition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .lines import flowing_pages

if TYPE_CHECKING:
    from pypdfium2 import PdfPage

_DOTS_PER_INCH = 200
_MOST_PIXELS = 20_000_000
_LEAST_SHARE = 0.02


def is_drawn(page: PdfPage) -> bool:
    """Check for a picture large enough to hold text."""
    from pypdfium2 import PdfiumError, raw

    width, height = page.get_size()
    least = _LEAST_SHARE * width * height
    try:
        for found in page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=4):
            left, bottom, right, top = found.get_bounds()
            if (right - left) * (top - bottom) >= least:
                return True
    except PdfiumError:
        return False  # a picture that cannot even be measured cannot be read
    return False


def recognised(page: PdfPage) -> str:
    """Return recognised text with flowing lines; empty without any.

    Raises:
        SourceError: the engine is not installed.
    """
    from ..media.images import recognise

    width, height = page.get_size()
    scale = min(_DOTS_PER_INCH / 72, (_MOST_PIXELS / max(1.0, width * height)) ** 0.5)
    bitmap = page.render(scale=scale, grayscale=True, may_draw_forms=False)
    pixels = bitmap.to_numpy()
    text = recognise(pixels[:, :, 0] if pixels.ndim == 3 else pixels)
    bitmap.close()
    return flowing_pages([text.replace("\t", " ")])[0]
