-- 20_work.sql: embedding_job -> claimed, read, rendered, chunked, embedded -> embedding

create or replace function pgask._claim(
    worker text,
    jobs integer,
    lease interval,
    only_schema text,
    only_table text,
    except_sources text[] default '{}'
)
returns table (
    job_id bigint,
    source_schema text,
    source_table text,
    source_id text,
    generation bigint,
    attempts integer
)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $function$
declare
    _sources integer;
    _rest timestamptz;
begin
    select max(j.lease_until) into _rest
    from pgask.embedding_job j
    where j.lease_until > now() and j.status = 'pending';
    if _rest is not null then
        raise exception 'the model asked to be left alone for another % s',
                ceil(extract(epoch from _rest - now()))
            using errcode = 'PA201';
    end if;

    -- A worker that died leaves its lease to run out, or, where its session is seen to be gone,
    -- not even that. What this session still holds is left over: it does one thing at a time.
    update pgask.embedding_job j
    set status = 'pending', lease_until = null, worker = null, run_after = now(),
        attempts = case when l.mine then greatest(0, j.attempts - 1) else j.attempts end
    from (
        select i.id, i.worker ~ ('^' || pg_backend_pid() || '-') as mine
        from pgask.embedding_job i
        where i.status = 'running' and i.lease_until is not null
            and (
                i.lease_until < now()
                or case when i.worker ~ '^[0-9]{1,9}-[0-9a-f]{8}$'
                    then split_part(i.worker, '-', 1)::integer = pg_backend_pid()
                        or not exists (
                            select from pg_stat_get_activity(split_part(i.worker, '-', 1)::integer)
                        )
                    else false end
            )
        for update skip locked
    ) l
    where j.id = l.id;

    update pgask.embedding_ingest_registry r
    set is_active = false, inactive_reason = 'the table is gone', updated_at = now()
    where r.is_active and r.relation is not null
        and not exists (select 1 from pg_class c where c.oid = r.relation);

    select count(*) into _sources
    from pgask.embedding_ingest_registry r
    where r.is_active
        and (_claim.only_table is null
            or (r.source_schema, r.source_table) = (_claim.only_schema, _claim.only_table))
        and r.source_schema || '.' || r.source_table <> all (_claim.except_sources)
        and exists (
            select 1 from pgask.embedding_job j
            where (j.source_schema, j.source_table) = (r.source_schema, r.source_table)
                and j.status = 'pending' and j.run_after <= now()
        );
    if _sources = 0 then
        return;
    end if;
    -- Every source with work gets its share, so that a large one does not starve a small one.
    -- The order is that of the index by which a source's jobs are found.
    return query
    update pgask.embedding_job j
    set status = 'running', attempts = j.attempts + 1, started_at = clock_timestamp(),
        lease_until = clock_timestamp() + _claim.lease, worker = _claim.worker
    from (
        select d.id
        from pgask.embedding_ingest_registry r
        cross join lateral (
            select o.id from pgask.embedding_job o
            where (o.source_schema, o.source_table) = (r.source_schema, r.source_table)
                and o.status = 'pending' and o.run_after <= now()
            order by o.source_id
            limit greatest(1, _claim.jobs / _sources)
            for update skip locked
        ) d
        where r.is_active
            and (_claim.only_table is null
                or (r.source_schema, r.source_table) = (_claim.only_schema, _claim.only_table))
            and r.source_schema || '.' || r.source_table <> all (_claim.except_sources)
    ) c
    where j.id = c.id
    returning j.id, j.source_schema, j.source_table, j.source_id, j.generation, j.attempts;
end
$function$;
comment on function pgask._claim(text, integer, interval, text, text, text[]) is
    'Claims up to about `jobs` due jobs for a worker, fairly over the sources, with SKIP LOCKED '
    'and a lease; jobs whose lease ran out or whose worker is gone are due again. only_schema and '
    'only_table: of that source alone, NULL: of all; except_sources: of these not. PA201 while the '
    'provider of the model is to be left alone. The caller commits before it reads.';


create or replace function pgask._read_rows(
    source_schema text, source_table text, source_ids text[]
) returns table (source_id text, template_values text[], filter_values jsonb)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '500ms'
set row_security = off
set datestyle = 'ISO, YMD'
set timezone = 'UTC'
set intervalstyle = 'postgres'
set extra_float_digits = 1
set bytea_output = 'hex'
as $function$
declare
    _source record;
    _values text;
    _filters text;
begin
    select r.relation, r.key_columns, r.template_columns, r.filter_columns into strict _source
    from pgask.embedding_ingest_registry r
    where (r.source_schema, r.source_table) = (_read_rows.source_schema, _read_rows.source_table);
    perform pgask._check_readable(_source.relation);
    perform pgask._check_columns(
        _source.relation, _source.key_columns || _source.template_columns
            || array(select jsonb_array_elements_text(_source.filter_columns))
    );
    select string_agg(
            pgask._as_text(a.atttypid, format('s.%I', c.name)), ', ' order by c.position)
        into _values
    from unnest(_source.template_columns) with ordinality c (name, position)
    join pg_attribute a on a.attrelid = _source.relation and a.attname = c.name;
    -- A value of a type of somebody's own as text: to_jsonb() would run a cast of his.
    select string_agg(
            case when a.atttypid < 16384 then format('s.%I', c.name)
                else format('%s as %I',
                    pgask._as_text(a.atttypid, format('s.%I', c.name)), c.name) end,
            ', ' order by c.position)
        into _filters
    from jsonb_array_elements_text(_source.filter_columns) with ordinality c (name, position)
    join pg_attribute a on a.attrelid = _source.relation and a.attname = c.name;
    return query execute format(
        'select k.id, array[%s], %s from unnest($1) k (id) join %s s on %s',
        _values,
        coalesce(
            format('(select to_jsonb(f.*) from (select %s) f)', _filters), '''{}''::jsonb'
        ),
        _source.relation,
        pgask._source_key_match(_source.relation, _source.key_columns, 's', 'k.id')
    ) using _read_rows.source_ids;
end
$function$;
comment on function pgask._read_rows(text, text, text[]) is
    'The template columns as text, in the template''s order, and the filter columns of the rows '
    'that exist. Runs after _claim as a statement of its own, so that it sees at least what the '
    'claimed generation stands for. A row that row-level security hides is an error, not a deleted '
    'one; a table that somebody has locked is an error after half a second. Output settings are '
    'pinned.';


create or replace function pgask._source_recipe(source_schema text, source_table text)
returns table (text_template text, template_columns text[], chunking_policy text)
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $function$
    select r.text_template, r.template_columns, r.chunking_policy
    from pgask.embedding_ingest_registry r
    where (r.source_schema, r.source_table)
        = (_source_recipe.source_schema, _source_recipe.source_table)
$function$;
comment on function pgask._source_recipe(text, text) is
    'How the rows of a source become chunks.';


create or replace function pgask._read_chunks(
    source_schema text, source_table text, source_ids text[], embedding_model text
) returns table (source_id text, chunk_text text)
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $function$
    select e.source_id, e.chunk_text
    from pgask.embedding e
    where (e.source_schema, e.source_table)
            = (_read_chunks.source_schema, _read_chunks.source_table)
        and e.source_id = any (_read_chunks.source_ids)
        and e.embedding_model = _read_chunks.embedding_model
$function$;
comment on function pgask._read_chunks(text, text, text[], text) is
    'The chunk texts that have a vector of the model already, which need no call of it.';


create or replace function pgask._write(
    worker text,
    embedding_model text,
    job_ids bigint[],
    generations bigint[],
    chunkings text[],
    filters jsonb[],
    chunk_jobs bigint[],
    chunk_indexes integer[],
    chunk_starts integer[],
    chunk_ends integer[],
    chunk_texts text[],
    chunk_vectors text[]
) returns boolean
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $function$
declare
    _kept bigint[];
    _known bigint[];
    _complete boolean;
begin
    -- What a crash takes back is embedded again: a job and its chunks go together.
    perform set_config('synchronous_commit', 'off', true);
    -- Waits for an index build before it holds anything that an application could wait for.
    lock table pgask.embedding in row exclusive mode;
    begin
        select array_agg(e.id) into _known
        from pgask.embedding_job j
        join pgask.embedding e
            on (e.source_schema, e.source_table, e.source_id)
                = (j.source_schema, j.source_table, j.source_id)
        where j.id = any (_write.job_ids);
        if _known is not null then
            -- Chunks that an open transaction is removing are left to it.
            select array_agg(l.id) into _kept
            from (
                select e.id from pgask.embedding e where e.id = any (_known) order by e.id
                for update skip locked
            ) l;
            if cardinality(_kept) is distinct from cardinality(_known) then
                raise exception 'chunks are locked' using errcode = 'PA999';
            end if;
        end if;

        with result as materialized (
            select j.source_schema, j.source_table, j.source_id, c.chunk_index, c.chunk_text,
                c.char_start, c.char_end, r.chunking, r.filter_values,
                coalesce(c.vector::@vector@.vector, (
                    select e.vector from pgask.embedding e
                    where e.id = any (_known)
                        and (e.source_schema, e.source_table, e.source_id)
                            = (j.source_schema, j.source_table, j.source_id)
                        and e.embedding_model = _write.embedding_model
                        and e.chunk_text = c.chunk_text
                    limit 1
                )) as vector
            from unnest(
                _write.chunk_jobs, _write.chunk_indexes, _write.chunk_starts, _write.chunk_ends,
                _write.chunk_texts, _write.chunk_vectors
            ) c (job_id, chunk_index, char_start, char_end, chunk_text, vector)
            join unnest(_write.job_ids, _write.chunkings, _write.filters)
                r (job_id, chunking, filter_values) on r.job_id = c.job_id
            join pgask.embedding_job j on j.id = c.job_id
        ), gone as (
            delete from pgask.embedding e
            where e.id = any (_known)
                and not exists (
                    select 1 from result r
                    where (r.source_schema, r.source_table, r.source_id, r.chunk_index)
                        = (e.source_schema, e.source_table, e.source_id, e.chunk_index)
                )
        )
        insert into pgask.embedding as e (
            source_schema, source_table, source_id, chunk_index, chunk_text, char_start, char_end,
            vector, embedding_model, chunking_used, filter_values, created_at
        )
        select r.source_schema, r.source_table, r.source_id, r.chunk_index, r.chunk_text,
            r.char_start, r.char_end, r.vector, _write.embedding_model, r.chunking,
            r.filter_values, clock_timestamp()
        from result r
        on conflict (source_schema, source_table, source_id, chunk_index) do update
        set chunk_text = excluded.chunk_text, char_start = excluded.char_start,
            char_end = excluded.char_end,
            -- The very same stored value needs no new entry in the vector index.
            vector = case when e.chunk_text = excluded.chunk_text
                    and e.embedding_model = excluded.embedding_model
                then e.vector else excluded.vector end,
            embedding_model = excluded.embedding_model, chunking_used = excluded.chunking_used,
            filter_values = excluded.filter_values, created_at = excluded.created_at;

        -- Compare and swap, at the end, so that an application that changes a row waits for next
        -- to nothing: only jobs that are still this worker's and still of the generation that was
        -- embedded. One that the application holds locked at this moment is changing.
        with mine as (
            select j.id
            from unnest(_write.job_ids, _write.generations) c (id, generation)
            join pgask.embedding_job j on j.id = c.id
            where j.status = 'running' and j.worker = _write.worker
                and j.generation = c.generation
            order by j.id
            for update of j skip locked
        ), finished as (
            delete from pgask.embedding_job j using mine m where j.id = m.id
            returning j.id
        )
        select count(*) = cardinality(_write.job_ids) into _complete from finished;
        if not _complete then
            raise exception 'jobs have changed' using errcode = 'PA999';
        end if;
    exception when sqlstate 'PA999' or not_null_violation then
        return false;
    end;
    return true;
end
$function$;
comment on function pgask._write(
    text, text, bigint[], bigint[], text[], jsonb[], bigint[], integer[], integer[], integer[],
    text[], text[]
) is
    'Writes the chunks of jobs and finishes these, all of them or, where one changed, was taken '
    'over, or belongs to a row that was deleted meanwhile, none: then false. A chunk without a '
    'vector takes the one that its text has already.';


create or replace function pgask._release(
    worker text,
    job_ids bigint[],
    error text,
    delay interval,
    charge boolean,
    max_attempts integer,
    provider_rests boolean default false
) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $function$
begin
    update pgask.embedding_job j
    set status = case when _release.charge and j.attempts >= _release.max_attempts
            then 'failed' else 'pending' end,
        attempts = case when _release.charge then j.attempts else greatest(0, j.attempts - 1) end,
        error = coalesce(_release.error, j.error),
        finished_at = case when _release.charge and j.attempts >= _release.max_attempts
            then clock_timestamp() end,
        run_after = clock_timestamp() + _release.delay,
        lease_until = case when _release.provider_rests
            then clock_timestamp() + _release.delay end,
        worker = null
    where j.id in (
        select l.id from pgask.embedding_job l
        where l.id = any (_release.job_ids) and l.status = 'running'
            and l.worker = _release.worker
        for update skip locked
    );
end
$function$;
comment on function pgask._release(
    text, bigint[], text, interval, boolean, integer, boolean
) is
    'Gives jobs back: due again after the delay. charge: whether the attempt counts; with '
    'max_attempts of them the job is failed, with the error as its reason. provider_rests: nothing '
    'at all is claimed before the delay is over.';


create or replace function pgask._is_load(at_least bigint) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $function$
declare
    _due bigint;
begin
    select count(*) into _due
    from pgask.embedding_job j
    join pgask.embedding_ingest_registry r
        on (r.source_schema, r.source_table) = (j.source_schema, j.source_table)
    where r.is_active and j.status = 'pending' and j.run_after <= now();
    return _due >= _is_load.at_least
        and not exists (select 1 from pgask.embedding e offset _due limit 1);
end
$function$;
comment on function pgask._is_load(bigint) is
    'Whether more is due than is embedded, and than at_least rows.';


create or replace function pgask._begin_load(at_least bigint) returns boolean
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '100ms'
as $function$
begin
    if to_regclass('pgask.embedding_vector_hnsw') is null
        or not exists (
            select 1 from pgask.embedding_job j where j.status = 'pending'
            offset greatest(_begin_load.at_least - 1, 0)
        )
        or not pgask._is_load(_begin_load.at_least)
    then
        return false;
    end if;
    drop index pgask.embedding_vector_hnsw;
    return true;
exception when lock_not_available or deadlock_detected or undefined_object then
    return false;
end
$function$;
comment on function pgask._begin_load(bigint) is
    'Drops the vector index before a backfill that is larger than what is indexed (and than '
    'at_least rows): building it afterwards costs less than a quarter of growing it row by row. '
    'Meanwhile a search scans what there is. Waits for nobody longer than 100 ms. Returns whether '
    'the index was dropped.';


create or replace function pgask._end_load(build_memory text, at_least bigint default null)
returns boolean
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $function$
begin
    if to_regclass('pgask.embedding_vector_hnsw') is not null
        or pgask._is_load(_end_load.at_least)
        or not pg_try_advisory_xact_lock(hashtextextended('pgask.embedding_vector_hnsw', 0))
    then
        return false;
    end if;
    perform set_config('maintenance_work_mem', _end_load.build_memory, true);
    begin
        create index if not exists embedding_vector_hnsw
            on pgask.embedding using hnsw (vector @vector@.vector_cosine_ops);
    exception when insufficient_resources then
        -- Containers may have little shared memory.
        set local max_parallel_maintenance_workers = 0;
        create index if not exists embedding_vector_hnsw
            on pgask.embedding using hnsw (vector @vector@.vector_cosine_ops);
    end;
    return true;
end
$function$;
comment on function pgask._end_load(text, bigint) is
    'Builds the vector index if a load or a crash left none. build_memory: the most memory for it, '
    'as in maintenance_work_mem. at_least: not while a load as for _begin_load() goes on (default: '
    'in any case). One session builds; deletes on sources do not wait for it.';


create or replace procedure pgask.work(
    source text default null, max_jobs integer default null
)
language plpython3u
as $python$
    if "pgask" not in GD:
        plpy.execute("select pgask._boot()")
    GD["pgask"].work(source, max_jobs)
$python$;
comment on procedure pgask.work(text, integer) is
    'One pass of the worker: claims due jobs, embeds and writes them, until nothing is due. Commits
after each step and holds no transaction, lock or snapshot while a model is called, so it must be
called outside a transaction block (else PA501).
source: only that source (default all). max_jobs: stop after about so many (default no limit).
A model that is down leaves its jobs pending and is reported as a WARNING; an input that a model
refuses ends as a failed job of its own. Any number of sessions may run it at once.';
