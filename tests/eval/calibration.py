"""Fits the weights of score.py on several worlds of saved questions, and prints the curves.

    DATABASE_URL=postgresql://... python tests/eval/calibration.py [--fit]

The worlds: paraphrases of one SQL; two sets of templates; the phrasings of the built-in questions
(tests/db/test_builtin_question.py); those of the demonstration's (matching/shop.tsv), which lie
beside the built-in ones, with questions that are not saved; intents; and what is out of scope
(CLINC150, banking77) asked of the demonstration. Every question is asked twice, once with the one
that is meant saved and once without; of the paraphrases half are not saved. What a person asks of
Chinook (chinook.py) is no part of it. Runs in a database of its own on the server of DATABASE_URL.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import random
import re
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
from matching import (
    Ask,
    Embedder,
    Task,
    intents,
    judge,
    paraphrases,
    right,
    templates,
)

_CLONE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(_CLONE))

from migrations.install import install  # noqa: E402
from tests.db.test_builtin_question import asked_lines  # noqa: E402

from pgask import Client  # noqa: E402
from pgask.demo import shop  # noqa: E402
from pgask.demo.__main__ import save_questions  # noqa: E402
from pgask.testing.database import TestServer  # noqa: E402
from pgask_server.question import score  # noqa: E402
from pgask_server.question.saved import Saved, read_saved  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from pgask_server.question.match import Match

Judged = tuple[Ask, "Match"]

SHARES: Mapping[str, float] = {
    "Paraphrases of one SQL": 1,
    "Templates, restaurants": 1,
    # Many of its templates mean the same by other words, and count as wrong here.
    "Templates, geography": 0.5,
    "Built-in questions": 1,
    "The demonstration's": 1,
    "Intents": 0.5,
    "Out of scope": 1,
}
"""How much each world counts, whatever its size."""

_ROWS = """
select n.id::text as id, n.canonical_prompt, n.label, n.status, n.scope_key, n.version,
    n.schema_fingerprint, n.params, n.phrasings::text as phrasings,
    n.derived_sqls::text as derived_sqls, n.query_vector::text as vector
from pgask.nl_query n
order by n.canonical_prompt"""


def saved_in_database() -> list[Saved]:
    """The built-in questions and the demonstration's; values of columns as lists."""
    server = TestServer(os.environ["DATABASE_URL"])
    found: list[Saved] = []
    with server.database() as name:
        install(server.url(name))
        with Client(server.url(name)) as client:
            shop.load_shop(client.connection, shop.make_shop())
            for table in ("article", "artist", "customer", "invoice", "order_line", "track"):
                client.connection.execute(
                    f"create table public.{table} (id integer primary key)".encode()
                )
            save_questions(client)
            cursor = client.connection.execute(_ROWS)
            names = [column.name for column in cursor.description or ()]
            for values in cursor.fetchall():
                row = dict(zip(names, values, strict=True))
                params = cast("list[dict[str, object]]", row["params"])
                for parameter in params:
                    if "column" in parameter:
                        column = parameter.pop("column")
                        parameter["type"] = "text"
                        parameter["values"] = sorted(
                            str(value)
                            for (value,) in client.connection.execute(
                                "select v.value from pgask._column_values(%s, 5000) v", (column,)
                            )
                        )
                found.append(read_saved({**row, "params": json.dumps(params)}))
    return found


def twice(embed: Embedder, task: Task) -> Iterable[Judged]:
    """Every question with the one that is meant saved, and without it."""
    # Never sure enough: so that every form of every question is looked at.
    options = {"threshold": 2.0, "margin": 0.0}
    yield from judge(embed, task, **options)
    by_meaning: dict[str, list[Ask]] = {}
    for ask in task.asks:
        if ask.meant is not None:
            by_meaning.setdefault(ask.meant, []).append(dataclasses.replace(ask, meant=None))
    for meant, asks in by_meaning.items():
        rest = [saved for saved in task.saved if saved.id.split("#")[0] != meant]
        yield from judge(embed, Task(task.group, rest, asks), **options)


def worlds(embed: Embedder, data: Path) -> Iterable[tuple[str, list[Judged]]]:
    chance = random.Random(5)
    yield (
        "Paraphrases of one SQL",
        [
            pair
            for task in paraphrases(embed, data)
            for pair in judge(embed, task, threshold=2.0, margin=0.0)
        ],
    )
    for name in ("restaurants", "geography"):
        yield f"Templates, {name}", list(twice(embed, templates(embed, data, name)))

    saved = saved_in_database()
    ids = {one.label or "": one.id for one in saved}
    place = re.compile(r"\{\w+:([^}]*)\}")
    asks = [Ask(place.sub(r"\1", words), ids[label]) for label, words in asked_lines()]
    system = [one for one in saved if one.status == "system"]
    yield "Built-in questions", list(twice(embed, Task("builtin", system, asks)))
    lines = Path(__file__).with_name("matching").joinpath("shop.tsv").read_text().splitlines()
    pairs = [line.split("\t") for line in lines]
    asks = [Ask(words, ids.get(label)) for label, words in pairs]
    yield "The demonstration's", list(twice(embed, Task("shop", saved, asks)))

    [task] = intents(embed, data, 1)
    outside = [ask for ask in task.asks if ask.meant is None]
    asks = chance.sample([ask for ask in task.asks if ask.meant is not None], 400) + outside
    yield "Intents", list(twice(embed, Task("intents", task.saved, asks)))
    banking = (data / "banking77/train.tsv").read_text().splitlines()
    outside += [Ask(line.split("\t")[1], None) for line in chance.sample(banking, 200)]
    yield (
        "Out of scope",
        list(judge(embed, Task("outside", saved, outside), threshold=2.0, margin=0.0)),
    )


def answered(match: Match, threshold: float) -> str | None:
    """The saved question that would run; None: it is asked back, or asked for a value."""
    if match.accepted is not None:
        first = match.accepted
    elif match.nearest and score.acceptable(
        match.nearest[0].evidence, match.nearest[0].around, threshold, score.DEFAULT_MARGIN
    ):
        first = match.nearest[0]
    else:
        return None
    return None if first.binding.missing else first.saved.id


def curves(judged: Mapping[str, Sequence[Judged]]) -> None:
    """Per world and threshold: answered rightly of the saved, wrong of the answers."""
    thresholds = (0.5, 0.6, 0.7, 0.75, 0.8, 0.83, 0.85, 0.9, 0.95)
    print("| | saved / not | " + " | ".join(map(str, thresholds)) + " |")
    print("|---|---|" + "---|" * len(thresholds))
    union = [[0.0, 0.0, 0.0, 0.0] for _ in thresholds]
    for name, pairs in judged.items():
        cells: list[str] = []
        saved = sum(ask.meant is not None for ask, _ in pairs)
        for total, threshold in zip(union, thresholds, strict=True):
            ran = [(ask, answered(match, threshold)) for ask, match in pairs]
            count = sum(identity is not None for _, identity in ran)
            good = sum(identity is not None and right(ask, identity) for ask, identity in ran)
            cells.append(f"{good / (saved or 1):.2f}, {(count - good) / (count or 1):.3f}")
            share = SHARES[name]
            total[0] += share * count / len(pairs)
            total[1] += share * (count - good) / len(pairs)
            total[2] += share * good / saved if saved else 0.0
            total[3] += share if saved else 0.0
        print(f"| {name} | {saved} / {len(pairs) - saved} | " + " | ".join(cells) + " |")
    cells = [f"{found / worlds:.2f}, {wrong / count:.3f}" for count, wrong, found, worlds in union]
    print("| all | | " + " | ".join(cells) + " |")


def fit(judged: Mapping[str, Sequence[Judged]]) -> None:
    """Prints the weights, and how far apart the folds of a cross-validation find them."""
    rows: list[tuple[float, ...]] = []
    labels: list[float] = []
    shares: list[float] = []
    folds: list[int] = []
    for name, pairs in judged.items():
        for ask, match in pairs:
            if match.exact or not match.nearest:
                continue
            first = match.nearest[0]
            rows.append(score.features(first.evidence, first.around))
            labels.append(float(right(ask, first.saved.id)))
            shares.append(2000 * SHARES[name] / len(pairs))
            folds.append(zlib.crc32((ask.meant or ask.question).encode()) % 5)
    x, y, share = np.array(rows), np.array(labels), np.array(shares)
    fold = np.array(folds)
    found = [_weights(x[fold != k], y[fold != k], share[fold != k]) for k in range(5)]
    whole = _weights(x, y, share)
    for at, name in enumerate(score.FEATURES):
        parts = [weights[at] for weights in found]
        print(f"{name:16} {whole[at]:6.2f}   {min(parts):6.2f} to {max(parts):6.2f}")


def _weights(
    x: NDArray[np.float64], y: NDArray[np.float64], share: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Logistic regression with a light ridge."""
    weights = np.zeros(x.shape[1])
    ridge = np.full(x.shape[1], 1.0)
    ridge[0] = 0.01
    for _ in range(60):
        p = 1 / (1 + np.exp(-x @ weights))
        gradient = x.T @ (share * (p - y)) + ridge * weights
        hessian = (x * (share * p * (1 - p))[:, None]).T @ x + np.diag(ridge)
        weights -= np.linalg.solve(hessian, gradient)
    return weights


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, default=_CLONE.parent / "shared/data")
    parser.add_argument("--model-directory", default=".pg/model")
    parser.add_argument("--cache", type=Path, default=Path(".pg/matching_vectors.npz"))
    parser.add_argument("--fit", action="store_true", help="print the weights that fit best")
    arguments = parser.parse_args()
    if not arguments.data.exists():
        print(f"skipped: {arguments.data} does not exist")
        return
    embed = Embedder(arguments.model_directory, arguments.cache)
    judged = dict(worlds(embed, arguments.data))
    curves(judged)
    if arguments.fit:
        fit(judged)
    embed.keep()


if __name__ == "__main__":
    main()
