-- 08_status.sql: registry, embedding and queue -> what a person watches

create or replace view pgask.source_status as
select
    r.source_schema,
    r.source_table,
    r.is_active,
    r.inactive_reason as reason,
    (
        select nullif(c.reltuples, -1)::bigint from pg_catalog.pg_class c where c.oid = r.relation
    ) as rows,
    coalesce(e.embedded, 0) as embedded,
    coalesce(e.chunks, 0) as chunks,
    coalesce(e.stale, 0) as stale,
    coalesce(j.pending, 0) as pending,
    coalesce(j.running, 0) as running,
    coalesce(j.failed, 0) as failed,
    j.oldest_pending,
    coalesce(e.embedding_models, '{}') as embedding_models,
    coalesce(e.chunking_policies, '{}') as chunking_policies,
    r.chunking_policy,
    r.text_template,
    r.notes
from pgask.embedding_ingest_registry r
left join (
    select
        c.source_schema,
        c.source_table,
        count(distinct c.source_id) as embedded,
        count(*) as chunks,
        count(distinct c.source_id) filter (
            where c.embedding_model <> (select pgask._get_setting('embedding_model'))
                or c.chunking_used <> g.chunking_policy
        ) as stale,
        array_agg(distinct c.embedding_model) as embedding_models,
        array_agg(distinct c.chunking_used) as chunking_policies
    from pgask.embedding c
    join pgask.embedding_ingest_registry g
        on g.source_schema = c.source_schema and g.source_table = c.source_table
    group by c.source_schema, c.source_table
) e on e.source_schema = r.source_schema and e.source_table = r.source_table
left join (
    select
        q.source_schema,
        q.source_table,
        count(*) filter (where q.status = 'pending') as pending,
        count(*) filter (where q.status = 'running') as running,
        count(*) filter (where q.status = 'failed') as failed,
        pg_catalog.now() - min(q.requested_at) filter (
            where q.status = 'pending'
        ) as oldest_pending
    from pgask.embedding_job q
    group by q.source_schema, q.source_table
) j on j.source_schema = r.source_schema and j.source_table = r.source_table;
comment on view pgask.source_status is
    'One row per source. rows: the planner''s estimate of its rows, NULL before the first ANALYZE; '
    'embedded: source rows with at least one chunk; stale: rows embedded under another model or '
    'policy than the one in force; pending, running, failed: jobs; oldest_pending: the age of the '
    'oldest waiting job.';


create or replace view pgask.queue_status as
select
    count(*) filter (where j.status = 'pending') as pending,
    count(*) filter (where j.status = 'running') as running,
    count(*) filter (where j.status = 'failed') as failed,
    count(*) filter (where j.status = 'pending' and j.run_after <= pg_catalog.now()) as due,
    pg_catalog.now() - min(j.requested_at) filter (
        where j.status = 'pending' and j.run_after <= pg_catalog.now()
    ) as oldest_due,
    count(distinct j.worker) filter (where j.status = 'running') as workers
from pgask.embedding_job j;
comment on view pgask.queue_status is
    'One row: jobs by state, how many are due, the age of the oldest due one, workers at work.';


create or replace view pgask.failed_job as
select j.source_schema, j.source_table, j.source_id, j.attempts, j.error, j.finished_at
from pgask.embedding_job j
where j.status = 'failed';
comment on view pgask.failed_job is
    'The jobs that were given up, with the reason of the last attempt.';


create or replace function pgask.retry_failed(source text default null) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $function$
declare
    _schema text;
    _table text;
    _count bigint;
begin
    if retry_failed.source is not null then
        select f.source_schema, f.source_table into _schema, _table
        from pgask._find_source(retry_failed.source) f;
    end if;
    update pgask.embedding_job j
    set status = 'pending', attempts = 0, run_after = now(), finished_at = null,
        generation = j.generation + 1
    where j.status = 'failed'
        and (retry_failed.source is null or (j.source_schema, j.source_table) = (_schema, _table));
    get diagnostics _count = row_count;
    notify pgask_job;
    return _count;
end
$function$;
comment on function pgask.retry_failed(text) is
    'Makes failed jobs pending again, of one source or of all (default). Returns how many.';
