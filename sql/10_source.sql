-- 10_source.sql: a table, a template, a policy -> a registered source with triggers, backfill

create or replace function pgask._caller() returns text
language sql stable
begin atomic
    select case pg_catalog.current_setting('role') when 'none' then session_user::text
        else pg_catalog.current_setting('role') end;
end;
comment on function pgask._caller() is
    'The role in whose name a SECURITY DEFINER function was called: that of SET ROLE, else the '
    'session''s. Neither can be forged by a custom setting.';


create or replace function pgask._find_source(
    source text, out source_schema text, out source_table text
)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $function$
declare
    _parts text[];
begin
    select r.source_schema, r.source_table
        into _find_source.source_schema, _find_source.source_table
    from pgask.embedding_ingest_registry r
    where r.source_schema || '.' || r.source_table = _find_source.source;
    if found then
        return;
    end if;
    begin
        _parts := parse_ident(_find_source.source);
    exception when invalid_parameter_value then
        _parts := array[_find_source.source];
    end;
    begin
        select r.source_schema, r.source_table
            into strict _find_source.source_schema, _find_source.source_table
        from pgask.embedding_ingest_registry r
        where (cardinality(_parts) = 2
                and (r.source_schema, r.source_table) = (_parts[1], _parts[2]))
            or (cardinality(_parts) = 1 and r.source_table = _parts[1]);
    exception
        when no_data_found then
            raise exception 'source "%" is not registered', _find_source.source
                using errcode = 'PA105',
                hint = 'Register it with pgask.register_source(), or look at pgask.source_status.';
        when too_many_rows then
            raise exception 'source "%" is ambiguous', _find_source.source
                using errcode = 'PA105', hint = 'Write it as schema.table.';
    end;
end
$function$;
comment on function pgask._find_source(text) is
    'A source''s schema and table from what a person typed: schema.table, quoted where needed, or '
    'the table alone where that is unambiguous. PA105 where there is none.';


create or replace function pgask._key_columns(relation regclass) returns text[]
language sql stable
begin atomic
    select (
        select pg_catalog.array_agg(a.attname::text order by k.position)
        from pg_catalog.unnest(i.indkey::int2[]) with ordinality k (attnum, position)
        join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
        where k.position <= i.indnkeyatts
    )
    from pg_catalog.pg_index i
    where i.indrelid = _key_columns.relation and i.indisunique and i.indisvalid
        and i.indpred is null and i.indexprs is null
        and not exists (
            select 1
            from pg_catalog.unnest(i.indkey::int2[]) with ordinality k (attnum, position)
            join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
            where k.position <= i.indnkeyatts and not a.attnotnull
        )
    order by i.indisprimary desc, i.indnkeyatts, i.indexrelid
    limit 1;
end;
comment on function pgask._key_columns(regclass) is
    'The columns of the primary key, else of the smallest unique index over NOT NULL columns; NULL '
    'where there is neither.';


create or replace function pgask._as_text(type_id oid, expression text) returns text
language sql immutable
begin atomic
    -- The owner of a type may define a cast, which would then run with the rights of the function
    -- that reads the row; format() uses the type's own output function. 16384: the first OID
    -- that is not PostgreSQL's own.
    select case when _as_text.type_id < 16384 then _as_text.expression || '::text'
        else pg_catalog.format(
            'case when pg_catalog.num_nulls(%1$s) = 0 then pg_catalog.format(''%%s'', %1$s) end',
            _as_text.expression
        ) end;
end;
comment on function pgask._as_text(oid, text) is
    'The SQL expression that gives a value as its type prints it, without running anybody''s code.';


create or replace function pgask._source_id_expression(
    relation regclass, key_columns text[], row_alias text
) returns text
language sql stable
begin atomic
    select case when pg_catalog.cardinality(_source_id_expression.key_columns) = 1
        then pg_catalog.min(pgask._as_text(c.type_id, c.name))
        else 'pg_catalog.jsonb_build_array(' || pg_catalog.string_agg(
            case when c.type_id < 16384 and c.category not in ('A', 'C') then c.name
                else pgask._as_text(c.type_id, c.name) end, ', ' order by c.position
        ) || ')::text' end
    from (
        select k.position, t.oid as type_id, t.typcategory as category,
            pg_catalog.format('%I.%I', _source_id_expression.row_alias, a.attname) as name
        from pg_catalog.unnest(_source_id_expression.key_columns)
            with ordinality k (name, position)
        join pg_catalog.pg_attribute a
            on a.attrelid = _source_id_expression.relation and a.attname = k.name
        join pg_catalog.pg_type t on t.oid = a.atttypid
    ) c;
end;
comment on function pgask._source_id_expression(regclass, text[], text) is
    'The SQL expression that renders a row''s key as its source_id: the text of a single column, '
    'the text of a jsonb array of several. Injective, given the pinned output settings of the '
    'functions that use it.';


create or replace function pgask._source_key_match(
    relation regclass, key_columns text[], row_alias text, id_expression text
) returns text
language sql stable
begin atomic
    -- A type of somebody's own is compared as text, without an index: its input function and its
    -- domain's checks are not run on what is only a key.
    select pg_catalog.string_agg(
        case when c.type_id < 16384
            then pg_catalog.format('%s = (%s)::%s', c.name, c.part, c.type_name)
            else pg_catalog.format('%s = (%s)', pgask._as_text(c.type_id, c.name), c.part) end,
        ' and ' order by c.position
    )
    from (
        select k.position, a.atttypid as type_id,
            pg_catalog.format('%I.%I', _source_key_match.row_alias, a.attname) as name,
            pg_catalog.format_type(a.atttypid, a.atttypmod) as type_name,
            case when pg_catalog.cardinality(_source_key_match.key_columns) = 1
                then _source_key_match.id_expression
                else pg_catalog.format(
                    '%s::pg_catalog.jsonb ->> %s', _source_key_match.id_expression, k.position - 1
                ) end as part
        from pg_catalog.unnest(_source_key_match.key_columns) with ordinality k (name, position)
        join pg_catalog.pg_attribute a
            on a.attrelid = _source_key_match.relation and a.attname = k.name
    ) c;
end;
comment on function pgask._source_key_match(regclass, text[], text, text) is
    'The SQL condition that finds a row by its source_id through the index on its key: each key '
    'column compared, in its own type, with its part of the source_id.';


create or replace function pgask._check_readable(relation regclass) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $function$
declare
    _class record;
begin
    select c.relkind, r.rolsuper into _class
    from pg_class c join pg_roles r on r.oid = c.relowner
    where c.oid = _check_readable.relation;
    if not found then
        raise exception 'the table of this source is gone'
            using errcode = 'PA106',
            hint = 'Take the source out: select pgask.unregister_source(...).';
    end if;
    if _class.relkind = 'v' and not _class.rolsuper then
        raise exception 'the view % does not belong to a superuser', _check_readable.relation
            using errcode = 'PA106',
            detail = 'Reading a view runs its functions, here with the rights of pgask''s owner.',
            hint = 'Have a superuser own the view, or register its tables.';
    end if;
end
$function$;
comment on function pgask._check_readable(regclass) is
    'Whether the functions that read rows as the owner may read this relation: a view''s owner '
    'can put any function into it at any time. PA106.';


create or replace function pgask._missing_columns(relation regclass, columns text[]) returns text[]
language sql stable
begin atomic
    select pg_catalog.array_agg(c.name order by c.position)
    from pg_catalog.unnest(_missing_columns.columns) with ordinality c (name, position)
    where not exists (
        select 1 from pg_catalog.pg_attribute a
        where a.attrelid = _missing_columns.relation and a.attname = c.name
            and a.attnum > 0 and not a.attisdropped
    );
end;
comment on function pgask._missing_columns(regclass, text[]) is
    'Which of the columns the relation does not have, in the order given; NULL when it has all.';


create or replace function pgask._check_columns(relation regclass, columns text[]) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $function$
declare
    _missing text[] := pgask._missing_columns(_check_columns.relation, _check_columns.columns);
begin
    if _missing is not null then
        raise exception '% has no column % any more', _check_columns.relation,
                (select string_agg(quote_ident(m), ', ') from unnest(_missing) m)
            using errcode = 'PA106', hint = 'Unregister the source and register it anew.';
    end if;
end
$function$;
comment on function pgask._check_columns(regclass, text[]) is
    'PA106 when a source has lost a column that it is read by.';


create or replace function pgask._is_key(relation regclass, key_columns text[]) returns boolean
language sql stable
begin atomic
    select exists (
        select 1
        from pg_catalog.pg_index i
        where i.indrelid = _is_key.relation and i.indisunique and i.indisvalid
            and i.indpred is null and i.indexprs is null
            and (
                select pg_catalog.array_agg(a.attname::text order by a.attname)
                from pg_catalog.unnest(i.indkey::int2[]) with ordinality k (attnum, position)
                join pg_catalog.pg_attribute a
                    on a.attrelid = i.indrelid and a.attnum = k.attnum and a.attnotnull
                where k.position <= i.indnkeyatts
            ) = (
                select pg_catalog.array_agg(c.name order by c.name collate "C")
                from pg_catalog.unnest(_is_key.key_columns) c (name)
            )
    );
end;
comment on function pgask._is_key(regclass, text[]) is
    'Whether a unique index over just these columns, all NOT NULL, identifies the rows of a table.';


create or replace function pgask._create_source(
    relation regclass,
    text_template text,
    template_columns text[],
    chunking_policy text,
    filter_columns text[],
    key_columns text[],
    updated_at_column text,
    notes text,
    backfill boolean
) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $function$
declare
    _schema text;
    _table text;
    _kind "char";
    _missing text[];
    _key text[] := _create_source.key_columns;
    _updated_at text := _create_source.updated_at_column;
begin
    select n.nspname, c.relname, c.relkind into _schema, _table, _kind
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.oid = _create_source.relation;
    if not found or _kind not in ('r', 'p', 'v', 'm', 'f') then
        raise exception '% cannot be a source', _create_source.relation
            using errcode = 'PA101',
            detail = 'A source is a table, a partitioned table, a view or a foreign table.';
    end if;
    if _schema = 'pgask' and _table in ('setting', 'embedding', 'embedding_job') then
        raise exception 'pgask.% cannot be a source', _table using errcode = 'PA101';
    end if;
    if exists (
        select 1 from pg_class c where c.oid = _create_source.relation and c.relpersistence = 't'
    ) then
        raise exception 'a temporary table cannot be a source' using errcode = 'PA101';
    end if;
    if exists (
        select 1 from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where _create_source.relation in (i.inhrelid, i.inhparent) and not c.relispartition
            and c.relkind in ('r', 'p', 'f')
    ) then
        raise exception '% inherits, or is inherited from', _create_source.relation
            using errcode = 'PA101',
            detail = 'A statement on one table of such a family changes rows of the others '
                'without their triggers.';
    end if;
    perform pgask._check_readable(_create_source.relation);
    if not has_table_privilege(pgask._caller(), _create_source.relation, 'select')
        or (_kind in ('r', 'p')
            and not has_table_privilege(pgask._caller(), _create_source.relation, 'trigger'))
    then
        raise exception 'role "%" may not register %', pgask._caller(), _create_source.relation
            using errcode = '42501',
            hint = 'The caller needs the privileges SELECT and TRIGGER on the table.';
    end if;

    _missing := pgask._missing_columns(_create_source.relation, _create_source.template_columns);
    if _missing is not null then
        raise exception '% has no column %', _create_source.relation,
                (select string_agg(quote_ident(m), ', ') from unnest(_missing) m)
            using errcode = 'PA102',
            detail = format('The template is %L.', _create_source.text_template),
            hint = 'A place {{column}} names a column exactly, with its upper and lower case.';
    end if;
    _missing := pgask._missing_columns(_create_source.relation, _create_source.filter_columns);
    if _missing is not null then
        raise exception '% has no column % to filter by', _create_source.relation,
                (select string_agg(quote_ident(m), ', ') from unnest(_missing) m)
            using errcode = 'PA104';
    end if;
    if _key is null then
        _key := pgask._key_columns(_create_source.relation);
        if _key is null then
            raise exception '% has no key that identifies its rows', _create_source.relation
                using errcode = 'PA101',
                detail = 'There is no primary key and no unique index over columns that are all '
                    'NOT NULL.',
                hint = 'Add a primary key, or name the columns: key_columns => ''{...}''.';
        end if;
    end if;
    _missing := pgask._missing_columns(
        _create_source.relation, array_remove(_key || _updated_at, null)
    );
    if _missing is not null then
        raise exception '% has no column %', _create_source.relation,
                (select string_agg(quote_ident(m), ', ') from unnest(_missing) m)
            using errcode = 'PA101', detail = 'Named as key_columns or updated_at_column.';
    end if;
    if cardinality(_key) = 0
        or (_kind in ('r', 'p') and not pgask._is_key(_create_source.relation, _key))
    then
        raise exception 'the columns % do not identify the rows of %',
                array_to_string(_key, ', '), _create_source.relation
            using errcode = 'PA101',
            detail = 'There is no unique index over just these columns, all NOT NULL.';
    end if;
    if _updated_at is null then
        select a.attname into _updated_at from pg_attribute a
        where a.attrelid = _create_source.relation and a.attname = 'updated_at'
            and a.atttypid in ('timestamptz'::regtype, 'timestamp'::regtype)
            and not a.attisdropped;
    end if;

    if exists (
        select 1 from pgask.embedding_ingest_registry r
        where (r.source_schema, r.source_table) = (_schema, _table)
            or r.relation = _create_source.relation
    ) then
        raise exception '% is already registered', _create_source.relation
            using errcode = 'PA101',
            hint = 'Take it out first: select pgask.unregister_source(''schema.table'').';
    end if;
    insert into pgask.embedding_ingest_registry (
        source_schema, source_table, relation, key_columns, updated_at_column, text_template,
        template_columns, chunking_policy, filter_columns, notes
    ) values (
        _schema, _table, _create_source.relation, _key, _updated_at, _create_source.text_template,
        _create_source.template_columns, _create_source.chunking_policy,
        to_jsonb(_create_source.filter_columns), _create_source.notes
    );
    perform pgask._create_triggers(_create_source.relation);
    if _create_source.backfill then
        perform pgask._enqueue_rows(_schema, _table, null);
    end if;
end
$function$;
comment on function pgask._create_source(
    regclass, text, text[], text, text[], text[], text, text, boolean
) is
    'Checks and records a source whose template and policy are already parsed, attaches its '
    'triggers and enqueues its rows. The caller needs SELECT and TRIGGER on the table.';


create or replace function pgask.register_source(
    source text,
    text_template text,
    chunking_policy text default 'none',
    filter_columns text[] default '{}',
    key_columns text[] default null,
    updated_at_column text default null,
    notes text default null,
    backfill boolean default true
) returns setof pgask.source_status
language plpython3u
as $python$
    if "pgask" not in GD:
        plpy.execute("select pgask._boot()")
    return GD["pgask"].register_source(
        source, text_template, chunking_policy, filter_columns, key_columns, updated_at_column,
        notes, backfill)
$python$;
comment on function pgask.register_source(
    text, text, text, text[], text[], text, text, boolean
) is
    'Registers a table, partitioned table or view as a source and enqueues its rows.
source: schema.table, quoted where needed; without a schema it is looked up by the search_path.
text_template: the text to embed, with {{column}} places; NULL renders as nothing, a line of which
nothing is left disappears; \n is a line break.
chunking_policy: none, or fixed(size, overlap) in tokens of the embedding model.
filter_columns: columns copied to filter_values, to narrow a search.
key_columns: what identifies a row; default the primary key, else a unique NOT NULL index.
updated_at_column: default a timestamp column named updated_at, if there is one.
backfill: whether the rows that exist are enqueued now (default true).
Returns the source''s status. A view or foreign table has no triggers: enqueue() it when it changed.
Errors: PA101 table unknown, unsuitable, without a key or already registered, PA102 template, PA103
policy, PA104 filter column, PA106 a view that does not belong to a superuser, 42501 without SELECT
and TRIGGER on the table.';


create or replace function pgask.unregister_source(
    source text, drop_embeddings boolean default true
) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $function$
declare
    _source record;
begin
    select r.* into _source
    from pgask._find_source(unregister_source.source) f
    join pgask.embedding_ingest_registry r using (source_schema, source_table)
    for update of r;
    if _source.relation is not null and exists (
        select 1 from pg_class c where c.oid = _source.relation
    ) then
        if not has_table_privilege(pgask._caller(), _source.relation, 'trigger') then
            raise exception 'role "%" may not unregister %', pgask._caller(), _source.relation
                using errcode = '42501',
                hint = 'The caller needs the privilege TRIGGER on the table.';
        end if;
        perform pgask._drop_triggers(_source.relation);
    end if;
    delete from pgask.embedding_job j
    where (j.source_schema, j.source_table) = (_source.source_schema, _source.source_table);
    if unregister_source.drop_embeddings then
        delete from pgask.embedding e
        where (e.source_schema, e.source_table) = (_source.source_schema, _source.source_table);
        delete from pgask.embedding_ingest_registry r
        where (r.source_schema, r.source_table) = (_source.source_schema, _source.source_table);
    else
        update pgask.embedding_ingest_registry r
        set is_active = false, inactive_reason = 'unregistered, embeddings kept',
            updated_at = now()
        where (r.source_schema, r.source_table) = (_source.source_schema, _source.source_table);
    end if;
end
$function$;
comment on function pgask.unregister_source(text, boolean) is
    'Detaches a source: its triggers and jobs go.
drop_embeddings: true (default) deletes its embeddings and its registry row; false keeps both, the
source becomes inactive and its embeddings keep answering.
Errors: PA105 not registered, 42501 without TRIGGER on the table.';
