"""How sure it is that a saved question is the one that was asked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

DEFAULT_THRESHOLD = 0.75
"""The least confidence with which a saved question is answered without asking back."""

DEFAULT_MARGIN = 0.02
"""By how much the best score must exceed that of the next different question."""

OFFERED = 0.5
"""The least similarity with which a saved question is offered as a choice."""

OFFERED_CONFIDENCE = 0.02
"""The least confidence with which it is."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for one candidate.

    similarity: cosine of the best form of the question, -1 to 1. covered: which share of the
    question's content words the prompt has; recalled: which share of the prompt's the question
    has; explained: which share of the question's the prompt or the statements have.
    filled: all required parameters have a value, and there is one; missing: how many have none.
    leftover: numbers and names of either text that nothing in the other explains.
    differences, contradictions, opposites, turned: see shape.py.
    """

    similarity: float
    covered: float
    recalled: float
    explained: float
    filled: bool
    missing: int
    leftover: int
    differences: int
    contradictions: int
    opposites: int
    turned: int


def rank_score(evidence: Evidence) -> float:
    """The order of the candidates: similarity, moved by the fit of words, values and shape."""
    words = 0.08 * evidence.covered + 0.12 * evidence.recalled + 0.08 * evidence.explained
    values = 0.15 if evidence.filled else 0.0
    values -= 0.13 * min(evidence.missing, 3) + 0.13 * min(evidence.leftover, 3)
    shape = 0.04 * min(evidence.differences, 4) + 0.06 * min(evidence.contradictions, 3)
    shape += 0.1 * min(evidence.opposites, 2) + 0.05 * evidence.turned
    return evidence.similarity + words + values - shape


FEATURES = (
    "bias",
    "similarity",
    "margin",
    "recalled",
    "explained",
    "filled",
    "missing",
    "leftover",
    "differences",
    "contradictions",
    "opposites",
    "turned",
)
WEIGHTS = (-6.0, 5.0, 4.85, 1.05, 1.85, -1.0, -0.8, -1.1, -0.7, -0.85, -1.1, -0.2)
"""Fitted by tests/eval/matching.py; that of `missing` is less than fitted, since the sets always
name their values, and a person who left one out wants to be asked for it."""


def features(evidence: Evidence, margin: float) -> tuple[float, ...]:
    """The numbers that WEIGHTS weigh. margin: distance in rank_score to the next question."""
    return (
        1.0,
        evidence.similarity,
        min(margin, 0.4),
        evidence.recalled,
        evidence.explained,
        float(evidence.filled),
        float(min(evidence.missing, 2)),
        float(min(evidence.leftover, 3)),
        float(min(evidence.differences, 4)),
        float(min(evidence.contradictions, 3)),
        float(min(evidence.opposites, 1)),
        float(evidence.turned),
    )


def confidence(evidence: Evidence, margin: float, weights: Sequence[float] = WEIGHTS) -> float:
    """The probability, 0 to 1, that the candidate is the question that was asked."""
    total = sum(
        weight * value for weight, value in zip(weights, features(evidence, margin), strict=True)
    )
    return 1 / (1 + math.exp(-max(-40.0, min(40.0, total))))
