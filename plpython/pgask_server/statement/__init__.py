"""Statements that answer questions: written by people or models, checked, contained, run.

A statement's road: `placeholder` turns :name into $n, `analyse` lets PostgreSQL itself understand
it and gives its canonical text, `check` refuses what it must not do, `admit` remembers the
verdict for a session, `run` asks for the result, `execute` is what happens inside the read-only
block, `deadline` ends what takes too long.
"""
