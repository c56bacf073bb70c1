-- 40_search.sql: a query in words -> the chunks nearest in meaning, best first

create or replace function pgask._source_visibility(source_schema text, source_table text)
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $function$
declare
    _source record;
begin
    select r.relation, r.key_columns, c.relkind, c.oid, c.relnamespace,
        r.template_columns || array(select jsonb_array_elements_text(r.filter_columns))
            as shown_columns
        into _source
    from pgask.embedding_ingest_registry r
    left join pg_class c on c.oid = r.relation
    where (r.source_schema, r.source_table)
        = (_source_visibility.source_schema, _source_visibility.source_table);
    if _source.oid is null or not has_schema_privilege(_source.relnamespace, 'usage') then
        return 'none';
    end if;
    if not has_table_privilege(_source.relation, 'select') and exists (
        select 1 from unnest(_source.shown_columns) t (name)
        where not has_column_privilege(_source.relation, t.name, 'select')
    ) then
        return 'none';
    end if;
    if _source.relkind in ('r', 'p') and not row_security_active(_source.relation) then
        return 'all';
    end if;
    if not has_table_privilege(_source.relation, 'select') and exists (
        select 1 from unnest(_source.key_columns) k (name)
        where not has_column_privilege(_source.relation, k.name, 'select')
    ) then
        -- Which rows it sees cannot be told.
        return 'none';
    end if;
    return 'rows';
exception when undefined_column or undefined_table then
    return 'none';
end
$function$;
comment on function pgask._source_visibility(text, text) is
    'What the current role may see of a source: all of it, none of it (no SELECT on the table or '
    'on a column of the template or the filters), or some rows (row-level security, a view, a '
    'foreign table).';


create or replace function pgask._row_is_visible(
    source_schema text, source_table text, source_id text
) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
set datestyle = 'ISO, YMD'
set timezone = 'UTC'
set intervalstyle = 'postgres'
set extra_float_digits = 1
set bytea_output = 'hex'
as $function$
declare
    _source record;
    _visible boolean;
begin
    select r.relation, r.key_columns into _source
    from pgask.embedding_ingest_registry r
    where (r.source_schema, r.source_table)
        = (_row_is_visible.source_schema, _row_is_visible.source_table);
    execute format('select exists (select 1 from %s s where %s)',
        _source.relation,
        pgask._source_key_match(_source.relation, _source.key_columns, 's', '$1')
    ) into _visible using _row_is_visible.source_id;
    return _visible;
exception when others then
    -- A view that its reader may not evaluate, a foreign server that is away: one source's trouble
    -- must not end the search, and shows nothing.
    return false;
end
$function$;
comment on function pgask._row_is_visible(text, text, text) is
    'Whether the current role sees the source row, by its own rights and row-level security.';


create or replace function pgask._visible_sources(visibility text)
returns table (source_schema text, source_table text)
language sql stable
begin atomic
    select r.source_schema, r.source_table from pgask.embedding_ingest_registry r
    where pgask._source_visibility(r.source_schema, r.source_table) = _visible_sources.visibility;
end;
comment on function pgask._visible_sources(text) is
    'The sources of which the current role sees all, or some rows: see _source_visibility().';

alter table pgask.embedding enable row level security;
drop policy if exists a_chunk_is_seen_with_its_row on pgask.embedding;
create policy a_chunk_is_seen_with_its_row on pgask.embedding for select using (
    (source_schema, source_table) in (
        select v.source_schema, v.source_table from pgask._visible_sources('all') v
    )
    or (
        (source_schema, source_table) in (
            select v.source_schema, v.source_table from pgask._visible_sources('rows') v
        )
        and pgask._row_is_visible(source_schema, source_table, source_id)
    )
);
comment on policy a_chunk_is_seen_with_its_row on pgask.embedding is
    'The rights on the source decide, once per source and query; where those are rights on some '
    'rows, once per candidate. A policy that named the source tables would make every search fail '
    'for a role that may not read one of them, and keep those tables from being dropped.';


create or replace function pgask._search_vector(
    query_vector @vector@.vector,
    embedding_model text,
    k integer,
    in_schema text,
    in_table text,
    filter jsonb,
    min_similarity double precision
) returns table (
    source_schema text,
    source_table text,
    source_id text,
    chunk_index integer,
    chunk_text text,
    filter_values jsonb,
    similarity double precision
)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set hnsw.iterative_scan = 'strict_order' -- noqa: PRS
as $function$
declare
    _from text := ' from pgask.embedding e where e.embedding_model = $2'
        || case when _search_vector.in_table is not null
            then ' and e.source_schema = $4 and e.source_table = $5' else '' end
        || case when _search_vector.filter <> '{}' then ' and e.filter_values @> $6' else '' end;
    _nearest constant text := 'select array_agg(n.id), array_agg(n.distance) from ('
        'select e.id, e.vector operator(@vector@.<=>) $1 as distance';
    _ids bigint[];
    _distances double precision[];
begin
    execute _nearest || _from || ' order by e.vector operator(@vector@.<=>) $1 limit $3) n'
        into _ids, _distances
        using _search_vector.query_vector, _search_vector.embedding_model, _search_vector.k,
            _search_vector.in_schema, _search_vector.in_table, _search_vector.filter;
    -- The index gives up after hnsw.max_scan_tuples candidates, which a narrow filter or a narrow
    -- viewer can use up: then what is left is ranked exactly.
    if coalesce(cardinality(_ids), 0) < _search_vector.k then
        execute _nearest || _from
            || ' order by (e.vector operator(@vector@.<=>) $1) + 0, e.id limit $3) n'
            into _ids, _distances
            using _search_vector.query_vector, _search_vector.embedding_model, _search_vector.k,
                _search_vector.in_schema, _search_vector.in_table, _search_vector.filter;
    end if;
    return query
    select e.source_schema, e.source_table, e.source_id, e.chunk_index, e.chunk_text,
        e.filter_values, 1 - n.distance
    from unnest(_ids, _distances) with ordinality n (id, distance, position)
    join pgask.embedding e on e.id = n.id
    where n.distance <= 1 - _search_vector.min_similarity
        or _search_vector.min_similarity is null
    order by n.position;
end
$function$;
comment on function pgask._search_vector(
    @vector@.vector, text, integer, text, text, jsonb, double precision
) is
    'The k chunks nearest to a vector of the model, best first, of those that the current role may '
    'see and the filter leaves: both are applied before the limit.';


create or replace function pgask.search(
    query text,
    k integer default 10,
    source text default null,
    filter jsonb default '{}',
    mode text default 'semantic',
    min_similarity double precision default null
) returns table (
    source_schema text,
    source_table text,
    source_id text,
    chunk_index integer,
    chunk_text text,
    filter_values jsonb,
    similarity double precision,
    score double precision
)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $function$
declare
    _schema text;
    _table text;
    _vector @vector@.vector;
    _model text;
begin
    if search.k is null or search.k < 1 or search.k > 10000 then
        raise exception 'k is %', coalesce(search.k::text, 'null')
            using errcode = 'PA301', hint = 'Ask for 1 to 10000 chunks.';
    end if;
    if search.mode is distinct from 'semantic' then
        raise exception 'unknown search mode "%"', search.mode
            using errcode = 'PA301', hint = 'The mode is ''semantic''.';
    end if;
    if jsonb_typeof(search.filter) is distinct from 'object' then
        raise exception 'the filter is not a jsonb object'
            using errcode = 'PA301',
            hint = 'Write for example filter => ''{"category": "billing"}''.';
    end if;
    if search.source is not null then
        select f.source_schema, f.source_table into _schema, _table
        from pgask._find_source(search.source) f;
    end if;
    if coalesce(search.query, '') !~ '\S' then
        return;
    end if;
    begin
        select q.query_vector, q.embedding_model into _vector, _model
        from pgask._read_query(search.query) q;
    exception when sqlstate 'PA202' then
        if search.query ~ '[[:alnum:]]' then
            raise;
        end if;
        return;  -- invisible or combining characters alone: nothing to look for
    end;
    return query
    select s.source_schema, s.source_table, s.source_id, s.chunk_index, s.chunk_text,
        s.filter_values, s.similarity, s.similarity
    from pgask._search_vector(
        _vector, _model, search.k, _schema, _table, search.filter, search.min_similarity
    ) s;
end
$function$;
comment on function pgask.search(text, integer, text, jsonb, text, double precision) is
    'Finds the chunks nearest in meaning to a query, best first.
query: plain words; blank finds nothing. k: how many, 1 to 10000 (default 10). source: schema.table
(default all sources). filter: only chunks whose filter_values contain this object (default all).
mode: semantic. min_similarity: only chunks at least so similar (default no limit).
similarity: cosine similarity, -1 to 1; score: what the order is by.
The caller sees the chunks of the rows that it may read itself, and gets k of them.
Errors: PA105 source not registered, PA301 an argument, PA201 to PA203 the model.';
