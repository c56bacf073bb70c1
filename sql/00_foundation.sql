-- 00_foundation.sql: a session that knows nothing -> the package is loaded, settings can be read

create or replace function pgask.version() returns text
language sql stable
begin atomic
    select i.version from pgask.installation i;
end;
comment on function pgask.version() is 'The version of pgask that this database holds.';

-- The only PL/Python function with a body of its own: the package cannot load itself.
create or replace function pgask._boot() returns void
language plpython3u security definer
set search_path = pg_catalog, pg_temp
as $python$
    import importlib, os, sys, sysconfig

    def refuse(message, detail, hint):
        error = type("pgask", (plpy.Error,), {"__module__": "builtins"})(message)
        error.sqlstate, error.detail, error.hint = "PA001", detail, hint
        raise error from None

    row = plpy.execute("""
        select i.version, s.value as path
        from pgask.installation i left join pgask.setting s on s.name = 'package_path'
    """)[0]
    if row["path"] and row["path"] not in sys.path:
        # Before the distribution's own packages, which may be older; after the standard library,
        # which nothing may shadow.
        stdlib = [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")]
        stdlib.append(os.path.join(stdlib[1], "lib-dynload"))
        place = max((i for i, path in enumerate(sys.path) if path in stdlib), default=-1) + 1
        sys.path.insert(place, row["path"])
        importlib.invalidate_caches()
    try:
        import pgask_server.server
    except Exception as error:
        where = row["path"] or "the server's PYTHONPATH"
        if row["path"] and not os.access(row["path"], os.R_OK | os.X_OK):
            reason = "The server may not read that directory, or it does not exist."
        else:
            reason = f"{type(error).__name__}: {error}"
        refuse(
            "the server cannot load the package pgask_server",
            f"Looked in {where}. {reason} The server's Python is {sys.version.split()[0]}.",
            "Install the package with that version of Python where the user of the server may "
            "read it, then run: python migrations/install.py --package-path DIRECTORY",
        )
    if pgask_server.__version__ != row["version"]:
        refuse(
            f"the schema pgask is version {row['version']}, "
            f"the package pgask_server is version {pgask_server.__version__}",
            f"The package was loaded from {os.path.dirname(pgask_server.__file__)}.",
            "Update the older of the two: `make setup` the package, `make migrate` the schema; "
            "then reconnect.",
        )
    GD["pgask"] = pgask_server.server.Server(plpy)
$python$;
comment on function pgask._boot() is
    'Loads the package behind the PL/Python functions, once per session, from the setting '
    'package_path or the PYTHONPATH of the server, and checks that it fits the schema.';

create or replace function pgask._settings() returns jsonb
language sql stable security definer
set search_path = pg_catalog, pg_temp
begin atomic
    select coalesce(jsonb_object_agg(s.name, s.value), '{}')
    from pgask.setting s
    where s.name not like '%\_key';
end;
comment on function pgask._settings() is 'The stored settings {name: value}, without the keys.';

create or replace function pgask._secret(name text) returns text
language sql stable security definer
set search_path = pg_catalog, pg_temp
begin atomic
    select s.value
    from pgask.setting s
    where s.name = _secret.name;
end;
comment on function pgask._secret(text) is 'A stored setting, keys included. For workers only.';

create or replace function pgask._get_setting(name text) returns text
language plpython3u stable
set search_path = pg_catalog, pg_temp
as $python$
    if "pgask" not in GD:
        plpy.execute("select pgask._boot()")
    return GD["pgask"].setting(name)
$python$;
comment on function pgask._get_setting(text) is
    'The value in force: the stored one, else the server''s environment, else the default. '
    'A key is refused.';

create or replace function pgask.set_setting(name text, value text) returns void
language plpython3u
set search_path = pg_catalog, pg_temp
as $python$
    if "pgask" not in GD:
        plpy.execute("select pgask._boot()")
    GD["pgask"].set_setting(name, value)
$python$;
comment on function pgask.set_setting(text, text) is
    'Stores a setting; NULL forgets it. For the owner and superusers. A literal key would stand '
    'in the server''s log of statements: put keys into .env and run the installer, or into the '
    'server''s environment (PGASK_EMBEDDING_API_KEY).';

create or replace function pgask._doctor_server()
returns table ("check" text, status text, detail text, hint text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $function$
declare
    _number integer := current_setting('server_version_num')::integer;
    _major integer := _number / 10000;
    -- The first releases with the fixes of August 2025: before them statistics could show rows
    -- that row-level security hides.
    _least jsonb := jsonb '{"15": 14, "16": 10, "17": 6}';
begin
    return query select
        'PostgreSQL',
        case when _major > 17 or _number % 10000 < (_least ->> _major::text)::integer
            then 'warning' else 'ok' end,
        'version ' || current_setting('server_version'),
        case when _major > 17 then 'This version is newer than what is tested: 15 to 17.'
            when _number % 10000 < (_least ->> _major::text)::integer
            then format('Update to %s.%s or later: security fixes are missing.', _major,
                _least ->> _major::text) end;
    return query select
        'extension ' || a.name::text,
        case when a.default_version is distinct from a.installed_version
            then 'warning' else 'ok' end,
        format('version %s in schema %s', a.installed_version, e.extnamespace::regnamespace),
        case when a.default_version is distinct from a.installed_version
            then format('alter extension %I update', a.name) end
    from pg_extension e join pg_available_extensions a on a.name = e.extname
    where e.extname in ('vector', 'pg_trgm', 'plpython3u')
    order by a.name;
end;
$function$;
comment on function pgask._doctor_server() is 'doctor(): the server and the extensions.';

create or replace function pgask._doctor_package()
returns table ("check" text, status text, detail text, hint text)
language plpgsql
set search_path = pg_catalog, pg_temp
as $function$
begin
    perform pgask._boot();
    return query select
        'package', 'ok', 'pgask_server ' || pgask.version(), null::text;
end;
$function$;
comment on function pgask._doctor_package() is
    'doctor(): whether the server can load the Python package.';

create or replace function pgask._doctor_roles()
returns table ("check" text, status text, detail text, hint text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $function$
declare
    _bypassing text;
    _writable boolean;
begin
    select string_agg(quote_ident(r.rolname), ', ' order by r.rolname) into _bypassing
    from pg_roles r
    where r.rolbypassrls and not r.rolsuper and r.rolcanlogin
        and pg_has_role(r.oid, 'pgask_reader', 'usage');
    return query select
        'row-level security',
        case when _bypassing is null then 'ok' else 'warning' end,
        coalesce('These roles see every row when they ask: ' || _bypassing,
            'No asker bypasses it.'),
        case when _bypassing is not null
            then 'Let people and applications ask with ordinary roles.' end;
    select exists (
        select from pg_namespace n, aclexplode(n.nspacl) a
        where n.nspname = 'public' and a.grantee = 0 and a.privilege_type = 'CREATE'
    ) into _writable;
    return query select
        'schema public',
        case when _writable then 'warning' else 'ok' end,
        case when _writable then 'Everybody may create objects in it, also a function ask().'
            else 'Only its owner creates objects in it.' end,
        case when _writable then 'revoke create on schema public from public' end;
end;
$function$;
comment on function pgask._doctor_roles() is 'doctor(): who may see or do too much.';

create or replace function pgask.doctor()
returns table ("check" text, status text, detail text, hint text)
language plpgsql
set search_path = pg_catalog, pg_temp
as $function$
declare
    _part record;
    _message text;
    _detail text;
    _hint text;
begin
    for _part in
        -- Not what somebody else put into the schema: a superuser would run it here.
        select p.proname::text as name
        from pg_proc p join pg_roles r on r.oid = p.proowner
        where p.pronamespace = 'pgask'::regnamespace and p.proname like '\_doctor\_%'
            and p.pronargs = 0
            and (r.rolsuper or r.oid = (
                select d.proowner from pg_proc d where d.oid = 'pgask.doctor()'::regprocedure))
        order by p.proname
    loop
        begin
            return query execute format(
                'select d."check", d.status, d.detail, d.hint from pgask.%I() d', _part.name);
        exception when others then
            get stacked diagnostics
                _message = message_text, _detail = pg_exception_detail, _hint = pg_exception_hint;
            return query select
                replace(substr(_part.name, 9), '_', ' '), 'error',
                concat_ws('. ', _message, nullif(_detail, '')), nullif(_hint, '');
        end;
    end loop;
end;
$function$;
comment on function pgask.doctor() is
    'What is wrong with this installation and what to do: one row per check, status ok, warning '
    'or error. Each function pgask._doctor_...() adds its rows.';
