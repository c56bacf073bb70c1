-- 90_grants.sql: every function, table and view -> the group role that may use it, nobody else

do $grants$
declare
    -- Functions and procedures by name, all overloads. An editor has what a reader has, an
    -- administrator what an editor has; a worker stands beside them. 'owner' is nobody else.
    -- Internal functions (_...) that run with the caller's own rights give nobody anything and are
    -- open to every group role; those that run as the owner are here or the owner's alone.
    _functions jsonb := '{
        "pgask_reader": [
            "version", "search", "ask", "answer",
            "_boot", "_settings", "_find_source", "_embed_query", "_read_query", "_embed_texts",
            "_my_profile", "_profile_of",
            "_record_use"],
        "pgask_editor": [
            "save_question", "delete_question", "_store_draft"],
        "pgask_admin": [
            "approve_question", "register_source", "unregister_source", "enqueue", "retry_failed",
            "doctor", "_doctor_model", "_create_source"],
        "pgask_worker": [
            "work", "version",
            "_boot", "_settings", "_secret", "_find_source", "_claim", "_source_recipe",
            "_read_rows", "_read_chunks", "_write", "_release", "_begin_load", "_end_load",
            "_superseded_questions", "_store_question_vector"],
        "owner": ["set_setting"]
    }';
    _relations jsonb := '{
        "pgask_reader": [
            "installation", "embedding_ingest_registry", "embedding", "nl_query",
            "source_status", "queue_status"],
        "pgask_admin": ["failed_job"],
        "pgask_worker": ["installation", "source_status", "queue_status", "failed_job"],
        "owner": ["setting", "profile", "embedding_job", "alembic_version"]
    }';
    -- Rows of these are not everybody's.
    _with_row_security text[] := '{embedding, nl_query}';
    -- The one function outside the schema; others of its name are the application's.
    _ask regprocedure := 'public.ask(text, jsonb, text)';
    _object record;
    _role text;
    _missing text;
begin
    select string_agg(n.value, ', ') into _missing
    from jsonb_each(_functions) r, jsonb_array_elements_text(r.value) n
    where not exists (
        select 1 from pg_proc p
        where p.proname = n.value
            and (p.pronamespace = 'pgask'::regnamespace or p.oid = _ask)
    );
    if _missing is not null then
        raise exception 'functions that 90_grants.sql names do not exist: %', _missing;
    end if;
    select string_agg(n.value, ', ') into _missing
    from jsonb_each(_relations) r, jsonb_array_elements_text(r.value) n
    left join pg_class c on c.relnamespace = 'pgask'::regnamespace and c.relname = n.value
    where c.oid is null
        or n.value = any (_with_row_security) and not c.relrowsecurity;
    if _missing is not null then
        raise exception 'tables that 90_grants.sql names do not exist, or are without row-level '
            'security: %', _missing;
    end if;

    -- Whoever got a right from an administrator keeps it; the group roles start from nothing.
    revoke all on schema pgask from public;
    revoke all on all routines in schema pgask
        from public, pgask_reader, pgask_editor, pgask_admin, pgask_worker;
    revoke all on all tables in schema pgask
        from public, pgask_reader, pgask_editor, pgask_admin, pgask_worker;
    grant usage on schema pgask to pgask_reader, pgask_worker;

    for _object in
        select
            p.oid::regprocedure::text as name,
            p.proname like '\_%' as internal,
            case
                when p.proname like '\_%' and not p.prosecdef then '{pgask_reader, pgask_worker}'
                else array(
                    select r.key from jsonb_each(_functions) r where r.value ? p.proname::text
                )
            end as roles
        from pg_proc p
        where p.prorettype <> 'trigger'::regtype
            and (p.pronamespace = 'pgask'::regnamespace or p.oid = _ask)
        order by 1
    loop
        if cardinality(_object.roles) = 0 and not _object.internal then
            raise exception '90_grants.sql does not say who may execute %', _object.name;
        end if;
        execute format('revoke all on routine %s from public', _object.name);
        foreach _role in array array_remove(_object.roles, 'owner') loop
            execute format('grant execute on routine %s to %I', _object.name, _role);
        end loop;
    end loop;

    for _object in
        select
            c.oid::regclass::text as name,
            array(
                select r.key from jsonb_each(_relations) r where r.value ? c.relname::text
            ) as roles
        from pg_class c
        where c.relnamespace = 'pgask'::regnamespace and c.relkind in ('r', 'p', 'v', 'm')
        order by 1
    loop
        if cardinality(_object.roles) = 0 then
            raise exception '90_grants.sql does not say who may read %', _object.name;
        end if;
        foreach _role in array array_remove(_object.roles, 'owner') loop
            execute format('grant select on %s to %I', _object.name, _role);
        end loop;
    end loop;
end
$grants$;
