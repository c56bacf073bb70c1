"""Statements that answer questions: written by people or models, checked, contained, run.

A statement's road: `placeholder` turns :name into $n; `inspection` has PostgreSQL itself understand
it; `check` refuses what it must not do; `analyse` is these three, and gives the canonical text.
`run` asks for the result of such a text; `admit` checks it again where it runs; `execute` is what
happens inside the read-only block, `deadline` ends what takes too long, `cells` cuts and writes
the result.
"""
