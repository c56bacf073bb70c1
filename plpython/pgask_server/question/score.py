"""How sure it is that a saved question is the one that was asked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

DEFAULT_THRESHOLD = 0.85
"""The least confidence with which a saved question is answered without asking back."""

DEFAULT_MARGIN = 0.02
"""By how much the best score must exceed that of the next different question."""

OFFERED = 0.5
"""The least similarity with which a saved question is offered as a choice."""

OFFERED_CONFIDENCE = 0.02
"""The least confidence with which it is."""

FAR_AHEAD = 0.5
"""With this lead, and nothing against it, a question is answered below the threshold: to ask back
would be to offer the only one that makes sense."""

FAR_AHEAD_CONFIDENCE = 0.4
FAR_AHEAD_EXPLAINED = 0.5
"""The least confidence with which it is, and the least share of its words that must be explained:
a name of a table in a question about something else leads far, too."""

SHORTENED_LEAD = 0.25
SHORTENED_SIMILARITY = 0.8
SHORTENED_RECALL = 0.8
"""So does this lead suffice where the question says nothing that the prompt does not say, and
leaves out no more than one word of five: people leave words out."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for one candidate.

    similarity: cosine of the best form of the question, -1 to 1. covered: which share of the
    question's content words the prompt has; recalled: which share of the prompt's the question
    has; explained: which share of the question's the prompt or the statements have.
    filled: all required parameters have a value, and there is one; missing: how many have none.
    leftover: numbers and names of either text that nothing in the other explains.
    differences, contradictions, opposites, turned: see shape.py. restrictions: how many kinds of
    restriction ("not", "before", "more than") the question makes and the prompt does not.
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
    restrictions: int


def rank_score(evidence: Evidence) -> float:
    """The order of the candidates: similarity, moved by the fit of words, values and shape."""
    words = 0.08 * evidence.covered + 0.12 * evidence.recalled + 0.08 * evidence.explained
    values = 0.15 if evidence.filled else 0.0
    values -= 0.13 * min(evidence.missing, 3) + 0.13 * min(evidence.leftover, 3)
    shape = 0.04 * min(evidence.differences, 4) + 0.06 * min(evidence.contradictions, 3)
    shape += 0.1 * min(evidence.opposites, 2) + 0.05 * evidence.turned
    return evidence.similarity + words + values - shape


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What lies around a candidate.

    lead: distance in rank_score to the next question with another answer. crowd: cosine of the
    candidate to the saved question most like it, among those in reach: where saved questions lie
    close together, one that is not saved may lie as close. alone: no other is in reach.
    """

    lead: float
    crowd: float
    alone: bool


FEATURES = (
    "bias",
    "similarity",
    "lead",
    "shared",
    "same words",
    "crowd",
    "alone",
    "missing",
    "leftover",
    "contradictions",
    "opposites",
    "turned",
)
WEIGHTS = (-2.95, 4.9, 5.75, 2.3, 1.3, -4.4, -4.2, -1.0, -1.1, -1.5, -0.9, -0.35)
"""By tests/eval/calibration.py: between its fits of the first look, at the question as typed, and
of the last, at all of its masked forms. That of `missing` is less than fitted, since the sets
always name their values, and a person who left one out wants to be asked for it. Being alone takes
away what the lead over nobody gives."""


def features(evidence: Evidence, around: Surroundings) -> tuple[float, ...]:
    """The numbers that WEIGHTS weigh."""
    return (
        1.0,
        evidence.similarity,
        min(around.lead, 0.9),
        min(evidence.recalled, evidence.covered),
        float(evidence.recalled == 1 and evidence.explained == 1),
        around.crowd,
        float(around.alone),
        float(min(evidence.missing, 2)),
        float(min(evidence.leftover, 3)),
        float(min(evidence.contradictions, 3)),
        float(min(evidence.opposites, 1)),
        float(evidence.turned),
    )


def confidence(
    evidence: Evidence, around: Surroundings, weights: Sequence[float] = WEIGHTS
) -> float:
    """The probability, 0 to 1, that the candidate is the question that was asked."""
    total = sum(
        weight * value for weight, value in zip(weights, features(evidence, around), strict=True)
    )
    return 1 / (1 + math.exp(-max(-40.0, min(40.0, total))))


def acceptable(evidence: Evidence, around: Surroundings, threshold: float, margin: float) -> bool:
    """Whether the first candidate is answered without asking back."""
    if around.lead < margin or evidence.similarity < OFFERED:
        return False
    if evidence.opposites or evidence.turned > 1:
        return False
    # Something was said that the saved statement cannot know: no likeness of the rest makes its
    # result the answer.
    if evidence.restrictions or evidence.leftover:
        return False
    sure = confidence(evidence, around)
    if sure >= threshold:
        return True
    against = evidence.leftover + evidence.missing + evidence.differences + evidence.turned
    if threshold > 1 or around.alone or against or sure < min(threshold, FAR_AHEAD_CONFIDENCE):
        return False
    return (around.lead >= FAR_AHEAD and evidence.explained >= FAR_AHEAD_EXPLAINED) or (
        around.lead >= SHORTENED_LEAD
        and evidence.similarity >= SHORTENED_SIMILARITY
        and evidence.covered == 1
        and evidence.recalled >= SHORTENED_RECALL
    )
