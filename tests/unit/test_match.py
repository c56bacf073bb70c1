"""What decides between saved questions, without a model: masks, shapes, confidence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from pgask_server.question.mask import exact_key, masked_prompt, masked_question
from pgask_server.question.parameter import Parameter, ParameterType
from pgask_server.question.score import Evidence, Surroundings, acceptable, confidence, rank_score
from pgask_server.question.shape import contradictions, opposites, restrictions, turned
from pgask_server.question.traits import statement_traits

SURE = Evidence(
    similarity=0.9,
    covered=1.0,
    recalled=1.0,
    explained=1.0,
    filled=True,
    missing=0,
    leftover=0,
    differences=0,
    contradictions=0,
    opposites=0,
    turned=0,
    restrictions=0,
)


def lines(name: str) -> list[list[str]]:
    text = (Path(__file__).parent / "match" / name).read_text()
    return [
        [cell.strip() for cell in line.split("|")]
        for line in text.splitlines()
        if line and not line.startswith("#")
    ]


@pytest.mark.parametrize(("question", "prompt", "sql", "expected"), lines("shape.txt"))
def test_a_question_that_asks_something_else_is_told_apart_by_its_shape(
    question: str, prompt: str, sql: str, expected: str
) -> None:
    against = sorted(contradictions(question, prompt, statement_traits([sql])))
    against += ["opposite"] * min(1, opposites(question, prompt))
    against += ["turned"] * turned(question, prompt)
    assert " ".join(against) == expected


@pytest.mark.parametrize(("prompt", "parameters", "expected"), lines("mask.txt"))
def test_a_prompt_is_masked(prompt: str, parameters: str, expected: str) -> None:
    declared = [
        Parameter(name, cast("ParameterType", kind))
        for name, _, kind in (word.partition(":") for word in parameters.split())
    ]
    assert masked_prompt(prompt, declared) == expected


def test_a_question_is_masked_as_its_prompt_is() -> None:
    parameters = (Parameter("n", "integer"), Parameter("year", "integer"))
    question = "top 5 songs of 2024?"
    masked = masked_question(question, {"n": (4, 5), "year": (15, 19)}, parameters)
    assert masked == "top a given number songs of a given year?"


@pytest.mark.parametrize(
    "worse",
    [{"similarity": 0.5}, {"recalled": 0.2}, {"covered": 0.2}, {"explained": 0.2}, {"missing": 1},
     {"leftover": 1}, {"contradictions": 1}, {"opposites": 1}, {"turned": 1}],
)  # fmt: skip
def test_whatever_speaks_against_a_question_lowers_its_confidence(worse: dict[str, float]) -> None:
    less = replace(SURE, **worse)  # pyright: ignore[reportArgumentType]
    around = Surroundings(lead=0.3, crowd=0.6, alone=False)
    assert confidence(less, around) < confidence(SURE, around)


@pytest.mark.parametrize("worse", [{"lead": 0.05}, {"crowd": 0.9}])
def test_a_question_like_it_lowers_its_confidence(worse: dict[str, float]) -> None:
    around = Surroundings(lead=0.3, crowd=0.6, alone=False)
    less = replace(around, **worse)  # pyright: ignore[reportArgumentType]
    assert confidence(SURE, less) < confidence(SURE, around)


def test_the_only_question_that_makes_sense_is_answered_without_asking_back() -> None:
    loose = replace(SURE, similarity=0.6, recalled=0.5, covered=0.5, explained=0.5)
    ahead = Surroundings(lead=0.55, crowd=0.9, alone=False)
    assert confidence(loose, ahead) < 0.85
    assert acceptable(loose, ahead, 0.85, 0.02)
    for less in (
        replace(loose, leftover=1),
        replace(loose, differences=1),
        replace(loose, explained=0.3),
        replace(loose, opposites=1),
        replace(loose, similarity=0.45),
    ):
        assert not acceptable(less, ahead, 0.85, 0.02)
    assert not acceptable(loose, replace(ahead, lead=0.2), 0.85, 0.02)
    weak = replace(loose, similarity=0.5, recalled=0.2, covered=0.2)
    assert not acceptable(weak, Surroundings(1.0, 0.0, alone=True), 0.85, 0.02)


def test_a_question_that_only_leaves_a_word_out_is_answered_without_asking_back() -> None:
    shorter = replace(SURE, similarity=0.82, recalled=0.8)
    around = Surroundings(lead=0.26, crowd=0.9, alone=False)
    assert confidence(shorter, around) < 0.85
    assert acceptable(shorter, around, 0.85, 0.02)
    assert not acceptable(replace(shorter, covered=0.8), around, 0.85, 0.02)
    assert not acceptable(replace(shorter, recalled=0.6), around, 0.85, 0.02)
    assert not acceptable(shorter, replace(around, lead=0.2), 0.85, 0.02)


def test_courtesies_do_not_make_another_sentence() -> None:
    plain = exact_key("top a given number songs")
    assert exact_key("The top a given number songs, please") == plain
    assert exact_key("top a given number songs - thank you!") == plain
    assert exact_key("top a given number of my songs") != plain


def test_the_order_follows_similarity_words_and_values() -> None:
    assert rank_score(SURE) > rank_score(replace(SURE, similarity=0.8))
    assert rank_score(SURE) > rank_score(replace(SURE, leftover=1, similarity=0.95))


@pytest.mark.parametrize(
    ("question", "prompt", "expected"),
    [
        ("how many customers do not live in France?", "How many customers live in {country}?", 1),
        ("customers who didn't order", "How many customers live in {country}?", 1),
        ("how many joined before 2024?", "How many customers joined in {year}?", 1),
        ("how many joined between 2022 and 2024?", "How many customers joined in {year}?", 1),
        ("top products except desks", "Top {n} products", 1),
        ("2024 compared with 2025", "Average order value in {year}", 1),
        ("orders of more than 100", "How many orders are there?", 1),
        ("which foreign keys have no index?", "Foreign keys without an index", 0),
        ("which indexes are never used?", "Which indexes are unused?", 0),
        ("orders since March", "Orders after {day}", 0),
        ("how many customers joined in 2024?", "How many customers joined in {year}?", 0),
    ],
)
def test_a_restriction_that_the_prompt_does_not_make_is_seen(
    question: str, prompt: str, expected: int
) -> None:
    assert restrictions(question, prompt) == expected
