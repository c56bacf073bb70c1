-- 86_refresh.sql: the built-in questions of this version -> rows of nl_query

create or replace function pgask._refresh_builtin_questions() returns void
language plpython3u
set search_path = pg_catalog, pg_temp
as $python$
    if "pgask" not in GD:
        plpy.execute("select pgask._boot()")
    GD["pgask"].refresh_builtin_questions()
$python$;
comment on function pgask._refresh_builtin_questions() is
    'Stores the built-in questions, new and changed ones only. Called by the installer.';
