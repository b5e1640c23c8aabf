"""Bytes of a text file as text, whatever wrote them."""

import codecs

__all__ = ["decoded"]

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# In text every second byte of UTF-16 is zero; in UTF-8 hardly any is.
_MOSTLY = 0.4
_LAYOUT = frozenset(b"\t\n\r\x0b\x0c")


def decoded(content: bytes) -> tuple[str, tuple[str, ...]]:
    r"""Return the text of a file, and a note where its encoding had to be guessed.

    A mark at the beginning decides; then come UTF-16 without a mark, UTF-8, and last Windows-1252, which
    holds Latin-1.

    Args:
        content: all bytes.

    Raises:
        ValueError: if these bytes are no text.

    Example:
        >>> decoded("größe".encode("latin-1"))
        ('größe', ('The file is not UTF-8 and was read as Windows-1252 (Latin-1).',))
    """
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            # Software that adds a mark to what has one already leaves two.
            return _tried(content[len(mark) :], encoding).lstrip("\ufeff"), ()
    wide = _wide(content)
    if wide is not None:
        return _tried(content, wide), ("The file was read as UTF-16, without the mark for it.",)
    try:
        return content.decode("utf-8"), ()
    except UnicodeDecodeError:
        pass
    if any(byte < 32 and byte not in _LAYOUT for byte in set(content)):
        raise ValueError("it holds bytes that are no text")
    try:
        text = content.decode("cp1252")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    return text, ("The file is not UTF-8 and was read as Windows-1252 (Latin-1).",)


def _wide(content: bytes) -> str | None:
    pairs = len(content) // 2
    if len(content) % 2 or not pairs:
        return None
    if content[1::2].count(0) > _MOSTLY * pairs:
        return "utf-16-le" if not content[::2].count(0) else None
    if content[::2].count(0) > _MOSTLY * pairs:
        return "utf-16-be" if not content[1::2].count(0) else None
    return None


def _tried(content: bytes, encoding: str) -> str:
    try:
        return content.decode(encoding)
    except UnicodeDecodeError:
        raise ValueError(f"it begins like {encoding.upper()} text and goes on as something else") from None
