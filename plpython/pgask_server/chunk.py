"""Rendered text + a chunking policy -> chunks, each an exact slice of the text.

Policies: `none` (the whole text is one chunk), `fixed(size, overlap)` and `fixed(size)` (a sliding
window of `size` tokens of the embedding model, each starting `size - overlap` tokens after the one
before it).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pgask_server.errors import ChunkingPolicyInvalid

TokenSpans = Callable[[str], Sequence[tuple[int, int]]]
"""Text -> (start, end) of each of its tokens, in characters (Python string indices), in order."""

_FIXED = re.compile(r"fixed\s*\(\s*(-?\d+)\s*(?:,\s*(-?\d+)\s*)?\)", re.IGNORECASE | re.ASCII)
_LARGEST = 1_000_000
_HINT = "Write 'none', 'fixed(size)' or 'fixed(size, overlap)', for example 'fixed(200, 40)'."


@dataclass(frozen=True, slots=True)
class ChunkingPolicy:
    """How text is split. `size` and `overlap` are tokens; size None is the policy `none`."""

    size: int | None = None
    overlap: int = 0

    def __str__(self) -> str:
        """The one spelling of this policy: `none` or `fixed(800, 80)`."""
        return "none" if self.size is None else f"fixed({self.size}, {self.overlap})"


@dataclass(frozen=True, slots=True)
class Chunk:
    """`text` is exactly `whole[start:end]`, in characters; `index` counts from 0."""

    index: int
    start: int
    end: int
    text: str


def parse_policy(text: str, window: int | None = None) -> ChunkingPolicy:
    """Read a policy as a user writes it; upper and lower case and blanks do not matter.

    window: the tokens that the model reads at once; None means that any size is accepted. (A chunk
    beyond the window is embedded all the same, as the mean of its windows.)
    Raises ChunkingPolicyInvalid.
    """
    written = text.strip()
    if written.lower() == "none":
        return ChunkingPolicy()
    match = _FIXED.fullmatch(written)
    if match is None:
        raise ChunkingPolicyInvalid(f"chunking policy {_clip(text)} is not known", hint=_HINT)
    # Python refuses to read integers of thousands of digits; nothing that long is in range.
    if max(len(group or "") for group in match.groups()) > 10:
        raise ChunkingPolicyInvalid(f"chunking policy {_clip(text)} is out of range", hint=_HINT)
    size, overlap = int(match[1]), int(match[2] or 0)
    problem = None
    if size < 1:
        problem = "the size must be at least 1 token"
    elif size > _LARGEST:
        problem = f"the size must be at most {_LARGEST} tokens"
    elif overlap < 0:
        problem = "the overlap must not be negative"
    elif overlap >= size:
        problem = f"the overlap ({overlap}) must be smaller than the size ({size})"
    elif window is not None and size > window:
        problem = f"the model reads {window} tokens at once, fewer than the size ({size})"
    if problem is not None:
        raise ChunkingPolicyInvalid(
            f"chunking policy {_clip(text)} is not valid", detail=problem + ".", hint=_HINT
        )
    return ChunkingPolicy(size, overlap)


def split(text: str, policy: ChunkingPolicy, token_spans: TokenSpans) -> list[Chunk]:
    """Cut `text` under `policy`. Blank text gives no chunk; text that fits gives one, unchanged.

    Chunks of a longer text begin at a token and end before the next one, without the white space
    at the cut; together they cover every other character.
    """
    if is_blank(text):
        return []
    whole = [Chunk(0, 0, len(text), text)]
    if policy.size is None:
        return whole
    spans = token_spans(text)
    if len(spans) <= policy.size:
        return whole
    chunks: list[Chunk] = []
    for first in range(0, len(spans), policy.size - policy.overlap):
        after = first + policy.size
        start = spans[first][0] if first > 0 else len(text) - len(text.lstrip())
        end = _end(text, spans, after)
        # Tokens may share a character (byte-level vocabularies): such a window adds nothing.
        if not chunks or end > chunks[-1].end:
            chunks.append(Chunk(len(chunks), start, end, text[start:end]))
        if after >= len(spans):
            break
    return chunks


def is_blank(text: str) -> bool:
    """Whether no character of `text` shows: white space, control and format characters only."""
    return all(char.isspace() or unicodedata.category(char)[0] in "CZ" for char in text)


def _end(text: str, spans: Sequence[tuple[int, int]], after: int) -> int:
    """Where the window before token `after` ends.

    It reaches to the next token, since what a tokenizer drops in between (a combining accent, for
    one) belongs to the character before it.
    """
    last = spans[min(after, len(spans)) - 1][1]
    reach = max(last, spans[after][0] if after < len(spans) else len(text))
    while reach > last and text[reach - 1].isspace():
        reach -= 1
    return reach


def _clip(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:79] + "…")
