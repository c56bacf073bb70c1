"""A demonstration: a synthetic shop, its help centre, and five questions with their answers.

Run it with `make demo`, or `python -m pgask.demo --dsn postgresql://...` on a database where
pgask is installed. It makes the schemas `shop` and `help` and nothing else outside pgask.
"""
