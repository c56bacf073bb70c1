"""A typed question -> the saved question that it asks, with its parameters bound."""

from __future__ import annotations

import datetime
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from pgask_server.errors import ParameterInvalid
from pgask_server.question.bind import (
    LONGEST_QUESTION,
    Binding,
    bind_reading,
    check_given,
    clean_question,
    read_question,
    with_nearest,
)
from pgask_server.question.evidence import Asked, weigh
from pgask_server.question.link import ValueLinker, Viewer
from pgask_server.question.mask import exact_key, masked_prompt, masked_question
from pgask_server.question.pattern import pattern_matcher
from pgask_server.question.saved import Neighbour, Saved, SavedQuestions, Vector, nearest
from pgask_server.question.score import (
    DEFAULT_MARGIN,
    DEFAULT_THRESHOLD,
    OFFERED,
    OFFERED_CONFIDENCE,
    Evidence,
    Surroundings,
    acceptable,
    confidence,
    rank_score,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pgask_server.database import Database
    from pgask_server.question.parameter import Parameter
    from pgask_server.question.proposal import Reading
    from pgask_server.question.value_index import Link


class Embed(Protocol):
    """Gives the vectors of texts: shape (len(texts), dimensions), each of length one."""

    def __call__(self, texts: Sequence[str], /) -> Vector: ...


Near = tuple[Saved, float]
"""A saved question and its similarity to some form of the typed one."""

CANDIDATES = 12
"""Saved questions that are looked at for one typed question."""

_CHOICES = 5
_FIRST = 5
_AT_LEAST = 3
_CLOSE = 0.15
_WITHIN = 0.35
_MOST_MASKED = 5
_MOST_SAID = 4
_MOST_SEARCHED = 2
_MOST_VECTORS = 512
_SCOPE_BONUS = 0.02


@dataclass(frozen=True, slots=True)
class Candidate:
    """A saved question that may be meant.

    similarity: cosine, -1 to 1, of the question's best form to the saved prompt. confidence: the
    probability, 0 to 1, that it is the one, given what lies around it. masked: the question, masked
    for this one.
    """

    saved: Saved
    similarity: float
    confidence: float
    binding: Binding
    evidence: Evidence
    around: Surroundings
    masked: str


@dataclass(frozen=True, slots=True)
class Match:
    """What a typed question was matched to.

    accepted: the question to answer, where it is sure enough, with the values in
    `accepted.binding`. choices: otherwise those that may be meant, best first. nearest: what lay
    nearest in any case. exact: the masked texts are the same sentence.
    """

    accepted: Candidate | None = None
    choices: tuple[Candidate, ...] = ()
    nearest: tuple[Candidate, ...] = ()
    exact: bool = False
    warnings: tuple[str, ...] = ()

    @property
    def binding(self) -> Binding | None:
        """The values of the accepted question."""
        return None if self.accepted is None else self.accepted.binding


@dataclass(frozen=True, slots=True)
class _Bound:
    saved: Saved
    binding: Binding
    masked: str
    said: str
    """The masked prompt without the places that the question leaves out."""
    otherwise: tuple[str, ...]
    """The same of its other phrasings."""
    similarity: float


@dataclass(slots=True)
class Matcher:
    """Matches typed questions; keeps what a session asks for again."""

    linker: ValueLinker = field(default_factory=ValueLinker)
    questions: SavedQuestions = field(default_factory=SavedQuestions)
    _vectors: OrderedDict[tuple[str, str], Vector] = field(
        default_factory=OrderedDict[tuple[str, str], Vector]
    )

    def match(
        self,
        db: Database,
        embed: Embed,
        question: str,
        scope_key: str = "global",
        *,
        model: str,
        given: Mapping[str, object] | None = None,
        threshold: float = DEFAULT_THRESHOLD,
        margin: float = DEFAULT_MARGIN,
        today: datetime.date | None = None,
    ) -> Match:
        """Find the saved question that `question` asks.

        model: the name of the embedding model behind `embed`. given: values that the asker gave
        by name. threshold: the least confidence of an acceptance; margin: the least distance in
        score to the next different question. today: default the server's. Nothing that is typed
        as a question raises; ParameterInvalid only comes from a value in `given` that the
        accepted question refuses.
        """
        warnings: tuple[str, ...] = ()
        if len(question) > LONGEST_QUESTION:
            warnings = (f"Only the first {LONGEST_QUESTION:,} characters were read.",)
        text = clean_question(question)
        if not any(letter.isalnum() for letter in text):
            return Match(warnings=warnings)
        vector = embed([text])[0]
        around = nearest(db, vector, model, scope_key, CANDIDATES)
        if around is None:
            return Match(warnings=warnings)
        viewer = Viewer(around.role, around.transaction)
        reading = read_question(
            text,
            today or datetime.date.fromisoformat(around.today[:10]),
            pattern_matcher(db),
        )

        def search(vector: Vector) -> list[Near]:
            found = nearest(db, vector, model, scope_key, CANDIDATES)
            return [] if found is None else list(self._near(db, found.near))

        found = self.choose(
            db,
            embed,
            reading,
            vector,
            self._near(db, around.near),
            search,
            viewer,
            scope_key,
            model=model,
            given=given or {},
            threshold=threshold,
            margin=margin,
        )
        return self._finished(db, reading, found, given or {}, viewer, warnings)

    def _near(self, db: Database, found: Sequence[Neighbour]) -> list[Near]:
        similarities = {one.id: one.similarity for one in found}
        return [(one, similarities[one.id]) for one in self.questions.load(db, found)]

    def choose(
        self,
        db: Database,
        embed: Embed,
        reading: Reading,
        vector: Vector,
        near: Sequence[Near],
        search: Callable[[Vector], Sequence[Near]],
        viewer: Viewer,
        scope_key: str,
        *,
        model: str,
        given: Mapping[str, object],
        threshold: float = DEFAULT_THRESHOLD,
        margin: float = DEFAULT_MARGIN,
    ) -> Match:
        """Decide between `near`: saved questions, each with its similarity to the one typed, whose
        vector is `vector`.

        The question as typed settles most; what it leaves open is settled by its masked forms,
        embedded one by one, that of the best candidate first, and by what `search` finds near to
        the first of them.
        """
        asked = Asked(reading)
        best = max((similarity for _, similarity in near), default=0.0)
        bound = [
            self._bound(db, reading, saved, similarity, given, viewer)
            for at, (saved, similarity) in enumerate(near[:_FIRST])
            if similarity >= best - (_CLOSE if at >= _AT_LEAST else _WITHIN)
        ]

        def decide() -> Match:
            better = [self._better(model, one, forms) for one in bound]
            return _decide(asked, better, scope_key, threshold, margin)

        forms = {reading.text: vector}
        found = decide()
        if found.accepted is not None:
            return found
        bound += [
            self._bound(db, reading, saved, similarity, given, viewer)
            for saved, similarity in near[len(bound) :]
            if similarity >= best - _WITHIN
        ]
        if self._embed_said(embed, model, bound, forms) or len(bound) > len(found.nearest):
            found = decide()
        searched = 0
        while found.accepted is None and len(forms) <= _MOST_MASKED:
            text = _next_form(found.nearest, forms)
            if text is None:
                break
            forms[text] = embed([text])[0]
            self._embed_said(embed, model, bound, forms)
            found = decide()
            if found.accepted is None and searched < _MOST_SEARCHED:
                searched += 1
                known = {one.saved.id for one in bound}
                for saved, similarity in search(forms[text]):
                    if saved.id in known:
                        continue
                    one = self._bound(db, reading, saved, similarity, given, viewer)
                    # Near to the masked form: that counts only if it is this question's form too.
                    raw = 0.0 if one.masked != text else similarity
                    bound.append(replace(one, similarity=raw))
                if len(bound) > len(known):
                    found = decide()
        return found

    def _bound(
        self,
        db: Database,
        reading: Reading,
        saved: Saved,
        similarity: float,
        given: Mapping[str, object],
        viewer: Viewer,
    ) -> _Bound:
        def links(parameter: Parameter, known: frozenset[str]) -> Sequence[Link]:
            if parameter.values:
                return saved.lists[parameter.name].links(reading.words, known)
            if parameter.column is None:
                return ()
            return self.linker.links(db, parameter.column, reading.words, known, viewer)

        # A wrong value matters only for the question that is chosen in the end: see _finished.
        checked: dict[str, str | None] = {}
        for parameter in saved.parameters:
            if parameter.name in given:
                try:
                    checked.update(
                        check_given(
                            saved.parameters,
                            {parameter.name: given[parameter.name]},
                            reading.matches,
                        )
                    )
                except ParameterInvalid:
                    checked[parameter.name] = None
        binding = bind_reading(saved.prompt, reading, checked, links)
        masked = masked_question(reading.text, binding.spans, saved.parameters)
        # A name that the question does not have speaks against it.
        strangers = sum(name not in binding.values for name in given)
        # What has no default must be said: a question that lacks it is less likely this one.
        silent = binding.values.keys() - binding.spans.keys() - set(binding.missing)
        said = masked_prompt(saved.canonical_prompt, saved.parameters, silent)
        otherwise = tuple(
            masked_prompt(phrasing, saved.parameters, silent) for phrasing in saved.phrasings
        )
        return _Bound(saved, binding, masked, said, otherwise, similarity - 0.2 * min(strangers, 2))

    def _embed_said(
        self, embed: Embed, model: str, bound: Sequence[_Bound], forms: Mapping[str, Vector]
    ) -> bool:
        """Have the vectors of the shortened prompts at hand that `forms` are compared with; False:
        they were. They are few, and the same for every question."""
        unknown = dict.fromkeys(
            one.said
            for one in bound
            if one.masked in forms
            and one.said != one.saved.masked
            and (model, one.said) not in self._vectors
        )
        texts = list(unknown)[:_MOST_SAID]
        for text in texts:
            self._vectors[model, text] = embed([text])[0]
        while len(self._vectors) > _MOST_VECTORS:
            self._vectors.popitem(last=False)
        return bool(texts)

    def _better(self, model: str, one: _Bound, forms: Mapping[str, Vector]) -> _Bound:
        """`one` with the similarity of the better of the raw and the masked question."""
        vector = forms.get(one.masked)
        if vector is None:
            return one
        mine = one.saved.vector
        similarity = max(one.similarity, float(np.dot(vector[: len(mine)], mine)))
        said = self._vectors.get((model, one.said))
        if said is not None:
            similarity = max(similarity, float(np.dot(vector, said)))
        return replace(one, similarity=similarity)

    def _finished(
        self,
        db: Database,
        reading: Reading,
        found: Match,
        given: Mapping[str, object],
        viewer: Viewer,
        warnings: tuple[str, ...],
    ) -> Match:
        accepted = found.accepted
        if accepted is not None:
            check_given(accepted.saved.parameters, given, reading.matches)
            binding = with_nearest(
                db, accepted.saved.parameters, reading, accepted.binding, self.linker, viewer
            )
            accepted = replace(accepted, binding=binding)
        return Match(accepted, found.choices, found.nearest, found.exact, warnings)


def _decide(
    asked: Asked, bound: Sequence[_Bound], scope_key: str, threshold: float, margin: float
) -> Match:
    """Order the candidates, and accept the first one, offer several, or none."""
    scored: list[tuple[float, _Bound, Evidence]] = []
    # A value that another candidate has a place for, and this one has not, was asked for all the
    # same.
    linked = _linked(bound)
    for one in bound:
        # The phrasing that is most like the question speaks for all of them.
        score, evidence = max(
            (
                (rank_score(evidence), evidence)
                for said in (one.said, *one.otherwise)
                for evidence in [
                    weigh(asked, one.masked, said, one.saved, one.binding, one.similarity, linked)
                ]
            ),
            key=lambda weighed: weighed[0],
        )
        if one.saved.scope_key == scope_key and scope_key != "global":
            score += _SCOPE_BONUS
        scored.append((score, one, evidence))
    scored.sort(key=lambda entry: -entry[0])
    candidates = [
        Candidate(
            one.saved,
            one.similarity,
            confidence(evidence, around),
            one.binding,
            evidence,
            around,
            one.masked,
        )
        for (_, one, evidence), around in zip(scored, _surroundings(scored), strict=True)
    ]
    if not candidates:
        return Match()
    shown = tuple(candidates)
    exact = _exact(bound)
    if exact is not None:
        for candidate in candidates:
            if candidate.saved.id == exact.id and not candidate.evidence.leftover:
                return Match(candidate, nearest=shown, exact=True)
    first = candidates[0]
    if acceptable(first.evidence, first.around, threshold, margin):
        return Match(first, nearest=shown)
    likely = [
        candidate
        for candidate in candidates
        if candidate.similarity >= OFFERED and candidate.confidence >= OFFERED_CONFIDENCE
    ]
    return Match(choices=tuple(likely[:_CHOICES]), nearest=shown)


def _surroundings(scored: Sequence[tuple[float, _Bound, Evidence]]) -> list[Surroundings]:
    if not scored:
        return []
    length = max(len(one.saved.vector) for _, one, _ in scored)
    vectors = np.zeros((len(scored), length), dtype=np.float32)
    for row, (_, one, _) in zip(vectors, scored, strict=True):
        row[: len(one.saved.vector)] = one.saved.vector
    alike = vectors @ vectors.T
    found: list[Surroundings] = []
    for at, (score, one, _) in enumerate(scored):
        others = [
            other
            for other, (_, saved, _) in enumerate(scored)
            if saved.saved.answer_key != one.saved.answer_key
        ]
        if others:
            lead = score - scored[others[0]][0]
            found.append(Surroundings(lead, float(alike[at, others].max()), alone=False))
        else:
            found.append(Surroundings(1.0, 0.0, alone=True))
    return found


def _linked(bound: Sequence[_Bound]) -> list[tuple[int, int]]:
    """The characters of the question that name a value for some candidate's list or column."""
    return sorted(
        {
            one.binding.spans[parameter.name]
            for one in bound
            for parameter in one.saved.parameters
            if (parameter.values or parameter.column is not None)
            and parameter.name in one.binding.spans
        }
    )


def _next_form(candidates: Sequence[Candidate], forms: Mapping[str, Vector]) -> str | None:
    """The masked form of the best candidate that has one which was not embedded yet."""
    for candidate in candidates:
        if candidate.masked not in forms:
            return candidate.masked
    return None


def _exact(bound: Sequence[_Bound]) -> Saved | None:
    """The only question whose masked prompt is the masked question, word for word."""
    same = [
        one.saved
        for one in bound
        if exact_key(one.masked) in one.saved.keys
        or exact_key(one.masked) in {exact_key(said) for said in (one.said, *one.otherwise)}
    ]
    if same and all(saved.answer_key == same[0].answer_key for saved in same):
        return same[0]
    return None


def match(
    db: Database,
    embed: Embed,
    question: str,
    scope_key: str = "global",
    *,
    model: str,
    given: Mapping[str, object] | None = None,
    threshold: float = DEFAULT_THRESHOLD,
    margin: float = DEFAULT_MARGIN,
    today: datetime.date | None = None,
) -> Match:
    """`Matcher.match` with nothing kept from before."""
    return Matcher().match(
        db,
        embed,
        question,
        scope_key,
        model=model,
        given=given,
        threshold=threshold,
        margin=margin,
        today=today,
    )
