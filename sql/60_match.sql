-- 60_match.sql: the vector of a typed question -> the nearest saved questions, words -> values

create or replace function pgask._nearest_questions(
    query_vector text, embedding_model text, scope_key text, k int
) returns table (id uuid, revision text, similarity double precision)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set hnsw.iterative_scan = 'strict_order' -- noqa: PRS
set hnsw.max_scan_tuples = 1000000
set hnsw.scan_mem_multiplier = 16
as $function$
declare
    _vector constant @vector@.vector := _nearest_questions.query_vector::@vector@.vector;
begin
    -- Drafts of others are filtered after the index gave them: it must go on past any number.
    return query
    select n.id, n.version::text || ' ' || n.updated_at::text,
        1 - (n.query_vector operator(@vector@.<=>) _vector)
    from pgask.nl_query n
    where n.embedding_model = _nearest_questions.embedding_model
        and n.retired_at is null
        and (n.scope_key in (_nearest_questions.scope_key, 'global') or n.status = 'system')
    order by n.query_vector operator(@vector@.<=>) _vector
    limit _nearest_questions.k;
end
$function$;
comment on function pgask._nearest_questions(text, text, text, int) is
    'The k saved questions nearest to query_vector among those that the caller may see and that '
    'scope_key offers. revision changes whenever the row is edited.';

create or replace function pgask._value_column(column_name text)
returns table (
    relation regclass, attribute text, type text, readable boolean, stable boolean, type_id oid
)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $function$
declare
    _names text[] := parse_ident(_value_column.column_name);
begin
    if cardinality(_names) <> 3 then
        raise exception '"%" does not name a column', _value_column.column_name
            using errcode = 'PA411', hint = 'Write schema.table.column.';
    end if;
    return query
    select
        c.oid::regclass,
        a.attname::text,
        format_type(a.atttypid, a.atttypmod),
        has_schema_privilege(n.oid, 'usage')
        and (
            has_table_privilege(c.oid, 'select')
            or has_column_privilege(c.oid, a.attnum, 'select')
        ),
        c.relkind in ('r', 'p', 'm') and not row_security_active(c.oid),
        a.atttypid
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    join pg_roles o on o.oid = c.relowner
    join pg_attribute a on a.attrelid = c.oid
    where
        n.nspname = _names[1]
        and c.relname = _names[2]
        -- Reading a view runs what its owner put into it, in the name of whoever asks.
        and (c.relkind in ('r', 'p', 'm', 'f') or (c.relkind = 'v' and o.rolsuper))
        and a.attname = _names[3]
        and a.attnum > 0
        and not a.attisdropped;
end
$function$;
comment on function pgask._value_column(text) is
    'The column that schema.table.column names; no row where there is none, or where it is that of '
    'a view that does not belong to a superuser. readable: by the caller. stable: what it shows depends on nothing but the role and the rows.';

create or replace function pgask._column_values(column_name text, most int)
returns table (value text)
language plpgsql
set search_path = pg_catalog, pg_temp
as $function$
declare
    _relation regclass;
    _attribute text;
    _text text;
    _rows real;
    _attnum smallint;
    _query text;
    _values text[];
begin
    select c.relation, c.attribute, pgask._as_text(c.type_id, 'p.v')
        into _relation, _attribute, _text
    from pgask._value_column(_column_values.column_name) c;
    if _relation is null then
        return;
    end if;
    select c.reltuples, a.attnum into _rows, _attnum
    from pg_class c
    join pg_attribute a on a.attrelid = c.oid
    where c.oid = _relation and a.attname = _attribute;

    if _rows > 100000 and exists (
        select from pg_index i
        join pg_class x on x.oid = i.indexrelid
        join pg_am m on m.oid = x.relam
        where
            i.indrelid = _relation and i.indkey[0] = _attnum and i.indisvalid
            and i.indpred is null and m.amname = 'btree'
    ) then
        -- One index descent per distinct value, however many rows share it.
        _query := format(
            $query$
            with recursive step as (
                (select t.%1$I as v from %2$s t where t.%1$I is not null order by t.%1$I limit 1)
                union all
                select (
                    select t.%1$I from %2$s t where t.%1$I > s.v order by t.%1$I limit 1
                )
                from step s
                where s.v is not null
            ), p as (select s.v from step s where s.v is not null limit $1)
            select array_agg(%3$s) from p
            $query$,
            _attribute, _relation, _text
        );
    else
        -- A large table without such an index is read in part: never all of it for one question.
        _query := format(
            $query$
            select array_agg(d.v) from (
                select distinct %3$s as v
                from (select t.%1$I as v from %2$s t where t.%1$I is not null limit 200000) p
                where length(%3$s) between 1 and 200
                limit $1
            ) d
            $query$,
            _attribute, _relation, _text
        );
    end if;
    begin
        -- A policy on the table is its owner's code: it may not write in the asker's name.
        perform set_config('transaction_read_only', 'on', true);
        execute _query into _values using _column_values.most;
        raise exception 'done' using errcode = 'PA999';
    exception when sqlstate 'PA999' then
        null;
    end;
    return query select u.v from unnest(_values) u (v);
end
$function$;
comment on function pgask._column_values(text, int) is
    'Up to most distinct values of schema.table.column as text, read with the caller''s rights.';

create or replace function pgask._similar_values(column_name text, phrases text[])
returns table (phrase text, value text, similarity real)
language plpgsql
set search_path = pg_catalog, pg_temp
set "pg_trgm.similarity_threshold" = 0.35
as $function$
declare
    _relation regclass;
    _attribute text;
    _rows real;
    _indexed boolean;
    _attnum smallint;
    _column text;
    _found jsonb;
begin
    select c.relation, c.attribute, pgask._as_text(c.type_id, format('x.%I', c.attribute))
        into _relation, _attribute, _column
    from pgask._value_column(_similar_values.column_name) c;
    if _relation is null then
        return;
    end if;
    select c.reltuples, a.attnum into _rows, _attnum
    from pg_class c
    join pg_attribute a on a.attrelid = c.oid
    where c.oid = _relation and a.attname = _attribute;
    _indexed := exists (
        select from pg_index i
        join pg_opclass o on o.oid = i.indclass[0]
        where
            i.indrelid = _relation and i.indkey[0] = _attnum and i.indisvalid
            and i.indpred is null and o.opcname in ('gin_trgm_ops', 'gist_trgm_ops')
    );
    begin
        -- As in _column_values.
        perform set_config('transaction_read_only', 'on', true);
        execute format(
        $query$
        select jsonb_agg(jsonb_build_array(p.phrase, v.value, v.similarity))
        from unnest($1) p (phrase)
        cross join lateral (
            select t.v::text as value, @pg_trgm@.similarity(t.v::text, p.phrase) as similarity
            from (%s) t (v)
            where
                t.v operator(pg_catalog.~~*) replace(replace(replace(
                    p.phrase, '\', '\\'), '%%', '\%%'), '_', '\_')
                or t.v operator(@pg_trgm@.%%) p.phrase
            order by 2 desc, 1
            limit 5
        ) v
        $query$,
        case
            when _indexed or _rows between 0 and 200000 then
                format('select %s from %s x', _column, _relation)
            else
                format('select %s from %s x limit 200000', _column, _relation)
        end
        ) into _found using _similar_values.phrases;
        raise exception 'done' using errcode = 'PA999';
    exception when sqlstate 'PA999' then
        null;
    end;
    return query
    select f.row ->> 0, f.row ->> 1, (f.row ->> 2)::real
    from jsonb_array_elements(_found) with ordinality f (row, position)
    order by f.position;
end
$function$;
comment on function pgask._similar_values(text, text[]) is
    'For each phrase up to five values of schema.table.column that are spelt like it, read with '
    'the caller''s rights and through a trigram index if there is one.';
