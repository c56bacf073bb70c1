-- 15_enqueue.sql: a change of a source's rows -> jobs in embedding_job

create or replace function pgask._open_job_sql(ids_query text) returns text
language sql immutable
begin atomic
    -- Ordered, so that two statements that touch the same rows lock their jobs in the same order.
    select $sql$
        insert into pgask.embedding_job as j (source_schema, source_table, source_id)
        select distinct $1, $2, q.source_id collate "C"
        from ($sql$ || _open_job_sql.ids_query || $sql$) q (source_id)
        where pg_catalog.octet_length(q.source_id) <= 2000
        order by q.source_id collate "C"
        on conflict (source_schema, source_table, source_id) where status <> 'done' do update
        set generation = j.generation + 1,
            status = 'pending',
            attempts = 0,
            error = null,
            run_after = case j.status when 'failed' then pg_catalog.now() else j.run_after end,
            lease_until = case j.status when 'pending' then j.lease_until end,
            worker = null,
            finished_at = null
    $sql$;
end;
comment on function pgask._open_job_sql(text) is
    'The statement that opens a job for each source_id of ids_query, with $1 and $2 the source. A '
    'job that is open already gets a new generation and is due again, also one that a worker has: '
    'what the worker writes is then refused. A source_id that no index can hold is left out, '
    'since the application''s own statement must not fail.';


create or replace function pgask._new_job_sql(ids_query text) returns text
language sql immutable
begin atomic
    select $sql$
        insert into pgask.embedding_job (source_schema, source_table, source_id)
        select $1, $2, q.source_id from ($sql$ || _new_job_sql.ids_query || $sql$) q (source_id)
        where pg_catalog.octet_length(q.source_id) <= 2000
    $sql$;
end;
comment on function pgask._new_job_sql(text) is
    'The same for rows that probably have no job yet, at two thirds of the cost; fails where one '
    'has.';


create or replace function pgask._forget_rows(
    source_schema text, source_table text, source_ids text[]
) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $function$
begin
    -- The predicate of the partial index, which finds the rows.
    delete from pgask.embedding_job j
    where j.status <> 'done'
        and (j.source_schema, j.source_table)
            = (_forget_rows.source_schema, _forget_rows.source_table)
        and (_forget_rows.source_ids is null or j.source_id = any (_forget_rows.source_ids));
    begin
        -- While the vector index is being built the table cannot be written: nobody's DELETE
        -- waits for that, the rows become jobs that find no source row. Only the lock is taken
        -- in this block: a subtransaction that writes has a price in long transactions.
        lock table pgask.embedding in row exclusive mode nowait;
    exception when lock_not_available then
        execute pgask._open_job_sql($sql$
            select e.source_id from pgask.embedding e
            where (e.source_schema, e.source_table) = ($1, $2)
                and ($3 is null or e.source_id = any ($3))
        $sql$) using _forget_rows.source_schema, _forget_rows.source_table,
            _forget_rows.source_ids;
        notify pgask_job;
        return;
    end;
    delete from pgask.embedding e
    where (e.source_schema, e.source_table)
            = (_forget_rows.source_schema, _forget_rows.source_table)
        and (_forget_rows.source_ids is null or e.source_id = any (_forget_rows.source_ids));
end
$function$;
comment on function pgask._forget_rows(text, text, text[]) is
    'Removes the jobs and embeddings of source rows that are gone; all of the source for NULL.';


create or replace function pgask._enqueue_changes() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set datestyle = 'ISO, YMD'
set timezone = 'UTC'
set intervalstyle = 'postgres'
set extra_float_digits = 1
set bytea_output = 'hex'
as $function$
declare
    _source record;
    _missing text[];
    _new_id text;
    _old_id text;
    _gone text[];
    _ids text;
    _many boolean;
    _count bigint;
    _opened boolean := false;
begin
    for _source in
        select r.source_schema, r.source_table, r.relation, r.key_columns, r.is_active,
            r.template_columns || array(select jsonb_array_elements_text(r.filter_columns))
                as read_columns
        from pgask.embedding_ingest_registry r
        where r.relation = tg_relid
            or r.relation in (select a.relid from pg_partition_ancestors(tg_relid) a)
            or r.relation in (select t.relid from pg_partition_tree(tg_relid) t)
    loop
        if tg_op = 'TRUNCATE' and tg_relid = _source.relation then
            perform pgask._forget_rows(_source.source_schema, _source.source_table, null);
            continue;
        end if;

        _missing := pgask._missing_columns(tg_relid, _source.key_columns || _source.read_columns);
        if _missing is not null then
            -- The application's own statement must not fail because of a column it dropped.
            -- Nor wait for another statement that says so at the same time.
            update pgask.embedding_ingest_registry r
            set is_active = false, updated_at = now(),
                inactive_reason = 'column ' || array_to_string(_missing, ', ') || ' is gone'
            from (
                select g.source_schema, g.source_table from pgask.embedding_ingest_registry g
                where (g.source_schema, g.source_table)
                        = (_source.source_schema, _source.source_table)
                    and g.is_active
                for update skip locked
            ) l
            where (r.source_schema, r.source_table) = (l.source_schema, l.source_table);
            if _missing && _source.key_columns then
                -- Which rows are gone cannot be told any more: what may be is not shown.
                if tg_op <> 'INSERT' then
                    perform pgask._forget_rows(
                        _source.source_schema, _source.source_table, null
                    );
                end if;
                continue;
            end if;
        end if;
        if tg_op = 'TRUNCATE' then
            perform pgask._forget_missing_rows(_source.source_schema, _source.source_table);
            continue;
        end if;

        if tg_op <> 'DELETE' then
            _new_id := pgask._source_id_expression(tg_relid, _source.key_columns, 'n');
        end if;
        -- Also of a source that is paused: what was deleted must not be found.
        if tg_op in ('UPDATE', 'DELETE') then
            _old_id := pgask._source_id_expression(tg_relid, _source.key_columns, 'o');
            execute format('select array_agg(%s) from old_rows o', _old_id)
                || case tg_op when 'UPDATE' then format(
                    ' where not exists (select 1 from new_rows n where (%s) collate "C" = (%s))',
                    _new_id, _old_id) else '' end
                into _gone;
            if _gone is not null then
                perform pgask._forget_rows(_source.source_schema, _source.source_table, _gone);
            end if;
        end if;
        continue when tg_op = 'DELETE' or not _source.is_active or _missing is not null;

        _ids := format('select %s from new_rows n', _new_id);
        if tg_op = 'UPDATE' then
            -- Compared byte by byte: a column's own collation may call two different texts equal.
            select _ids || format(
                    ' left join old_rows o on (%1$s) collate "C" = (%2$s)'
                    ' where %1$s is null or (%3$s) is distinct from (%4$s)',
                    _old_id, _new_id,
                    string_agg(
                        pgask._as_text(a.atttypid, format('o.%I', c.name)) || ' collate "C"', ', '),
                    string_agg(
                        pgask._as_text(a.atttypid, format('n.%I', c.name)) || ' collate "C"', ', '))
                into _ids
            from unnest(_source.read_columns) c (name)
            join pg_attribute a on a.attrelid = tg_relid and a.attname = c.name;
        end if;
        execute 'select exists (select 1 from new_rows n offset 500)' into _many;
        if _many and tg_op = 'UPDATE' then
            select not exists (
                select 1 from pgask.embedding_job j
                where (j.source_schema, j.source_table)
                        = (_source.source_schema, _source.source_table)
                    and j.status <> 'done'
            ) into _many;
        end if;
        _count := null;
        if _many then
            begin
                execute pgask._new_job_sql(_ids) using _source.source_schema, _source.source_table;
                get diagnostics _count = row_count;
            exception when unique_violation then
                _count := null;
            end;
        end if;
        if _count is null then
            execute pgask._open_job_sql(_ids) using _source.source_schema, _source.source_table;
            get diagnostics _count = row_count;
        end if;
        _opened := _opened or _count > 0;
    end loop;
    if not found and current_setting('transaction_isolation') <> 'read committed' then
        -- The table was registered after this transaction's snapshot, which hides that.
        raise exception 'could not serialize access due to the registration of %',
                tg_relid::regclass
            using errcode = '40001', hint = 'Try the transaction again.';
    end if;
    if _opened then
        notify pgask_job;
    end if;
    return null;
end
$function$;
comment on function pgask._enqueue_changes() is
    'The one trigger function of every source: per statement, with transition tables. Opens a job '
    'for each row that is new or whose template or filter columns changed; removes the jobs and '
    'embeddings of rows that are gone. Output settings are pinned, so that a source_id never '
    'depends on the session.';


create or replace function pgask._forget_missing_rows(source_schema text, source_table text)
returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set datestyle = 'ISO, YMD'
set timezone = 'UTC'
set intervalstyle = 'postgres'
set extra_float_digits = 1
set bytea_output = 'hex'
as $function$
declare
    _source record;
    _gone text[];
begin
    select r.relation, r.key_columns into _source
    from pgask.embedding_ingest_registry r
    where (r.source_schema, r.source_table)
        = (_forget_missing_rows.source_schema, _forget_missing_rows.source_table);
    perform pgask._check_readable(_source.relation);
    perform pgask._check_columns(_source.relation, _source.key_columns);
    execute format(
        'select array_agg(i.source_id) from ('
        'select e.source_id from pgask.embedding e '
        'where (e.source_schema, e.source_table) = ($1, $2) '
        'union select j.source_id from pgask.embedding_job j '
        'where (j.source_schema, j.source_table) = ($1, $2)) i '
        'where not exists (select 1 from %s s where %s)',
        _source.relation,
        pgask._source_key_match(_source.relation, _source.key_columns, 's', 'i.source_id')
    ) into _gone
    using _forget_missing_rows.source_schema, _forget_missing_rows.source_table;
    if _gone is not null then
        perform pgask._forget_rows(
            _forget_missing_rows.source_schema, _forget_missing_rows.source_table, _gone
        );
    end if;
end
$function$;
comment on function pgask._forget_missing_rows(text, text) is
    'Removes the jobs and embeddings of a source''s rows that no longer exist.';


create or replace function pgask._create_triggers(relation regclass) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $function$
declare
    _table regclass;
begin
    -- On a partitioned table a statement fires the triggers of the table that it names, so every
    -- table above and below gets its own.
    for _table in
        select c.oid::regclass from pg_class c
        where c.relkind in ('r', 'p') and (c.oid = _create_triggers.relation
            or c.oid in (select t.relid from pg_partition_tree(_create_triggers.relation) t)
            or c.oid in (select t.relid from pg_partition_ancestors(_create_triggers.relation) t))
    loop
        execute format(
            'create or replace trigger pgask_enqueue_insert after insert on %s '
            'referencing new table as new_rows '
            'for each statement execute function pgask._enqueue_changes()', _table);
        execute format(
            'create or replace trigger pgask_enqueue_update after update on %s '
            'referencing old table as old_rows new table as new_rows '
            'for each statement execute function pgask._enqueue_changes()', _table);
        execute format(
            'create or replace trigger pgask_enqueue_delete after delete on %s '
            'referencing old table as old_rows '
            'for each statement execute function pgask._enqueue_changes()', _table);
        execute format(
            'create or replace trigger pgask_enqueue_truncate after truncate on %s '
            'for each statement execute function pgask._enqueue_changes()', _table);
    end loop;
end
$function$;
comment on function pgask._create_triggers(regclass) is
    'Attaches the four triggers to a table and its partitions; nothing for a view or a foreign '
    'table.';


create or replace function pgask._drop_triggers(relation regclass) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $function$
declare
    _trigger record;
begin
    for _trigger in
        select t.tgname, t.tgrelid::regclass as relation from pg_trigger t
        where t.tgfoid = 'pgask._enqueue_changes()'::regprocedure
            and (t.tgrelid = _drop_triggers.relation
                or t.tgrelid in (select p.relid from pg_partition_tree(_drop_triggers.relation) p)
                or t.tgrelid in (
                    select p.relid from pg_partition_ancestors(_drop_triggers.relation) p))
            -- Not where another source needs them.
            and not exists (
                select 1 from pgask.embedding_ingest_registry r
                where r.relation <> _drop_triggers.relation and (
                    r.relation = t.tgrelid
                    or r.relation in (select p.relid from pg_partition_ancestors(t.tgrelid) p)
                    or r.relation in (select p.relid from pg_partition_tree(t.tgrelid) p))
            )
    loop
        execute format('drop trigger %I on %s', _trigger.tgname, _trigger.relation);
    end loop;
end
$function$;
comment on function pgask._drop_triggers(regclass) is
    'Takes our triggers off a table and its partitions.';


create or replace function pgask._enqueue_rows(
    source_schema text, source_table text, source_ids text[]
) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '500ms'
set datestyle = 'ISO, YMD'
set timezone = 'UTC'
set intervalstyle = 'postgres'
set extra_float_digits = 1
set bytea_output = 'hex'
as $function$
declare
    _source record;
    _count bigint;
begin
    select r.relation, r.key_columns into _source
    from pgask.embedding_ingest_registry r
    where (r.source_schema, r.source_table)
        = (_enqueue_rows.source_schema, _enqueue_rows.source_table);
    perform pgask._check_readable(_source.relation);
    perform pgask._check_columns(_source.relation, _source.key_columns);
    if _enqueue_rows.source_ids is not null then
        -- An id that cannot be one must fail here, and not in a statement of the application.
        execute format('select count(*) from unnest($1) i (source_id) join %s s on %s',
            _source.relation,
            pgask._source_key_match(_source.relation, _source.key_columns, 's', 'i.source_id')
        ) into _count using _enqueue_rows.source_ids;
        execute pgask._open_job_sql('select u.id from unnest($3) u (id)')
            using _enqueue_rows.source_schema, _enqueue_rows.source_table,
                _enqueue_rows.source_ids;
    else
        execute pgask._open_job_sql(format('select %s from %s s',
            pgask._source_id_expression(_source.relation, _source.key_columns, 's'),
            _source.relation
        )) using _enqueue_rows.source_schema, _enqueue_rows.source_table;
    end if;
    get diagnostics _count = row_count;
    notify pgask_job;
    return _count;
end
$function$;
comment on function pgask._enqueue_rows(text, text, text[]) is
    'Opens a job for each of the source_ids, or for every row of the source for NULL. Waits for an '
    'application''s transaction at most half a second, less than it takes to find a deadlock, so '
    'that never the application is its victim: then 55P03.';


create or replace function pgask.enqueue(source text, source_ids text[] default null) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $function$
declare
    _source record;
begin
    select f.source_schema, f.source_table into _source
    from pgask._find_source(enqueue.source) f;
    if enqueue.source_ids is null then
        perform pgask._forget_missing_rows(_source.source_schema, _source.source_table);
    end if;
    return pgask._enqueue_rows(
        _source.source_schema, _source.source_table, enqueue.source_ids
    );
end
$function$;
comment on function pgask.enqueue(text, text[]) is
    'Asks for the rows of a source to be looked at again: all of them (default), or those of
source_ids. Rows whose text did not change keep their vectors without a call of the model; what no
longer exists is removed. For views and foreign tables, which have no triggers, and after changes
that no trigger saw. Returns the number of jobs opened. PA105 when the source
is not registered, PA106 when its table or a column is gone or its view does not belong to a
superuser, 55P03 when transactions hold its rows: try again.';
