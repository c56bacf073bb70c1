"""Every SQL text that the client sends, by name. {arguments} is filled by `calls.py`."""

from __future__ import annotations

from psycopg.sql import SQL

VERSION = SQL("select pgask.version() as version")

ANSWER = SQL("""
    with a as materialized (select pgask.answer({arguments}) as answer)
    select a.answer::text as answer, pgask._render_answer(a.answer) as text
    from a
""")

SEARCH = SQL("""
    select
        h.source_schema, h.source_table, h.source_id, h.chunk_index, h.chunk_text,
        h.filter_values, h.similarity, h.score
    from pgask.search({arguments}) as h
""")

SAVE_QUESTION = SQL("select pgask.save_question({arguments}) as id")

APPROVE_QUESTION = SQL("select pgask.approve_question({arguments})")

REGISTER_SOURCE = SQL("select r.* from pgask.register_source({arguments}) as r")

WORK = SQL("call pgask.work({arguments})")

SOURCE_STATUS = SQL("""
    select s.* from pgask.source_status as s order by s.source_schema, s.source_table
""")

QUEUE_STATUS = SQL("select q.* from pgask.queue_status as q")

DOCTOR = SQL("select d.* from pgask.doctor() as d")

SET_SETTING = SQL("select pgask.set_setting({arguments})")

LISTEN = SQL("listen pgask_job")
"""The channel that the triggers of the sources notify."""
