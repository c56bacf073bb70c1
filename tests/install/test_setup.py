"""The machine's set-up: what `make` starts, prints and survives.

Runs against the private server that `make test` has started; what could harm it is tried on a
second one, started by a copy of the scripts.
"""

from __future__ import annotations

import importlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

CLONE = Path(__file__).resolve().parents[2]
ROOT = os.geteuid() == 0


def run(*command: str, cwd: Path = CLONE, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command with no input; variables are added to its environment."""
    environment = {name: value for name, value in os.environ.items() if name != "MAKEFLAGS"}
    return subprocess.run(
        command,
        cwd=cwd,
        env=environment | variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def query(url: str, sql: str) -> object:
    """The first value of a query."""
    with psycopg.connect(url) as connection:
        row = connection.execute(sql.encode()).fetchone()
    assert row is not None
    return row[0]


@pytest.fixture
def private_url() -> str:
    """The URL of the private server, which `make test` has started."""
    return os.environ["PGASK_TEST_URL"]


@pytest.fixture
def other_clone() -> Iterator[Path]:
    """The scripts in another directory, with an environment but no cluster of their own.

    For root it is a directory that the server's user cannot enter, like a clone under /root.
    """
    directory = Path(tempfile.mkdtemp(prefix="pgask-clone-")).resolve()
    scripts = directory / "migrations" / "setup"
    shutil.copytree(CLONE / "migrations" / "setup", scripts)
    made = run("bash", "-c", ". ./state.sh; make_state; echo $state", cwd=scripts)
    state = Path(made.stdout.strip())
    (state / "server").symlink_to(Path(os.environ["PGASK_STATE"]) / "server")
    yield directory
    run("bash", str(scripts / "clean.sh"), cwd=directory)
    shutil.rmtree(directory)
    assert not state.exists()


def database(clone: Path, verb: str) -> str:
    """Standard output of `database.sh verb` in another clone."""
    done = run("bash", "migrations/setup/database.sh", verb, cwd=clone)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_help_lists_every_target() -> None:
    listed = set(re.findall(r"^ {2}make (\w+)", run("make", "-s", "help").stdout, re.MULTILINE))
    declared = re.search(r"^\.PHONY: (.*)$", (CLONE / "Makefile").read_text(), re.MULTILINE)
    assert declared is not None
    assert listed == set(declared[1].split())


def test_url_prints_a_url_that_connects_and_nothing_else(private_url: str) -> None:
    printed = run("make", "-s", "url")
    assert printed.stdout == f"{private_url}\n"
    assert query(printed.stdout.strip(), "select current_database()") == "pgask"


def test_starting_a_running_server_leaves_it_alone(private_url: str) -> None:
    before = query(private_url, "select pg_postmaster_start_time()")
    done = run("bash", "migrations/setup/database.sh", "start")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert query(private_url, "select pg_postmaster_start_time()") == before


def test_a_url_in_the_environment_is_not_taken_for_the_target() -> None:
    shown = run("make", "-n", "worker", DATABASE_URL="postgresql://somebody.else/production")
    assert "database.sh start" in shown.stdout
    given = run("make", "-n", "worker", "DATABASE_URL=postgresql:///mine")
    assert "database.sh start" not in given.stdout


def test_passwords_are_asked_for_and_kept_from_others(private_url: str) -> None:
    state = Path(os.environ["PGASK_STATE"])
    assert (state / "password").stat().st_mode & 0o077 == 0
    assert (state / "data").stat().st_mode & 0o077 == 0
    assert (state / "data").stat().st_uid != 0
    wrong = re.sub(r":[^:@]*@", ":wrong@", private_url)
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(wrong)


def test_the_server_keeps_what_it_is_told_to_keep(private_url: str) -> None:
    assert query(private_url, "show fsync") == "on"
    assert query(private_url, "show server_encoding") == "UTF8"


def test_the_callers_secrets_do_not_reach_the_server(other_clone: Path) -> None:
    script = other_clone / "migrations" / "setup" / "database.sh"
    assert run("bash", str(script), "start", A_TOKEN="s3cret", PGASK_CHAT_API_KEY="k").stderr
    pid = (other_clone / ".pg" / "data" / "postmaster.pid").read_text().split()[0]
    environment = Path(f"/proc/{pid}/environ").read_text().split("\0")
    assert "PGASK_CHAT_API_KEY=k" in environment
    assert "PYTHONNOUSERSITE=1" in environment
    assert not [line for line in environment if line.startswith("A_TOKEN")]


def test_a_crash_and_a_reused_process_number_do_not_hinder_the_next_start(
    other_clone: Path,
) -> None:
    database(other_clone, "start")
    url = database(other_clone, "url").strip()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("create table kept as select 1 as one")
    pid_file = other_clone / ".pg" / "data" / "postmaster.pid"
    lines = pid_file.read_text().splitlines()
    os.kill(int(lines[0]), signal.SIGKILL)
    # The number that the crash left behind is another process's by now.
    user = ["runuser", "-u", "postgres", "--"] if ROOT else []
    with subprocess.Popen([*user, "sleep", "100"]) as stranger:
        try:
            time.sleep(0.5)
            pid_file.write_text("\n".join([str(stranger.pid), *lines[1:]]) + "\n")
            database(other_clone, "start")
            assert database(other_clone, "url").strip() == url
            assert query(url, "select k.one from kept as k") == 1
        finally:
            stranger.kill()


def test_a_clone_that_only_its_owner_can_enter_works_all_the_same(other_clone: Path) -> None:
    database(other_clone, "start")
    url = database(other_clone, "url").strip()
    assert (other_clone / ".pg").is_symlink() == ROOT
    assert query(url, "select 1") == 1
    database(other_clone, "stop")
    stopped = run("bash", "migrations/setup/database.sh", "url", cwd=other_clone)
    assert (stopped.returncode, stopped.stdout) == (1, "")
    assert "make db" in stopped.stderr


@pytest.mark.skipif(not ROOT, reason="needs root to become somebody else")
def test_without_root_what_is_missing_is_named() -> None:
    with tempfile.TemporaryDirectory(prefix="pgask-clone-") as name:
        scripts = Path(name) / "migrations" / "setup"
        shutil.copytree(CLONE / "migrations" / "setup", scripts)
        Path(name).chmod(0o755)
        nobody = ("runuser", "-u", "nobody", "--")
        done = run(
            *nobody, "bash", str(scripts / "packages.sh"), cwd=Path("/"), PGASK_PG_BIN="/nowhere"
        )
    assert done.returncode == 1
    assert "missing: postgresql" in done.stderr
    assert "postgresql-plpython3-17" in done.stderr
    assert "postgresql-plpython3-15" in done.stderr


@pytest.mark.parametrize(
    ("project", "package"), [("plpython", "pgask_server"), ("python_client", "pgask")]
)
def test_a_package_and_its_project_file_name_the_same_version(project: str, package: str) -> None:
    declared = tomllib.loads((CLONE / project / "pyproject.toml").read_text())
    assert importlib.import_module(package).__version__ == declared["project"]["version"]
