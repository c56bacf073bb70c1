"""The whole road: a row becomes searchable, a question becomes an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import psycopg


@pytest.fixture
def articles(connection: psycopg.Connection) -> psycopg.Connection:
    connection.execute("create schema kb")
    connection.execute(
        "create table kb.article (id bigint primary key, title text, summary text, body text,"
        " category text, is_published boolean, author_email text,"
        " updated_at timestamptz default now())"
    )
    connection.execute(
        "insert into kb.article values"
        " (1, 'How refunds are processed', 'Refund timing, eligibility.',"
        "  'When a refund is approved the money returns to the card that paid.',"
        "  'billing', true, 'jo@example.com'),"
        " (2, 'Resetting your password', 'Reset via the email link.',"
        "  'Click Forgot password on the sign-in page.', 'account', true, 'jo@example.com'),"
        " (3, 'Delivery times', null, 'Parcels arrive within three days.',"
        "  'shipping', false, 'al@example.com')"
    )
    connection.execute(
        "select pgask.register_source('kb.article', '{{title}}\\n{{summary}}\\n\\n{{body}}',"
        " 'fixed(200, 40)', '{category, is_published}')"
    )
    connection.execute("call pgask.work()")
    return connection


def test_a_row_is_found_by_its_meaning(articles: psycopg.Connection) -> None:
    best = articles.execute(
        "select s.source_schema, s.source_table, s.source_id, s.chunk_index, s.chunk_text,"
        " s.filter_values, s.similarity from pgask.search('how do I get my money back', k => 2,"
        " source => 'kb.article', filter => '{\"category\": \"billing\"}') s"
    ).fetchall()
    assert len(best) == 1
    schema, table, source_id, index, text, filters, similarity = best[0]
    assert (schema, table, source_id, index) == ("kb", "article", "1", 0)
    assert text == (
        "How refunds are processed\nRefund timing, eligibility.\n\n"
        "When a refund is approved the money returns to the card that paid."
    )
    assert filters == {"category": "billing", "is_published": True}
    assert 0.3 < similarity < 1


def test_a_change_is_found_and_a_deleted_row_is_not(articles: psycopg.Connection) -> None:
    articles.execute("update kb.article set body = 'Drones bring the parcel.' where id = 3")
    articles.execute("delete from kb.article where id = 1")
    articles.execute("call pgask.work()")
    found = articles.execute(
        "select s.source_id, s.chunk_text from pgask.search('drones', 3) s"
    ).fetchall()
    assert [row[0] for row in found] == ["3", "2"]
    assert found[0][1].endswith("Drones bring the parcel.")
    assert articles.execute("select count(*) from pgask.embedding_job").fetchone() == (0,)


def test_a_question_becomes_an_answer(articles: psycopg.Connection) -> None:
    articles.execute(
        "select pgask.save_question('How many articles are there in category {category}?',"
        ' $$[{"sql": "select count(*) as articles from kb.article where category = :category",'
        ' "display": "number"}]$$,'
        ' $$[{"name": "category", "type": "text", "column": "kb.article.category"}]$$,'
        " 'Articles of a category')"
    )
    text = articles.execute("select ask('how many articles are in the biling category?')")
    (answer,) = text.fetchone() or ("",)
    assert "1" in answer.splitlines()[0]
    assert "category = billing" in answer
    assert "Articles of a category (draft" in answer

    (as_json,) = articles.execute(
        "select pgask.answer('how many articles are in the biling category?')"
    ).fetchone() or ({},)
    assert as_json["source"] == "saved"
    assert as_json["params"] == {"category": "billing"}
    assert as_json["tables"][0]["rows"] == [[1]]
    assert as_json["trusted"] is False


def test_words_answer_what_no_saved_question_does(articles: psycopg.Connection) -> None:
    (answer,) = articles.execute("select ask('when does my money come back?')").fetchone() or ("",)
    assert "the money returns to the card that paid" in answer
    assert "kb.article" in answer


def test_the_database_knows_itself(articles: psycopg.Connection) -> None:
    articles.execute("analyze kb.article")
    (answer,) = articles.execute("select ask('which tables take the most space?')").fetchone() or (
        "",
    )
    assert "pgask" in answer or "article" in answer
    assert "built" in answer
