"""Measures matching and binding on public question sets, and fits the weights of score.py.

    python tests/eval/matching.py [--data ../shared/data] [--model-directory DIRECTORY] [--fit]

Paraphrases: pairs of questions with one SQL, candidates of one database, half of the questions
unsaved. Templates: saved questions with blanks, asked with other values. Intents: a question per
intent saved, out-of-scope questions must be refused. Prints Markdown tables.
"""

from __future__ import annotations

import argparse
import datetime
import json
import random
import re
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[2] / "plpython"))

from typing import TYPE_CHECKING

from pgask_server.model import ModelConfig, open_model
from pgask_server.question import score
from pgask_server.question.bind import read_question
from pgask_server.question.link import Viewer
from pgask_server.question.match import CANDIDATES, Match, Matcher
from pgask_server.question.saved import Saved, read_saved
from pgask_server.question.traits import statement_traits

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pgask_server.database import Row

Vector = NDArray[np.float32]
TODAY = datetime.date(2026, 6, 15)
VIEWER = Viewer("eval", "")
MODEL = "eval"


class Embedder:
    """The model, with every vector kept."""

    def __init__(self, directory: str, cache: Path) -> None:
        self._model = open_model(ModelConfig(name="local/all-MiniLM-L6-v2", directory=directory))
        self._cache = cache
        self._kept: dict[str, Vector] = {}
        if cache.exists():
            stored = np.load(cache, allow_pickle=False)
            self._kept = dict(zip(stored["texts"].tolist(), stored["vectors"], strict=True))

    def __call__(self, texts: Sequence[str], /) -> Vector:
        unknown = list(dict.fromkeys(text for text in texts if text not in self._kept))
        for at in range(0, len(unknown), 256):
            part = unknown[at : at + 256]
            for text, vector in zip(part, self._model.embed(part)[:, :384], strict=True):
                self._kept[text] = vector
        return np.array([self._kept[text] for text in texts])

    def keep(self) -> None:
        np.savez(
            self._cache,
            texts=np.array(list(self._kept)),
            vectors=np.array(list(self._kept.values())),
        )


class NoDatabase:
    """Stands where a database would be: the sets bring their values as lists."""

    def execute(
        self, sql: str, types: Sequence[str] = (), values: Sequence[object] = (), limit: int = 0
    ) -> Sequence[Row]:
        raise AssertionError(sql)

    columns = commit = rollback = warn = execute  # type: ignore[assignment]


@dataclass(frozen=True)
class Ask:
    """One question, and the saved one that it means; None: it is not saved."""

    question: str
    meant: str | None
    values: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Task:
    """Saved questions, and what is asked of them. group: for cross-validation."""

    group: str
    saved: Sequence[Saved]
    asks: Sequence[Ask]


def make_saved(
    embed: Embedder, identity: str, prompt: str, sqls: Sequence[str], params: object = ()
) -> Saved:
    from pgask_server.question.mask import masked_prompt
    from pgask_server.question.parameter import parse_parameters

    vector = embed([masked_prompt(prompt, parse_parameters(json.dumps(params)))])[0]
    return read_saved(
        {
            "id": identity,
            "canonical_prompt": prompt,
            "label": None,
            "status": "approved",
            "scope_key": "global",
            "version": 1,
            "schema_fingerprint": None,
            "params": json.dumps(params),
            "phrasings": "[]",
            "derived_sqls": json.dumps([_statement(sql) for sql in sqls]),
            "vector": "[" + ",".join(f"{x:.7g}" for x in vector.tolist()) + "]",
        }
    )


def _statement(sql: str) -> dict[str, object]:
    """As it is stored."""
    traits = statement_traits([sql])
    return {"sql": sql, "traits": None if traits is None else sorted(traits)}


def judge(embed: Embedder, task: Task, **options: float) -> Iterable[tuple[Ask, Match]]:
    matcher = Matcher()
    matrix = np.zeros((len(task.saved), 384), dtype=np.float32)
    for at, saved in enumerate(task.saved):
        matrix[at, : len(saved.vector)] = saved.vector

    def search(vector: Vector) -> list[tuple[Saved, float]]:
        similarity = matrix @ vector
        return [
            (task.saved[at], float(similarity[at])) for at in np.argsort(-similarity)[:CANDIDATES]
        ]

    for ask, vector in zip(task.asks, embed([ask.question for ask in task.asks]), strict=True):
        yield (
            ask,
            matcher.choose(
                NoDatabase(),  # type: ignore[arg-type]
                embed,
                read_question(ask.question, TODAY),
                vector,
                search(vector),
                search,
                VIEWER,
                "global",
                model=MODEL,
                given={},
                **options,
            ),
        )


def paraphrases(embed: Embedder, data: Path) -> list[Task]:
    """Spider: two phrasings of one SQL; one is saved, the other asked; half are not saved."""
    by_database: dict[str, dict[str, list[tuple[str, str]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for line in (data / "spider/train.jsonl").read_text().splitlines():
        entry = json.loads(line)
        key = " ".join(entry["sql"].lower().split())
        by_database[entry["db_id"]][key].append((entry["question"], entry["sql"]))
    chance = random.Random(7)
    tasks: list[Task] = []
    for name, queries in sorted(by_database.items()):
        saved: list[Saved] = []
        asks: list[Ask] = []
        for at, (_, phrasings) in enumerate(sorted(queries.items())):
            identity = f"{name}-{at}"
            texts = list(dict.fromkeys(text for text, _ in phrasings))
            if len(texts) < 2:
                saved.append(make_saved(embed, identity, texts[0], [phrasings[0][1]]))
                continue
            chance.shuffle(texts)
            if chance.random() < 0.5:
                saved.append(make_saved(embed, identity, texts[0], [phrasings[0][1]]))
                asks.append(Ask(texts[1], identity))
            else:
                asks.append(Ask(texts[1], None))
        if saved and asks:
            tasks.append(Task(name, saved, asks))
    return tasks


def templates(embed: Embedder, data: Path, name: str, phrasings: int = 1) -> Task:
    """text2sql: each template saved with its first phrasing, the other questions asked."""
    definitions = {
        entry["id"]: entry
        for entry in map(
            json.loads, (data / f"text2sql/{name}.templates.jsonl").read_text().splitlines()
        )
    }
    questions: dict[str, dict[str, list[tuple[str, dict[str, str]]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    values: dict[str, set[str]] = defaultdict(set)
    for line in (data / f"text2sql/{name}.questions.tsv").read_text().splitlines():
        template, _, filled, blank, gold = line.split("\t")
        found = json.loads(gold)
        questions[template][blank].append((filled, found))
        types = {v["name"]: v["type"] for v in definitions[template]["variables"]}
        for variable, value in found.items():
            if value.strip():
                values[types.get(variable, variable)].add(value)
    saved: list[Saved] = []
    asks: list[Ask] = []
    for template, forms in questions.items():
        definition = definitions[template]
        for at, (blank, filled) in enumerate(forms.items()):
            if at < phrasings:
                params: list[object] = []
                used: set[str] = set()
                prompt = blank
                for variable in definition["variables"]:
                    if not re.search(rf"\b{variable['name']}\b", prompt):
                        continue
                    kind = variable["type"]
                    lists = sorted(values[kind])
                    name = kind if kind not in used else f"other_{kind}"
                    used.add(name)
                    params.append({"name": name, "type": "text", "values": lists})
                    prompt = re.sub(rf"\b{variable['name']}\b", "{" + name + "}", prompt)
                saved.append(
                    make_saved(embed, f"{template}#{at}", prompt, [definition["sql"]], params)
                )
            else:
                asks.extend(Ask(text, template, gold) for text, gold in filled)
    return Task(name, saved, asks)


def intents(embed: Embedder, data: Path, per_intent: int) -> list[Task]:
    chance = random.Random(3)
    by_intent: dict[str, list[str]] = defaultdict(list)
    for line in (data / "clinc150/train.tsv").read_text().splitlines():
        intent, text = line.split("\t")
        by_intent[intent].append(text)
    saved = [
        make_saved(embed, f"{intent}#{at}", text, ())
        for intent, texts in by_intent.items()
        for at, text in enumerate(chance.sample(texts, per_intent))
    ]
    asks = [
        Ask(text, intent)
        for intent, text in (
            line.split("\t") for line in (data / "clinc150/val.tsv").read_text().splitlines()
        )
    ]
    asks = chance.sample(asks, 1500)
    for part in ("oos_train", "oos_val"):
        asks += [
            Ask(line.split("\t")[1], None)
            for line in (data / f"clinc150/{part}.tsv").read_text().splitlines()
        ]
    return [Task("clinc150", saved, asks)]


def right(ask: Ask, identity: str) -> bool:
    return ask.meant is not None and identity.split("#")[0] == ask.meant


def curve(title: str, judged: Sequence[tuple[Ask, Match]]) -> None:
    """Prints, by threshold, how many are answered, and how many of the answers are wrong."""
    saved = sum(ask.meant is not None for ask, _ in judged) or 1
    top = sum(bool(m.nearest) and right(a, m.nearest[0].saved.id) for a, m in judged)
    offered = sum(any(right(a, c.saved.id) for c in m.nearest[:5]) for a, m in judged)
    print(
        f"\n{title}: {len(judged)} asked, {saved} of them saved; first {top / saved:.3f}, "
        f"among five {offered / saved:.3f}\n"
    )
    print("| least confidence | answered of the saved | wrong of the answers | unsaved answered |")
    print("|---|---|---|---|")
    for threshold in (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95):
        answered = [
            (a, m.nearest[0])
            for a, m in judged
            if m.nearest
            and score.acceptable(
                m.nearest[0].evidence, m.nearest[0].around, threshold, score.DEFAULT_MARGIN
            )
        ]
        good = sum(right(a, c.saved.id) for a, c in answered)
        unsaved = sum(a.meant is None for a, _ in answered)
        wrong = (len(answered) - good) / (len(answered) or 1)
        share = unsaved / ((len(judged) - saved) or 1)
        print(f"| {threshold} | {good / saved:.3f} | {wrong:.3f} | {share:.3f} |")


def fit(judged: Sequence[tuple[Ask, Match]]) -> list[float]:
    """Logistic regression, with a light ridge, of "the first candidate is right"."""
    rows: list[tuple[float, ...]] = []
    labels: list[float] = []
    for ask, match in judged:
        if not match.nearest:
            continue
        first = match.nearest[0]
        rows.append(score.features(first.evidence, first.around))
        labels.append(float(right(ask, first.saved.id)))
    x, y = np.array(rows), np.array(labels)
    weights = np.zeros(x.shape[1])
    ridge = np.full(x.shape[1], 1.0)
    ridge[0] = 0.01
    for _ in range(60):
        p = 1 / (1 + np.exp(-x @ weights))
        gradient = x.T @ (p - y) + ridge * weights
        hessian = (x * (p * (1 - p))[:, None]).T @ x + np.diag(ridge)
        weights -= np.linalg.solve(hessian, gradient)
    return [round(float(w), 2) for w in weights]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[3] / "shared/data")
    parser.add_argument("--model-directory", default=".pg/model")
    parser.add_argument("--cache", type=Path, default=Path(".pg/matching_vectors.npz"))
    parser.add_argument(
        "--fit", action="store_true", help="print weights fitted on the paraphrases"
    )
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    if not arguments.data.exists():
        print(f"skipped: {arguments.data} does not exist")
        return
    embed = Embedder(arguments.model_directory, arguments.cache)
    # Never sure enough: so that every form of every question is looked at.
    options = {"threshold": 2.0, "margin": 0.0}
    if arguments.only in ("", "paraphrases"):
        judged = [
            pair
            for task in paraphrases(embed, arguments.data)
            for pair in judge(embed, task, **options)
        ]
        curve("Paraphrases of one SQL (Spider, by database)", judged)
        if arguments.fit:
            print(dict(zip(score.FEATURES, fit(judged), strict=True)))
    for name in ("geography", "restaurants"):
        if arguments.only in ("", name):
            task = templates(embed, arguments.data, name)
            judged = list(judge(embed, task, **options))
            curve(f"Templates with one phrasing ({name})", judged)
            bound = [
                (a, m.nearest[0])
                for a, m in judged
                if m.nearest and right(a, m.nearest[0].saved.id) and a.values
            ]
            values = sum(
                sorted(v for v in c.binding.values.values() if v)
                == sorted(v for v in a.values.values() if v.strip())
                for a, c in bound
                if a.values
            )
            print(
                "\nvalues right where the question is: "
                f"{values / (len(bound) or 1):.3f} of {len(bound)}"
            )
    for count in (1, 5):
        if arguments.only in ("", "intents"):
            for task in intents(embed, arguments.data, count):
                curve(
                    f"Intents, {count} saved each (CLINC150)", list(judge(embed, task, **options))
                )
    embed.keep()


if __name__ == "__main__":
    main()
