"""The help centre of the shop: about forty articles, one Markdown file per category.

An article is a block of `key: value` lines between two lines of dashes (id, title, updated), and
its text below.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import resources
from typing import TYPE_CHECKING, LiteralString

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import psycopg

SCHEMA: LiteralString = """
create schema help;
create table help.article (
    id integer primary key,
    title text not null,
    body text not null,
    category text not null,
    language text not null default 'en',
    is_published boolean not null default true,
    updated_at timestamptz not null
);
comment on table help.article is 'The help centre, as customers read it.';
"""

_HEAD = re.compile(r"^---\n((?:\w+: .*\n)+)---\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Article:
    """One article; `body` has a blank line between paragraphs and none of the file's breaks."""

    id: int
    title: str
    body: str
    category: str
    updated_at: datetime


def read_articles() -> Sequence[Article]:
    """Every article, by category and id. Raises ValueError where a file is not well formed."""
    files = sorted(
        (f for f in resources.files("pgask.demo.help_centre").iterdir() if f.name.endswith(".md")),
        key=lambda f: f.name,
    )
    return [
        article
        for file in files
        for article in parse_articles(
            file.read_text(encoding="utf-8"), file.name.removesuffix(".md").replace("_", " ")
        )
    ]


def parse_articles(text: str, category: str) -> Iterator[Article]:
    """The articles of one file."""
    before, *parts = _HEAD.split(text)
    if before.strip() or not parts:
        raise ValueError(f"the articles on {category} do not begin with a line of dashes")
    for head, body in zip(parts[::2], parts[1::2], strict=True):
        fields = dict(line.split(": ", 1) for line in head.splitlines())
        paragraphs = (" ".join(p.split()) for p in re.split(r"\n\s*\n", body.strip()))
        yield Article(
            id=int(fields["id"]),
            title=fields["title"],
            body="\n\n".join(paragraphs),
            category=category,
            updated_at=datetime.fromisoformat(fields["updated"]).replace(tzinfo=UTC),
        )


def load_articles(connection: psycopg.Connection[object], articles: Sequence[Article]) -> int:
    """Make the schema `help` and copy every article; returns their number."""
    connection.execute(SCHEMA)
    statement = "copy help.article (id, title, body, category, updated_at) from stdin"
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for a in articles:
            copy.write_row((a.id, a.title, a.body, a.category, a.updated_at))
    return len(articles)
