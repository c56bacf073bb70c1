"""The settings of an installation: what there is, its default, and what a value may be.

A setting's value is the first of: its row in pgask.setting, the variable PGASK_<NAME> in the
environment of the server, the default below. Neither of the first two can be changed by an
ordinary user; a custom GUC could, so none is read.
"""

from __future__ import annotations

import difflib
import functools
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from pgask_server.errors import ConfigurationError, SettingInvalid

if TYPE_CHECKING:
    from pgask_server.database import Database

Check = Callable[[str], str | None]
"""Says what is expected where a value is wrong, else None."""


def _integer(least: int, most: int) -> Check:
    def check(value: str) -> str | None:
        if re.fullmatch(r"\d{1,18}", value) and least <= int(value) <= most:
            return None
        return f"A whole number from {least} to {most} is expected."

    return check


def _real(least: float, most: float) -> Check:
    def check(value: str) -> str | None:
        if re.fullmatch(r"\d{1,15}(\.\d{1,15})?", value) and least <= float(value) <= most:
            return None
        return f"A number from {least:g} to {most:g} is expected."

    return check


def _embedding_model(value: str) -> str | None:
    if re.fullmatch(r"(local|openai)/[^\s/][^\s]*", value) and ".." not in value:
        return None
    return "Write local/NAME, for a directory in model_directory, or openai/NAME."


def _chat_model(value: str) -> str | None:
    if re.fullmatch(r"openai/\S+", value):
        return None
    return "Write openai/NAME, for any endpoint that speaks the OpenAI protocol."


def _url(value: str) -> str | None:
    try:
        url = urlsplit(value)
        host = url.hostname
    except ValueError:
        return "It is not a URL."
    if url.scheme not in ("http", "https") or not host or re.search(r"\s", value):
        return "A URL that starts with http:// or https:// is expected."
    if "@" in url.netloc:
        return "Credentials do not belong into the URL: use the setting that ends in _api_key."
    return None


def _key(value: str) -> str | None:
    if re.fullmatch(r"[!-~]+", value):
        return None
    return "A key is printable ASCII without blanks."


def _directory(value: str) -> str | None:
    if not Path(value).is_absolute():
        return "An absolute path is expected."
    if not os.access(value, os.R_OK | os.X_OK) or not Path(value).is_dir():
        return "The server finds no directory there that it may read."
    return None


def _memory(value: str) -> str | None:
    found = re.fullmatch(r"([1-9]\d{0,9})(kB|MB|GB)", value)
    if found is not None:
        kilobytes = int(found[1]) * {"kB": 1, "MB": 1024, "GB": 1024 * 1024}[found[2]]
        # What maintenance_work_mem takes.
        if 1024 <= kilobytes <= 2147483647:
            return None
    return "An amount of memory from 1MB to 2047GB such as 512MB is expected."


def _functions(value: str) -> str | None:
    name = r'([a-z_][a-z0-9_$]*|"([^"]|"")+")'
    if re.fullmatch(rf"\s*{name}\.{name}\s*(,\s*{name}\.{name}\s*)*", value):
        return None
    return "A list schema.function, schema.function, ... is expected."


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. default: None where nothing is set unless the owner sets it."""

    name: str
    default: str | None
    check: Check
    doc: str

    @property
    def secret(self) -> bool:
        """Whether the value may be read by the owner and the workers only."""
        return self.name.endswith("_key")


SETTINGS: tuple[Setting, ...] = (
    Setting(
        "embedding_model",
        "local/all-MiniLM-L6-v2",
        _embedding_model,
        "The model behind the vectors: local/NAME runs in the server, openai/NAME at an endpoint.",
    ),
    Setting("embedding_base_url", None, _url, "The endpoint of an openai/ embedding model."),
    Setting("embedding_api_key", None, _key, "The key for that endpoint."),
    Setting("embedding_threads", "2", _integer(1, 256), "Threads of a worker with a local model."),
    Setting("embedding_batch", "64", _integer(1, 2048), "Texts per request or model call."),
    Setting("embedding_timeout", "30", _real(0.1, 3600), "Seconds to wait for the endpoint."),
    Setting("chat_model", None, _chat_model, "The language model; without it none is used."),
    Setting("chat_base_url", None, _url, "The endpoint of the language model."),
    Setting("chat_api_key", None, _key, "The key for that endpoint."),
    Setting("chat_timeout", "60", _real(0.1, 3600), "Seconds to wait for that endpoint."),
    Setting("model_directory", None, _directory, "Holds one directory per local model."),
    Setting("package_path", None, _directory, "Where the server finds the package pgask_server."),
    Setting("lease_seconds", "300", _integer(1, 86400), "How long a worker owns what it claimed."),
    Setting("max_attempts", "5", _integer(1, 100), "After so many failures a job has failed."),
    Setting("statement_timeout_ms", "15000", _integer(1, 86400000), "For one saved statement."),
    Setting("row_limit", "1000", _integer(1, 1000000), "Rows kept of a statement's result."),
    Setting("cell_limit", "10000", _integer(1, 10000000), "Characters kept of one value."),
    Setting("plan_cost_limit", None, _real(1, 1e15), "A statement planned above it is refused."),
    Setting("allowed_functions", None, _functions, "Volatile functions that questions may call."),
    Setting(
        "match_threshold",
        "0.85",
        _real(0, 1),
        "From this confidence a question is answered without asking back.",
    ),
    Setting("match_margin", "0.02", _real(0, 1), "The lead that the best match must have."),
    Setting("index_build_memory", "256MB", _memory, "Memory for building the vector index."),
)

BY_NAME: Mapping[str, Setting] = {setting.name: setting for setting in SETTINGS}


def find(name: str) -> Setting:
    """The setting of that name. Raises SettingInvalid with the nearest names as a hint."""
    if name in BY_NAME:
        return BY_NAME[name]
    near = difflib.get_close_matches(name, BY_NAME, n=3)
    raise SettingInvalid(
        f"there is no setting {name[:80]!r}",
        hint="Did you mean " + " or ".join(near) + "?" if near else "Known: " + ", ".join(BY_NAME),
    )


def check(name: str, value: str) -> str:
    """The value as it is stored: without blanks around it. Raises SettingInvalid."""
    setting = find(name)
    stripped = value.strip()
    wrong = setting.check(stripped)
    if wrong is None:
        return stripped
    raise SettingInvalid(
        f"the value of {name} is not valid",
        # A mistyped key is still most of a key.
        detail=None if setting.secret else f"The value is {value[:200]!r}.",
        hint=wrong,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Settings:
    """The settings in force, secrets left out. While they stay the same, so does the object."""

    rows: Mapping[str, str]
    environment: Mapping[str, str]

    def optional(self, name: str) -> str | None:
        """The value as text, or None where nothing is set and there is no default."""
        setting = find(name)
        if setting.secret:
            raise SettingInvalid(f"{name} is a secret and is not shown")
        return self.rows.get(name) or _variable(self.environment, setting) or setting.default

    def text(self, name: str) -> str:
        """The value; a setting that must be set and is not raises ConfigurationError."""
        value = self.optional(name)
        if value is None:
            raise ConfigurationError(
                f"the setting {name} is not set",
                hint=f"select pgask.set_setting('{name}', '...')",
            )
        return value

    def integer(self, name: str) -> int:
        """The value of a setting that is a whole number."""
        return int(self.text(name))

    def real(self, name: str) -> float:
        """The value of a setting that is a number."""
        return float(self.text(name))


def read(db: Database) -> Settings:
    """The settings in force now: one query."""
    return _parsed(cast("str", db.execute("select pgask._settings() as settings")[0]["settings"]))


@functools.lru_cache(maxsize=4)
def _parsed(rows: str) -> Settings:
    return Settings(cast("dict[str, str]", json.loads(rows)), os.environ)


def read_secret(db: Database, name: str) -> str | None:
    """A key, from its row or the server's environment. The current user must be a worker."""
    setting = find(name)
    rows = db.execute("select pgask._secret($1) as secret", ["text"], [name])
    return cast("str | None", rows[0]["secret"]) or _variable(os.environ, setting)


def write(db: Database, name: str, value: str | None) -> None:
    """Store a setting, or forget it where value is None. A value already stored is left alone."""
    if value is None:
        db.execute("delete from pgask.setting s where s.name = $1", ["text"], [find(name).name])
        return
    db.execute(
        "insert into pgask.setting as s (name, value) values ($1, $2)"
        " on conflict (name) do update set value = excluded.value, updated_at = pg_catalog.now()"
        " where s.value <> excluded.value",
        ["text", "text"],
        [name, check(name, value)],
    )


def _variable(environment: Mapping[str, str], setting: Setting) -> str | None:
    value = environment.get(f"PGASK_{setting.name.upper()}", "").strip()
    if not value:
        return None
    if wrong := setting.check(value):
        raise ConfigurationError(
            f"the server's environment variable PGASK_{setting.name.upper()} is not valid",
            hint=wrong,
        )
    return value
