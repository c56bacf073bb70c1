"""The client's version, and whether it fits the database's."""

from __future__ import annotations

from pgask.errors import VersionMismatch

__version__ = "0.1.0"


def check(installed: str, client: str = __version__) -> None:
    """Raise VersionMismatch unless both have the same major and minor version.

    installed: what `pgask.version()` returned. The error says which of the two to upgrade.
    """
    theirs, ours = _release(installed), _release(client)
    if theirs == ours:
        return
    if theirs < ours:
        hint = "Upgrade the database: make migrate DATABASE_URL=postgresql://..."
    else:
        hint = f"Upgrade the client: pip install 'pgask=={'.'.join(map(str, theirs))}.*'"
    raise VersionMismatch(
        f"The database has pgask {installed}, the client is pgask {client}.", hint=hint
    )


def _release(version: str) -> tuple[int, int]:
    try:
        major, minor = version.split(".")[:2]
        return int(major), int(minor)
    except ValueError:
        raise VersionMismatch(f"The database reports the version {version!r}.") from None
