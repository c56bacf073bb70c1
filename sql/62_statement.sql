-- 62_statement.sql: a statement's text -> what PostgreSQL understands of it; a checked one -> rows

-- Privileges are not needed to analyse; TEMPORARY on the database is. Everything is rolled back.
create or replace function pgask._inspect_statement(statement text, types text[], path text)
returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
set check_function_bodies = on
set standard_conforming_strings = on
set quote_all_identifiers = off
set datestyle = 'ISO'
set intervalstyle = 'postgres'
set extra_float_digits = 1
as $function$
declare
    _arguments text;
    _text text := _inspect_statement.statement;
    _parenthesised text;
    _atomic text;
    -- Nobody has a function of this name yet, and the statement cannot call it.
    _name text := 'statement_' || replace(gen_random_uuid()::text, '-', '');
    _function oid;
    _canonical text;
    _tree text;
    _result jsonb;
begin
    if num_nulls(_inspect_statement.statement, _inspect_statement.types) > 0 then
        raise exception 'there is no statement' using errcode = 'PA402';
    end if;
    if exists (
        select from unnest(_inspect_statement.types) as a (name) where to_regtype(a.name) is null
    ) then
        raise exception 'a parameter has an unknown type'
            using errcode = 'PA402',
            detail = format('The types: %s.', array_to_string(_inspect_statement.types, ', ', '?'));
    end if;
    select string_agg(format('%I.%I', n.nspname, t.typname), ', ' order by a.position)
    into _arguments
    from unnest(_inspect_statement.types) with ordinality as a (name, position)
    left join pg_type t on t.oid = to_regtype(a.name)
    left join pg_namespace n on n.oid = t.typnamespace;

    begin
        for _pass in 1 .. 4 loop
            -- As the text of a string, in parentheses: a second statement is a syntax error here,
            -- and a text that leaves the parentheses is one below. Neither executes anything.
            _parenthesised := format(
                'create or replace function pg_temp.%I(%s) '
                'returns setof pg_catalog.record language sql as %L',
                _name, _arguments, E'select * from (\n' || _text || E'\n) as q'
            );
            _atomic := format(
                'create or replace function pg_temp.%I(%s) '
                'returns setof pg_catalog.record language sql begin atomic %s%s; end',
                _name, _arguments, _text, chr(10)
            );
            -- Under the author's path nothing is evaluated here but two variables.
            if _pass = 1 and _inspect_statement.path is not null then
                perform set_config('search_path', _inspect_statement.path, true);
            end if;
            execute _parenthesised;
            execute _atomic;
            perform pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
            _function := format('pg_temp.%I(%s)', _name, _arguments)::regprocedure;
            select p.prosqlbody::text into _tree from pg_proc p where p.oid = _function;
            _canonical := regexp_replace(
                pg_get_function_sqlbody(_function), '^BEGIN ATOMIC\s+|;\s*END$', '', 'g'
            );
            -- The tree that is checked must be that of the very text that will be run.
            exit when _inspect_statement.path is null or (_pass > 1 and _canonical = _text);
            _text := _canonical;
            _canonical := null;
        end loop;
        if _canonical is null then
            raise exception 'the statement has no stable canonical form'
                using errcode = 'PA402', hint = 'Write it more simply.';
        end if;
        _result := jsonb_build_object(
            'canonical', _canonical,
            'tree', _tree,
            'depends', (
                select coalesce(
                    jsonb_agg(jsonb_build_array(
                        d.refclassid::regclass::text, d.refobjid::bigint, d.refobjsubid
                    )),
                    '[]'
                )
                from pg_depend d
                where d.classid = 'pg_proc'::regclass and d.objid = _function
                    and d.refclassid in ('pg_class'::regclass, 'pg_type'::regclass)
            )
        );
        raise exception 'done' using errcode = 'PA999';
    exception when sqlstate 'PA999' then
        null;
    end;
    return _result;
end;
$function$;
comment on function pgask._inspect_statement(text, text[], text) is
    'What PostgreSQL understands of one statement with $1 ... of these types: its canonical text, '
    'its tree and the columns and types it depends on. Names are looked up along path; NULL: '
    'the text is to be run as it is. Nothing is executed, nothing remains.';

create or replace function pgask._admit_statement(statement text, types text[]) returns void
language plpython3u
set search_path = pg_catalog, pg_temp
as $python$
    if "pgask" not in GD:
        plpy.execute("select pgask._boot()")
    GD["pgask"].admit_statement(statement or "", types or [])
$python$;
comment on function pgask._admit_statement(text, text[]) is
    'Checks a canonical statement, unless this session did so a few seconds ago.';

-- STABLE matters: PL/Python then executes with the read-only flag of SPI.
create or replace function pgask._execute_statement(
    statement text, types text[], arguments text[],
    row_limit integer, cell_limit integer, milliseconds integer
)
returns json
language plpython3u stable
set search_path = pg_catalog, pg_temp
as $python$
    if "pgask" not in GD:
        plpy.execute("select pgask._boot()")
    return GD["pgask"].execute_statement(
        statement, types, arguments, row_limit, cell_limit, milliseconds)
$python$;
comment on function pgask._execute_statement(text, text[], text[], integer, integer, integer) is
    'Runs an admitted statement inside the read-only block of _run_read_only, nowhere else.';

create or replace function pgask._check_plan_cost(
    statement text, types text[], arguments text[], milliseconds integer, plan_cost float8
)
returns void
language plpython3u
set search_path = pg_catalog, pg_temp
as $python$
    if "pgask" not in GD:
        plpy.execute("select pgask._boot()")
    GD["pgask"].check_plan_cost(statement, types, arguments, milliseconds, plan_cost)
$python$;
comment on function pgask._check_plan_cost(text, text[], text[], integer, float8) is
    'PA403 if the planner expects an admitted statement to cost more than plan_cost.';

create or replace function pgask._run_read_only(
    statement text,
    types text[] default '{}',
    arguments text[] default '{}',
    row_limit integer default 1000,
    cell_limit integer default 10000,
    milliseconds integer default 15000,
    plan_cost float8 default null
)
returns json
language plpgsql
set search_path = pg_catalog, pg_temp
set datestyle = 'ISO'
set intervalstyle = 'postgres'
set bytea_output = 'hex'
set extra_float_digits = 1
set standard_conforming_strings = on
as $function$
declare
    _result json;
begin
    if num_nulls(
        _run_read_only.statement, _run_read_only.types, _run_read_only.arguments,
        _run_read_only.row_limit, _run_read_only.cell_limit, _run_read_only.milliseconds
    ) > 0 then
        raise exception 'a statement, its types, its values and its limits may not be null'
            using errcode = 'PA401',
            hint = 'Only plan_cost may be: it is no limit then. A value that is NULL is an '
                'element of arguments.';
    end if;
    if greatest(array_ndims(_run_read_only.types), array_ndims(_run_read_only.arguments)) > 1 then
        raise exception 'types and values are lists, not arrays of arrays' using errcode = 'PA401';
    end if;
    perform pgask._admit_statement(_run_read_only.statement, _run_read_only.types);
    begin
        -- Holds until the block is left; a function's SET clause could not do it on every server.
        perform set_config('transaction_read_only', 'on', true);
        if _run_read_only.plan_cost is not null then
            perform pgask._check_plan_cost(
                _run_read_only.statement, _run_read_only.types, _run_read_only.arguments,
                _run_read_only.milliseconds, _run_read_only.plan_cost
            );
        end if;
        _result := pgask._execute_statement(
            _run_read_only.statement, _run_read_only.types, _run_read_only.arguments,
            _run_read_only.row_limit, _run_read_only.cell_limit, _run_read_only.milliseconds
        );
        -- A variable outlives the rollback, nothing else does.
        raise exception 'done' using errcode = 'PA999';
    exception when sqlstate 'PA999' then
        null;
    end;
    return _result;
end;
$function$;
comment on function pgask._run_read_only(
    text, text[], text[], integer, integer, integer, float8
) is
    'Runs a canonical statement with the rights of the current user, after checking it: '
    'read-only, cut to row_limit rows and cell_limit characters, ended after so many '
    'milliseconds, always rolled back. {columns, rows, truncated, milliseconds}.';

create or replace function pgask._check_value(value text, type_name text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $function$
begin
    if to_regtype(_check_value.type_name) is null then
        raise exception 'there is no type "%"', coalesce(_check_value.type_name, 'null')
            using errcode = 'PA412';
    end if;
    execute format(
        'select cast(%L as %s)',
        _check_value.value, format_type(to_regtype(_check_value.type_name), null)
    );
end;
$function$;
comment on function pgask._check_value(text, text) is
    'Raises PostgreSQL''s own error if the text is no value of that type.';

create or replace function pgask._analyse_statement(
    sql text,
    params jsonb default '{}',
    path text default current_setting('search_path')
)
returns jsonb
language plpython3u
set search_path = pg_catalog, pg_temp
as $python$
    if "pgask" not in GD:
        plpy.execute("select pgask._boot()")
    return GD["pgask"].analyse_statement(sql, params, path)
$python$;
comment on function pgask._analyse_statement(text, jsonb, text) is
    'Analyses and checks a statement with :name places; params is {name: type}. Gives what '
    'save_question stores of it: canonical, arguments, types, columns, fingerprint.';
