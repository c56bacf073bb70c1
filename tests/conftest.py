"""How the tests get pgask into a database; the fixtures themselves are pgask.testing's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from migrations.install import install

if TYPE_CHECKING:
    from pgask.testing.plugin import Install

pytest_plugins = ["pgask.testing.short_names"]


@pytest.fixture(scope="session")
def pgask_install() -> Install:
    """The installer of this clone, without the developer's own .env."""

    def run(url: str) -> None:
        install(url)

    return run
