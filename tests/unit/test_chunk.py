"""Chunking policies and splitting; the pairs are in chunk/*.txt."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgask_server.chunk import ChunkingPolicy, is_blank, parse_policy, split
from pgask_server.errors import ChunkingPolicyInvalid

_DIRECTORY = Path(__file__).parent / "chunk"


def read_pairs(name: str) -> list[tuple[str, str]]:
    lines = (_DIRECTORY / name).read_text("utf-8").split("\n")
    pairs = [line.rpartition(" => ") for line in lines if line.strip() and not line.startswith("#")]
    return [(given, expected) for given, _, expected in pairs]


def word_spans(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(r"\w+|[^\w\s\u0300-\u036f]", text)]


def character_spans(text: str) -> list[tuple[int, int]]:
    """Like a byte-level vocabulary: two tokens for each character that is not ASCII."""
    return [
        (at, at + 1)
        for at, char in enumerate(text)
        if not char.isspace()
        for _ in range(1 if char.isascii() else 2)
    ]


@pytest.mark.parametrize(("written", "expected"), read_pairs("policy.txt"))
def test_a_policy_is_read_as_written_or_refused(written: str, expected: str) -> None:
    if not expected.startswith("error: "):
        assert str(parse_policy(written)) == expected
        return
    with pytest.raises(ChunkingPolicyInvalid) as caught:
        parse_policy(written)
    error = caught.value
    assert expected.removeprefix("error: ") in f"{error.message} {error.detail}"
    assert error.sqlstate == "PA103"
    assert error.hint


def test_the_recorded_policy_reads_as_itself() -> None:
    for policy in (ChunkingPolicy(), ChunkingPolicy(800, 80), ChunkingPolicy(7)):
        assert parse_policy(str(policy)) == policy


def test_a_size_beyond_the_window_is_refused_where_a_window_is_named() -> None:
    assert parse_policy("fixed(800, 80)").size == 800
    assert parse_policy("fixed(256)", window=256).size == 256
    with pytest.raises(ChunkingPolicyInvalid) as caught:
        parse_policy("fixed(257)", window=256)
    assert "reads 256 tokens" in (caught.value.detail or "")


@pytest.mark.parametrize(("written", "expected"), read_pairs("split.txt"))
def test_text_is_split_as_expected(written: str, expected: str) -> None:
    policy, _, text = written.partition(" ; ")
    chunks = split(json.loads(text), parse_policy(policy), word_spans)
    assert [chunk.text for chunk in chunks] == json.loads(expected)


@given(
    text=st.text(alphabet="ab \n.é\u0301北🙂", max_size=60),
    size=st.integers(1, 6),
    overlap=st.integers(0, 5),
    by_character=st.booleans(),
)
def test_chunks_are_slices_that_cover_the_text(
    text: str, size: int, overlap: int, by_character: bool
) -> None:
    policy = ChunkingPolicy(size, min(overlap, size - 1))
    chunks = split(text, policy, character_spans if by_character else word_spans)
    covered: set[int] = set()
    for index, chunk in enumerate(chunks):
        assert chunk.index == index
        assert chunk.text == text[chunk.start : chunk.end] != ""
        covered |= set(range(chunk.start, chunk.end))
    if not is_blank(text):
        assert all(at in covered or char.isspace() for at, char in enumerate(text))
    ends = [chunk.end for chunk in chunks]
    assert ends == sorted(set(ends))
