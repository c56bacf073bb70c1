"""Any text made fit to be shown: no control characters, a known width, no Markdown of its own."""

from __future__ import annotations

import re

ELLIPSIS = "…"

# C0, DEL and C1 (terminal escapes start there), line separators, and the marks that reorder text.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_NAMED_CONTROL = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}

# A backslash escapes punctuation only: 'C:\temp' may stay as it is.
_BACKSLASH = re.compile(r"\\(?=[!-/:-@\[-`{-~])")
_HTML = re.compile(r"<(?=[A-Za-z/!?])|&(?=#?\w+;)")
_LINK = re.compile(r"\[(?=[^\]]*\][\[(:])")
_UNDERSCORE = re.compile(r"(?<![^\W_])_+|_+(?![^\W_])")
_BLOCK = re.compile(r"\A(?:(?=>|[#+-]+\s|---|___|~~~)|(?P<number>\d+)(?=[.)]\s))")
_SPECIAL = re.compile(r"[\\<&\[*`_~|]")


def clean(text: str) -> str:
    """The text with every control character spelt out: a newline as \\n, an escape as \\x1b."""
    if text.isprintable():
        return text
    return _CONTROL.sub(_spell, text)


def _spell(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    return _NAMED_CONTROL.get(character) or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")


def width(text: str) -> int:
    """Columns that the cleaned text takes in a fixed-width font."""
    if text.isascii():
        return len(text)
    from wcwidth import wcswidth  # 30 ms, and most answers are plain ASCII

    columns = wcswidth(text)
    return columns if columns >= 0 else len(text)


def cut(text: str, columns: int) -> str:
    """At most `columns` wide, the end replaced by an ellipsis where it is longer."""
    if len(text) * 2 <= columns or width(text) <= columns:
        return text
    if text.isascii():
        return text[: columns - 1].rstrip() + ELLIPSIS
    end = min(len(text), columns)
    while end and width(text[:end]) >= columns:
        end -= 1
    # Never between a character and the mark or joiner that belongs to it.
    while end and width(text[end : end + 1]) == 0:
        end -= 1
    return text[:end].rstrip("\u200d ") + ELLIPSIS


def pad(text: str, columns: int, *, right: bool = False) -> str:
    """Filled up with blanks to `columns`: on the left where `right` is asked for."""
    blanks = " " * (columns - width(text))
    return blanks + text if right else text + blanks


def escape(text: str) -> str:
    """Cleaned text as inline Markdown that renders as exactly this text.

    Only what would act as Markdown gets a backslash, since the same text is read in a terminal:
    a delimiter that has no partner in the text stays as it is.
    """
    if _SPECIAL.search(text) is None:
        return text
    text = _BACKSLASH.sub(r"\\\\", text)
    text = _HTML.sub(r"\\\g<0>", text)
    text = _LINK.sub(r"\\[", text)
    for delimiter in ("*", "`", "~~"):
        if text.count(delimiter) > 1:
            text = text.replace(delimiter, "\\" + "\\".join(delimiter))
    if text.count("_") > 1:
        text = _UNDERSCORE.sub(lambda match: "\\_" * len(match[0]), text)
    return text


def cell(text: str, columns: int) -> tuple[str, int]:
    """Cleaned text cut to `columns` and escaped for a cell of a table, and its width."""
    if text.isascii() and len(text) <= columns and _SPECIAL.search(text) is None:
        return text, len(text)
    text = escape(cut(text, columns)).replace("|", "\\|")
    return text, width(text)


def escape_line(text: str) -> str:
    """The same for a line of its own, which must not turn into a heading, a list or a quote."""
    return _BLOCK.sub(lambda match: f"{match['number'] or ''}\\", escape(text))


def code_block(text: str, language: str = "") -> str:
    """A fenced block that its content cannot end."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def plural(count: int, noun: str, more: str = "") -> str:
    """'1 row', '1,000 rows'; `more` stands before the noun: '3 more rows'."""
    return f"{count:,} {more}{noun}{'' if count == 1 else 's'}"


def enumerate_words(words: list[str]) -> str:
    """'a', 'a and b', 'a, b and c'."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def capital(words: str) -> str:
    """The first letter as a capital, the others as they are."""
    return words[:1].upper() + words[1:]
