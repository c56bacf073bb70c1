"""A pytest plugin for applications that use pgask: a database per test, a model that is a stub.

Installing `pgask[testing]` is enough: pytest finds the plugin by itself, so do not list it in
`pytest_plugins` (where pgask is on the path but not installed: `-p pgask.testing.plugin`). Tell it
which server to use, by `--pgask-url` or PGASK_TEST_URL: a superuser's URL; the databases are made
beside the one it names. And tell it how pgask gets into a database, by one of

- the fixture `pgask_install` (session), overridden in `conftest.py`: a function of one URL;
- PGASK_INSTALL: the path of the installer, `migrations/install.py`;
- `--pgask-template NAME`: a database that has pgask already; it is cloned and left as it is.

Fixtures:

    pgask_template        session  name of the database with pgask installed, made once
    pgask_database        test     URL of a clone of it, dropped after the test
    pgask_empty_database  test     URL of a new database without pgask
    pgask_connection      test     psycopg connection to pgask_database: autocommit, tuple rows
    pgask_client          test     pgask.Client on pgask_database
    pgask_model_server    test     a running stub of the OpenAI protocol (see model_server.py)
    pgask_stub_model      test     the same, set as the embedding model of pgask_database

`pytest_plugins = ["pgask.testing.short_names"]` in the top `conftest.py` gives the shorter names
`connection`, `client`, `model_server` and `stub_model`. They are not there by themselves, since
`client` is what the plugins of the web frameworks call theirs.
"""
