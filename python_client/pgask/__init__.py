"""Ask a PostgreSQL database in plain English: the Python client of pgask.

from pgask import Client

with Client("postgresql://localhost/shop") as client:
    answer = client.ask("top 3 products in 2025")
    print(answer.text)
    frame = answer.tables[0].to_pandas()
"""

from pgask import errors
from pgask.answer import Answer, Choice, Evidence, MissingParameter
from pgask.async_client import AsyncClient
from pgask.client import Client
from pgask.errors import PgaskError
from pgask.models import Check, QueueStatus, SearchHit, SourceStatus
from pgask.table import Column, Table
from pgask.version import __version__

__all__ = [
    "Answer",
    "AsyncClient",
    "Check",
    "Choice",
    "Client",
    "Column",
    "Evidence",
    "MissingParameter",
    "PgaskError",
    "QueueStatus",
    "SearchHit",
    "SourceStatus",
    "Table",
    "__version__",
    "errors",
]
