-- 85_builtin_question.sql: the questions that every Postgres user asks of the catalogs, as rows

create or replace function pgask._builtin_questions()
returns table (
    label text, canonical_prompt text, sqls jsonb, params jsonb, notes text, phrasings jsonb
)
language sql stable
set search_path = pg_catalog, pg_temp
as $builtin$
    values

    -- space ---------------------------------------------------------------------------------------

    (
        'Largest tables',
        'Which {n} tables take the most disk space?',
        jsonb_build_array(jsonb_build_object(
            'title', 'Largest tables', 'display', 'bar', 'sql',
            $sql$
            select
                format('%I.%I', n.nspname, r.relname) as table_name,
                pg_size_pretty(sum(s.total)) as total_size,
                cast(sum(s.total) as bigint) as total_bytes,
                pg_size_pretty(sum(s.total - s.indexes)) as table_size,
                pg_size_pretty(sum(s.indexes)) as index_size
            from pg_catalog.pg_class as c
            inner join pg_catalog.pg_class as r on r.oid = coalesce(pg_partition_root(c.oid), c.oid)
            inner join pg_catalog.pg_namespace as n on n.oid = r.relnamespace
            cross join lateral (
                select
                    coalesce(pg_total_relation_size(c.oid), 0) as total,
                    coalesce(pg_indexes_size(c.oid), 0) as indexes
            ) as s
            where
                c.relkind in ('r', 'm')
                and n.nspname not in ('pg_catalog', 'information_schema')
                and n.nspname !~ '^pg_(toast|temp)'
            group by r.oid, n.nspname, r.relname
            order by total_bytes desc, table_name
            limit :n
            $sql$
        )),
        '[{"name": "n", "type": "integer", "required": false, "default": 10, "min": 1,
           "max": 1000, "example": 5}]'::jsonb,
        'Table, indexes and TOAST together; the partitions of a table are added up.',
        '["Top {n} largest tables by size", "What are the {n} biggest tables?",
          "Which tables use up all the disk space?", "Show tables ordered by their size"]'::jsonb
    ),
    (
        'Largest indexes',
        'Which {n} indexes take the most disk space?',
        jsonb_build_array(jsonb_build_object(
            'title', 'Largest indexes', 'display', 'bar', 'sql',
            $sql$
            select
                format('%I.%I', n.nspname, c.relname) as index_name,
                pg_size_pretty(s.bytes) as index_size,
                s.bytes as index_bytes,
                format('%I.%I', tn.nspname, t.relname) as table_name
            from pg_catalog.pg_index as i
            inner join pg_catalog.pg_class as c on c.oid = i.indexrelid
            inner join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
            inner join pg_catalog.pg_class as t on t.oid = i.indrelid
            inner join pg_catalog.pg_namespace as tn on tn.oid = t.relnamespace
            cross join lateral (select coalesce(pg_relation_size(c.oid), 0) as bytes) as s
            where
                c.relkind = 'i'
                and n.nspname not in ('pg_catalog', 'information_schema')
                and n.nspname !~ '^pg_(toast|temp)'
            order by index_bytes desc, index_name
            limit :n
            $sql$
        )),
        '[{"name": "n", "type": "integer", "required": false, "default": 10, "min": 1,
           "max": 1000, "example": 5}]'::jsonb,
        'Indexes of user tables; each partition''s index is one row.',
        '["Top {n} largest indexes by size", "What are the {n} biggest indexes?",
          "Show the sizes of all indexes, largest first"]'::jsonb
    ),
    (
        'Size of a table',
        'How big is the table {table}?',
        jsonb_build_array(jsonb_build_object(
            'title', 'Size of the table', 'display', 'table', 'sql',
            $sql$
            select
                format('%I.%I', n.nspname, c.relname) as table_name,
                pg_size_pretty(s.total) as total_size,
                s.total as total_bytes,
                pg_size_pretty(s.main) as row_data_size,
                pg_size_pretty(s.indexes) as index_size,
                pg_size_pretty(s.total - s.main - s.indexes) as toast_and_map_size,
                s.row_estimate
            from pg_catalog.pg_class as c
            inner join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
            cross join lateral (
                select
                    cast(sum(pg_total_relation_size(p.oid)) as bigint) as total,
                    cast(sum(pg_relation_size(p.oid)) as bigint) as main,
                    cast(sum(pg_indexes_size(p.oid)) as bigint) as indexes,
                    cast(sum(p.reltuples) filter (where p.reltuples >= 0) as bigint) as row_estimate
                from pg_catalog.pg_class as p
                where p.oid = c.oid or (c.relkind = 'p' and pg_partition_root(p.oid) = c.oid
                    and p.relkind = 'r')
            ) as s
            where
                c.relkind in ('r', 'p', 'm')
                and (c.relname = :table or format('%s.%s', n.nspname, c.relname) = :table)
            order by total_bytes desc
            $sql$
        )),
        '[{"name": "table", "type": "text", "required": true,
           "column": "pg_catalog.pg_stat_user_tables.relname", "example": "customer"}]'::jsonb,
        'A name alone finds the table in every schema; schema.name is understood too.',
        '["What is the size of the table {table}?", "How much disk space does {table} use?",
          "Size of {table} in megabytes"]'::jsonb
    ),
    (
        'Database size',
        'How big is this database?',
        jsonb_build_array(
            jsonb_build_object(
                'title', 'Size of this database', 'display', 'number', 'sql',
                $sql$
                select
                    pg_size_pretty(pg_database_size(d.oid)) as database_size,
                    pg_database_size(d.oid) as database_bytes
                from pg_catalog.pg_database as d
                where d.datname = current_database()
                $sql$
            ),
            jsonb_build_object(
                'title', 'All databases of the server', 'display', 'table', 'sql',
                $sql$
                select
                    d.datname as database_name,
                    pg_size_pretty(s.bytes) as database_size,
                    s.bytes as database_bytes,
                    pg_get_userbyid(d.datdba) as owner
                from pg_catalog.pg_database as d
                cross join lateral (
                    select
                        case
                            when has_database_privilege(d.oid, 'connect')
                                then pg_database_size(d.oid)
                        end as bytes
                ) as s
                order by database_bytes desc nulls last, database_name
                $sql$
            )
        ),
        '[]'::jsonb,
        'A database to which you may not connect is listed without its size.',
        '["What is the total size of the database?", "How large are all databases of the server?",
          "Disk space used by the whole database"]'::jsonb
    ),
    (
        'Row counts',
        'How many rows does each table have?',
        jsonb_build_array(jsonb_build_object(
            'title', 'Rows by table (estimates)', 'display', 'table', 'sql',
            $sql$
            select
                format('%I.%I', n.nspname, c.relname) as table_name,
                case when c.reltuples >= 0 then cast(c.reltuples as bigint) end as row_estimate,
                pg_stat_get_live_tuples(c.oid) as live_rows_counted
            from pg_catalog.pg_class as c
            inner join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
            where
                c.relkind in ('r', 'm')
                and n.nspname not in ('pg_catalog', 'information_schema')
                and n.nspname !~ '^pg_(toast|temp)'
            order by greatest(c.reltuples, pg_stat_get_live_tuples(c.oid)) desc, table_name
            $sql$
        )),
        '[]'::jsonb,
        'Estimates: of the last VACUUM or ANALYZE, and of the statistics collector since.',
        '["Estimated row count of all tables", "Number of records in every table",
          "Which table holds the most rows?"]'::jsonb
    ),

    -- indexes -------------------------------------------------------------------------------------

    (
        'Unused indexes',
        'Which indexes are never used?',
        jsonb_build_array(jsonb_build_object(
            'title', 'Unused indexes', 'display', 'table', 'sql',
            $sql$
            select
                format('%I.%I', n.nspname, r.relname) as index_name,
                format('%I.%I', tn.nspname, t.relname) as table_name,
                pg_size_pretty(u.bytes) as index_size,
                u.bytes as index_bytes,
                u.scans,
                pg_get_indexdef(r.oid) as definition
            from (
                select
                    coalesce(pg_partition_root(c.oid), c.oid) as root,
                    cast(sum(coalesce(pg_stat_get_numscans(c.oid), 0)) as bigint) as scans,
                    cast(sum(coalesce(pg_relation_size(c.oid), 0)) as bigint) as bytes
                from pg_catalog.pg_class as c
                where c.relkind = 'i'
                group by coalesce(pg_partition_root(c.oid), c.oid)
            ) as u
            inner join pg_catalog.pg_index as i on i.indexrelid = u.root
            inner join pg_catalog.pg_class as r on r.oid = u.root
            inner join pg_catalog.pg_namespace as n on n.oid = r.relnamespace
            inner join pg_catalog.pg_class as t on t.oid = i.indrelid
            inner join pg_catalog.pg_namespace as tn on tn.oid = t.relnamespace
            where
                u.scans = 0
                and not i.indisunique
                and not i.indisexclusion
                and not i.indisreplident
                and n.nspname not in ('pg_catalog', 'information_schema')
                and n.nspname !~ '^pg_(toast|temp)'
            order by index_bytes desc, index_name
            $sql$
        )),
        '[]'::jsonb,
        'Not one scan since the statistics were reset, on this server: look at the standbys too '
        'before dropping one. Indexes that guard a rule (unique, exclusion) are left out.',
        '["Show the unused indexes", "Indexes without any scans that could be dropped",
          "Which useless indexes can I remove?"]'::jsonb
    ),
    (
        'Duplicate indexes',
        'Which indexes are duplicates?',
        jsonb_build_array(jsonb_build_object(
            'title', 'Duplicate indexes', 'display', 'table', 'sql',
            $sql$
            with candidate as (
                select
                    t.relname as table_name,
                    tn.nspname as table_schema,
                    c.relname as index_name,
                    pg_relation_size(c.oid) as bytes,
                    row(
                        i.indrelid, c.relam, i.indnkeyatts, cast(i.indkey as text),
                        cast(i.indclass as text), cast(i.indcollation as text),
                        cast(i.indoption as text), coalesce(o.options, ''),
                        coalesce(pg_get_expr(i.indexprs, i.indrelid), ''),
                        coalesce(pg_get_expr(i.indpred, i.indrelid), '')
                    ) as shape,
                    row_number() over (
                        partition by
                            i.indrelid, c.relam, i.indnkeyatts, cast(i.indkey as text),
                            cast(i.indclass as text), cast(i.indcollation as text),
                            cast(i.indoption as text), coalesce(o.options, ''),
                            coalesce(pg_get_expr(i.indexprs, i.indrelid), ''),
                            coalesce(pg_get_expr(i.indpred, i.indrelid), '')
                        order by
                            i.indisprimary desc, k.is_constraint desc,
                            (i.indisunique and i.indnullsnotdistinct) desc, i.indisunique desc,
                            i.indexrelid
                    ) as place
                from pg_catalog.pg_index as i
                inner join pg_catalog.pg_class as c on c.oid = i.indexrelid
                inner join pg_catalog.pg_class as t on t.oid = i.indrelid
                inner join pg_catalog.pg_namespace as tn on tn.oid = t.relnamespace
                cross join lateral (
                    select count(*) > 0 as is_constraint
                    from pg_catalog.pg_constraint as con
                    where con.conindid = i.indexrelid and con.contype in ('p', 'u', 'x')
                ) as k
                cross join lateral (
                    select
                        string_agg(a.attname || cast(a.attoptions as text), ',' order by a.attnum)
                            as options
                    from pg_catalog.pg_attribute as a
                    where a.attrelid = i.indexrelid and a.attoptions is not null
                ) as o
                where
                    i.indisvalid
                    and not c.relispartition
                    and tn.nspname not in ('pg_catalog', 'information_schema')
                    and tn.nspname !~ '^pg_(toast|temp)'
            )
            select
                format('%I.%I', k.table_schema, k.table_name) as table_name,
                k.index_name as index_to_keep,
                string_agg(d.index_name, ', ' order by d.index_name) as redundant_indexes,
                pg_size_pretty(sum(d.bytes)) as redundant_size,
                cast(sum(d.bytes) as bigint) as redundant_bytes
            from candidate as k
            inner join candidate as d on d.shape = k.shape and d.place > 1
            where k.place = 1
            group by k.table_schema, k.table_name, k.index_name
            order by redundant_bytes desc, table_name, index_to_keep
            $sql$
        )),
        '[]'::jsonb,
        'Duplicate: same table, method, columns in order, operator classes, collations, sort '
        'options, expressions and predicate. The one that a constraint stands on is kept.',
        '["Show duplicate indexes", "Redundant indexes that cover the same columns",
          "Does a table have the same index twice?"]'::jsonb
    ),
    (
        'Tables that may miss an index',
        'Which {n} tables need an index?',
        jsonb_build_array(jsonb_build_object(
            'title', 'Tables read most by sequential scans', 'display', 'table', 'sql',
            $sql$
            select
                format('%I.%I', s.schemaname, s.relname) as table_name,
                s.seq_tup_read as rows_read_sequentially,
                s.seq_scan as sequential_scans,
                coalesce(s.idx_scan, 0) as index_scans,
                s.seq_tup_read / s.seq_scan as rows_per_sequential_scan,
                s.n_live_tup as live_rows,
                pg_size_pretty(pg_relation_size(s.relid)) as row_data_size
            from pg_catalog.pg_stat_user_tables as s
            where s.seq_scan > 0 and s.n_live_tup >= 1000
            order by rows_read_sequentially desc, table_name
            limit :n
            $sql$
        )),
        '[{"name": "n", "type": "integer", "required": false, "default": 10, "min": 1,
           "max": 1000, "example": 5}]'::jsonb,
        'Tables of 1,000 rows or more, since the statistics were reset. A large number of rows '
        'read by many sequential scans hints at a missing index.',
        '["Where is an index missing?", "Which tables are missing an index?",
          "Tables with the most sequential scans",
          "Which tables are read by full table scans?"]'::jsonb
    ),
    (
        'Foreign keys without an index',
        'Which foreign keys have no index?',
        jsonb_build_array(jsonb_build_object(
            'title', 'Foreign keys without an index', 'display', 'table', 'sql',
            $sql$
            select
                format('%I.%I', n.nspname, t.relname) as table_name,
                con.conname as foreign_key,
                k.column_names,
                format('%I.%I', fn.nspname, f.relname) as referenced_table,
                pg_size_pretty(pg_relation_size(t.oid)) as row_data_size,
                pg_relation_size(t.oid) as row_data_bytes
            from pg_catalog.pg_constraint as con
            inner join pg_catalog.pg_class as t on t.oid = con.conrelid
            inner join pg_catalog.pg_namespace as n on n.oid = t.relnamespace
            inner join pg_catalog.pg_class as f on f.oid = con.confrelid
            inner join pg_catalog.pg_namespace as fn on fn.oid = f.relnamespace
            cross join lateral (
                select
                    string_agg(quote_ident(a.attname), ', ' order by p.place) as column_names
                from unnest(con.conkey) with ordinality as p (attnum, place)
                inner join pg_catalog.pg_attribute as a
                    on a.attrelid = con.conrelid and a.attnum = p.attnum
            ) as k
            where
                con.contype = 'f'
                and con.conparentid = 0
                and n.nspname not in ('pg_catalog', 'information_schema')
                and not exists (
                    select
                    from pg_catalog.pg_index as i
                    inner join pg_catalog.pg_class as ic on ic.oid = i.indexrelid
                    inner join pg_catalog.pg_am as am on am.oid = ic.relam
                    cross join lateral (
                        select
                            array_agg(x.attnum) filter (where x.place <= cardinality(con.conkey))
                                as leading_columns
                        from unnest(cast(i.indkey as smallint[])) with ordinality
                            as x (attnum, place)
                        where x.place <= i.indnkeyatts
                    ) as lead
                    where
                        i.indrelid = con.conrelid
                        and i.indisvalid
                        and i.indpred is null
                        and (am.amname = 'btree'
                            or (am.amname = 'hash' and cardinality(con.conkey) = 1))
                        and lead.leading_columns @> con.conkey
                )
            order by row_data_bytes desc, table_name, foreign_key
            $sql$
        )),
        '[]'::jsonb,
        'An index serves when its first columns are those of the key, in any order, and it has no '
        'predicate. Without one, deleting a referenced row reads the whole table.',
        '["Show foreign keys that are not indexed",
          "Foreign key columns without a supporting index"]'::jsonb
    ),
    (
        'Indexes of a table',
        'Which indexes does the table {table} have?',
        jsonb_build_array(jsonb_build_object(
            'title', 'Indexes of the table', 'display', 'table', 'sql',
            $sql$
            select
                format('%I.%I', n.nspname, t.relname) as table_name,
                c.relname as index_name,
                pg_get_indexdef(c.oid) as definition,
                pg_size_pretty(pg_relation_size(c.oid)) as index_size,
                pg_relation_size(c.oid) as index_bytes,
                coalesce(pg_stat_get_numscans(c.oid), 0) as scans,
                i.indisprimary as is_primary_key,
                i.indisunique as is_unique,
                i.indisvalid as is_valid
            from pg_catalog.pg_index as i
            inner join pg_catalog.pg_class as c on c.oid = i.indexrelid
            inner join pg_catalog.pg_class as t on t.oid = i.indrelid
            inner join pg_catalog.pg_namespace as n on n.oid = t.relnamespace
            where t.relname = :table or format('%s.%s', n.nspname, t.relname) = :table
            order by index_bytes desc, table_name, index_name
            $sql$
        )),
        '[{"name": "table", "type": "text", "required": true,
           "column": "pg_catalog.pg_stat_user_tables.relname", "example": "customer"}]'::jsonb,
        'With their sizes and the scans since the statistics were reset.',
        '["Show the indexes of {table}", "Index sizes on the table {table}",
          "Which indexes are defined on {table}?"]'::jsonb
    ),

    -- structure -----------------------------------------------------------------------------------

    (
        'Tables of the database',
        'Which tables are there in this database?',
        jsonb_build_array(jsonb_build_object(
            'title', 'Tables', 'display', 'table', 'sql',
            $sql$
            select
                n.nspname as schema_name,
                c.relname as table_name,
                case c.relkind
                    when 'p' then 'partitioned table' when 'f' then 'foreign table' else 'table'
                end as kind,
                pg_get_userbyid(c.relowner) as owner,
                obj_description(c.oid, 'pg_class') as comment
            from pg_catalog.pg_class as c
            inner join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
            where
                c.relkind in ('r', 'p', 'f')
                and not c.relispartition
                and n.nspname not in ('pg_catalog', 'information_schema')
                and n.nspname !~ '^pg_(toast|temp)'
            order by schema_name, table_name
            $sql$
        )),
        '[]'::jsonb,
        'Tables of users, partitions left out.',
        '["List all tables", "Show me the tables in each schema", "What tables exist?"]'::jsonb
    ),
    (
        'Columns of a table',
        'Which columns does the table {table} have?',
        jsonb_build_array(jsonb_build_object(
            'title', 'Columns', 'display', 'table', 'sql',
            $sql$
            select
                format('%I.%I', n.nspname, c.relname) as table_name,
                a.attname as column_name,
                format_type(a.atttypid, a.atttypmod) as data_type,
                not a.attnotnull as allows_null,
                case
                    when a.attidentity <> '' then 'identity'
                    when a.attgenerated <> ''
                        then 'generated as ' || pg_get_expr(d.adbin, d.adrelid)
                    else pg_get_expr(d.adbin, d.adrelid)
                end as default_value,
                exists (
                    select
                    from pg_catalog.pg_constraint as p
                    where p.conrelid = c.oid and p.contype = 'p' and a.attnum = any(p.conkey)
                ) as in_primary_key,
                col_description(c.oid, a.attnum) as comment
            from pg_catalog.pg_attribute as a
            inner join pg_catalog.pg_class as c on c.oid = a.attrelid
            inner join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
            left join pg_catalog.pg_attrdef as d on d.adrelid = c.oid and d.adnum = a.attnum
            where
                c.relkind in ('r', 'p', 'v', 'm', 'f')
                and a.attnum > 0
                and not a.attisdropped
                and (c.relname = :table or format('%s.%s', n.nspname, c.relname) = :table)
            order by table_name, a.attnum
            $sql$
        )),
        '[{"name": "table", "type": "text", "required": true,
           "column": "pg_catalog.pg_stat_user_tables.relname", "example": "customer"}]'::jsonb,
        'A name alone finds the table in every schema; schema.name is understood too.',
        '["Describe {table}", "What are the columns and data types of {table}?",
          "Show the structure of the table {table}", "Fields of {table}"]'::jsonb
    ),
    (
        'Tables that reference a table',
        'Which tables reference the table {table}?',
        jsonb_build_array(jsonb_build_object(
            'title', 'References to the table', 'display', 'table', 'sql',
            $sql$
            select
                format('%I.%I', n.nspname, t.relname) as referencing_table,
                con.conname as foreign_key,
                pg_get_constraintdef(con.oid) as definition,
                format('%I.%I', fn.nspname, f.relname) as referenced_table
            from pg_catalog.pg_constraint as con
            inner join pg_catalog.pg_class as t on t.oid = con.conrelid
            inner join pg_catalog.pg_namespace as n on n.oid = t.relnamespace
            inner join pg_catalog.pg_class as f on f.oid = con.confrelid
            inner join pg_catalog.pg_namespace as fn on fn.oid = f.relnamespace
            where
                con.contype = 'f'
                and con.conparentid = 0
                and (f.relname = :table or format('%s.%s', fn.nspname, f.relname) = :table)
            order by referencing_table, foreign_key
            $sql$
        )),
        '[{"name": "table", "type": "text", "required": true,
           "column": "pg_catalog.pg_stat_user_tables.relname", "example": "customer"}]'::jsonb,
        'Foreign keys that point at the table.',
        '["What references {table}?", "Which tables point to {table} or depend on it?",
          "Which foreign keys refer to the table {table}?"]'::jsonb
    ),
    (
        'Tables without a primary key',
        'Which tables have no primary key?',
        jsonb_build_array(jsonb_build_object(
            'title', 'Tables without a primary key', 'display', 'table', 'sql',
            $sql$
            select
                format('%I.%I', n.nspname, c.relname) as table_name,
                pg_get_userbyid(c.relowner) as owner,
                case when c.reltuples >= 0 then cast(c.reltuples as bigint) end as row_estimate,
                pg_size_pretty(pg_relation_size(c.oid)) as row_data_size
            from pg_catalog.pg_class as c
            inner join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
            where
                c.relkind in ('r', 'p')
                and not c.relispartition
                and n.nspname not in ('pg_catalog', 'information_schema')
                and n.nspname !~ '^pg_(toast|temp)'
                and not exists (
                    select
                    from pg_catalog.pg_constraint as con
                    where con.conrelid = c.oid and con.contype = 'p'
                )
            order by table_name
            $sql$
        )),
        '[]'::jsonb,
        'Partitions are left out: their root answers for them.',
        '["Show tables without a primary key", "Tables lacking a primary key"]'::jsonb
    ),
    (
        'Views',
        'Which views are there?',
        jsonb_build_array(jsonb_build_object(
            'title', 'Views', 'display', 'table', 'sql',
            $sql$
            select
                format('%I.%I', n.nspname, c.relname) as view_name,
                case c.relkind when 'm' then 'materialized view' else 'view' end as kind,
                pg_get_userbyid(c.relowner) as owner,
                obj_description(c.oid, 'pg_class') as comment
            from pg_catalog.pg_class as c
            inner join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
            where
                c.relkind in ('v', 'm')
                and n.nspname not in ('pg_catalog', 'information_schema')
                and n.nspname !~ '^pg_(toast|temp)'
            order by view_name
            $sql$
        )),
        '[]'::jsonb,
        'Views and materialized views of users.',
        '["List all views", "Show the views and materialized views"]'::jsonb
    ),
    (
        'Functions of a schema',
        'Which functions are in the schema {schema}?',
        jsonb_build_array(jsonb_build_object(
            'title', 'Functions', 'display', 'table', 'sql',
            $sql$
            select
                p.proname as function_name,
                pg_get_function_arguments(p.oid) as arguments,
                pg_get_function_result(p.oid) as returns,
                case p.prokind
                    when 'p' then 'procedure' when 'a' then 'aggregate'
                    when 'w' then 'window function' else 'function'
                end as kind,
                l.lanname as language,
                obj_description(p.oid, 'pg_proc') as comment
            from pg_catalog.pg_proc as p
            inner join pg_catalog.pg_namespace as n on n.oid = p.pronamespace
            inner join pg_catalog.pg_language as l on l.oid = p.prolang
            where n.nspname = :schema
            order by function_name, arguments
            $sql$
        )),
        '[{"name": "schema", "type": "text", "required": true,
           "column": "pg_catalog.pg_namespace.nspname", "example": "pg_catalog"}]'::jsonb,
        'Functions, procedures and aggregates.',
        '["List the functions of the schema {schema}",
          "What procedures does the schema {schema} contain?",
          "Which functions does {schema} define?"]'::jsonb
    ),
    (
        'Sequences near their end',
        'Which {n} sequences are closest to running out of values?',
        jsonb_build_array(jsonb_build_object(
            'title', 'Sequences by share used', 'display', 'table', 'sql',
            $sql$
            select
                format('%I.%I', s.schemaname, s.sequencename) as sequence_name,
                round(
                    100 * (s.last_value - b.first_value) / nullif(b.end_value - b.first_value, 0), 2
                ) as percent_used,
                s.last_value,
                b.end_value,
                abs(b.end_value - s.last_value) as values_left,
                case
                    when a.attname is not null
                        then format('%s.%I', cast(d.refobjid as regclass), a.attname)
                end as owning_column,
                s.cycle as starts_again
            from pg_catalog.pg_sequences as s
            inner join pg_catalog.pg_namespace as n on n.nspname = s.schemaname
            inner join pg_catalog.pg_class as c
                on c.relnamespace = n.oid and c.relname = s.sequencename and c.relkind = 'S'
            left join pg_catalog.pg_depend as d
                on
                    d.classid = cast('pg_catalog.pg_class' as regclass)
                    and d.objid = c.oid
                    and d.refclassid = cast('pg_catalog.pg_class' as regclass)
                    and d.refobjsubid > 0
                    and d.deptype in ('a', 'i')
            left join pg_catalog.pg_attribute as a
                on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
            cross join lateral (
                select
                    case
                        when a.atttypid = cast('pg_catalog.int2' as regtype) then 32767
                        when a.atttypid = cast('pg_catalog.int4' as regtype) then 2147483647
                        else 9223372036854775807
                    end as largest
            ) as t
            cross join lateral (
                select
                    cast(case when s.increment_by > 0 then s.min_value else s.max_value end
                        as numeric) as first_value,
                    cast(case
                        when s.increment_by > 0 then least(s.max_value, t.largest)
                        else greatest(s.min_value, -t.largest - 1)
                    end as numeric) as end_value
            ) as b
            order by percent_used desc nulls last, sequence_name
            limit :n
            $sql$
        )),
        '[{"name": "n", "type": "integer", "required": false, "default": 10, "min": 1,
           "max": 1000, "example": 5}]'::jsonb,
        'The end is that of the sequence or of the column that it fills, whichever comes first. A '
        'sequence that was never used, or that you may not read, has no share.',
        '["Sequences near their maximum", "Which id columns will overflow soon?",
          "Are any sequences nearly exhausted?"]'::jsonb
    ),
    (
        'Installed extensions',
        'Which extensions are installed?',
        jsonb_build_array(jsonb_build_object(
            'title', 'Installed extensions', 'display', 'table', 'sql',
            $sql$
            select
                e.extname as extension_name,
                e.extversion as installed_version,
                v.default_version as available_version,
                e.extversion is distinct from v.default_version as update_available,
                n.nspname as schema_name,
                v.comment as description
            from pg_catalog.pg_extension as e
            inner join pg_catalog.pg_namespace as n on n.oid = e.extnamespace
            left join pg_catalog.pg_available_extensions as v on v.name = e.extname
            order by extension_name
            $sql$
        )),
        '[]'::jsonb,
        'With the version that the server has on disk.',
        '["List extensions and their versions",
          "What extensions or plugins does the database have?",
          "Which extensions can be updated?"]'::jsonb
    ),

    -- activity ------------------------------------------------------------------------------------

    (
        'Connections by state',
        'How many connections are there in each state?',
        jsonb_build_array(
            jsonb_build_object(
                'title', 'Connections by state', 'display', 'bar', 'sql',
                $sql$
                select
                    coalesce(a.state, 'not visible to you') as state,
                    count(*) as connections
                from pg_catalog.pg_stat_activity as a
                where
                    a.usesysid is not null
                    and a.datid is not null
                    and coalesce(a.backend_type, 'client backend') = 'client backend'
                group by a.state
                order by connections desc, state
                $sql$
            ),
            jsonb_build_object(
                'title', 'Share of the connection limit', 'display', 'table', 'sql',
                $sql$
                select
                    count(*) as connections,
                    cast(current_setting('max_connections') as integer) as max_connections,
                    round(100.0 * count(*) / cast(current_setting('max_connections') as integer), 1)
                        as percent_used
                from pg_catalog.pg_stat_activity as a
                where
                    a.usesysid is not null
                    and a.datid is not null
                    and coalesce(a.backend_type, 'client backend') = 'client backend'
                $sql$
            )
        ),
        '[]'::jsonb,
        'The state of other roles'' sessions needs membership of pg_read_all_stats.',
        '["How many connections are active or idle?",
          "Number of open connections and the connection limit",
          "How many sessions are open or idle?",
          "Are the connections near their limit?"]'::jsonb
    ),
    (
        'Who is connected',
        'Who is connected to the database right now?',
        jsonb_build_array(jsonb_build_object(
            'title', 'Sessions by user', 'display', 'table', 'sql',
            $sql$
            select
                a.usename as user_name,
                a.datname as database_name,
                nullif(a.application_name, '') as application,
                coalesce(host(a.client_addr), 'local or not visible') as client_address,
                count(*) as connections,
                date_trunc('second', min(a.backend_start)) as first_connected_at
            from pg_catalog.pg_stat_activity as a
            where
                a.usesysid is not null
                and a.datid is not null
                and coalesce(a.backend_type, 'client backend') = 'client backend'
            group by a.usename, a.datname, a.application_name, a.client_addr
            order by connections desc, user_name, database_name
            $sql$
        )),
        '[]'::jsonb,
        'Addresses and times of other roles'' sessions need membership of pg_read_all_stats.',
        '["Which users and applications are logged in?", "Show current sessions by user",
          "Who is using the database at the moment?"]'::jsonb
    ),
    (
        'Longest-running queries',
        'Which {n} queries have been running the longest?',
        jsonb_build_array(jsonb_build_object(
            'title', 'Running queries', 'display', 'table', 'sql',
            $sql$
            select
                a.pid as process_id,
                a.usename as user_name,
                a.datname as database_name,
                date_trunc('second', clock_timestamp() - a.query_start) as running_for,
                a.wait_event_type as waiting_for,
                left(a.query, 200) as query
            from pg_catalog.pg_stat_activity as a
            where
                a.state = 'active'
                and a.backend_type = 'client backend'
                and a.pid <> pg_backend_pid()
            order by a.query_start
            limit :n
            $sql$
        )),
        '[{"name": "n", "type": "integer", "required": false, "default": 10, "min": 1,
           "max": 1000, "example": 5}]'::jsonb,
        'Your own sessions; those of all roles for a member of pg_read_all_stats.',
        '["Show long-running queries", "What slow queries are running now?",
          "Which statements are running at the moment?"]'::jsonb
    ),
    (
        'Longest transactions',
        'Which {n} transactions have been open the longest?',
        jsonb_build_array(jsonb_build_object(
            'title', 'Open transactions', 'display', 'table', 'sql',
            $sql$
            select
                a.pid as process_id,
                a.usename as user_name,
                a.datname as database_name,
                a.state,
                date_trunc('second', clock_timestamp() - a.xact_start) as open_for,
                date_trunc('second', clock_timestamp() - a.state_change) as in_this_state_for,
                greatest(age(a.backend_xmin), age(a.backend_xid)) as transactions_held_back,
                left(a.query, 200) as last_query
            from pg_catalog.pg_stat_activity as a
            where
                a.xact_start is not null
                and a.backend_type = 'client backend'
                and a.pid <> pg_backend_pid()
            order by a.xact_start
            limit :n
            $sql$
        )),
        '[{"name": "n", "type": "integer", "required": false, "default": 10, "min": 1,
           "max": 1000, "example": 5}]'::jsonb,
        'Your own sessions; those of all roles for a member of pg_read_all_stats.',
        '["Oldest open transactions", "Which sessions are idle in transaction?",
          "Show long-running transactions"]'::jsonb
    ),
    (
        'Who blocks whom',
        'Who is blocking whom?',
        jsonb_build_array(jsonb_build_object(
            'title', 'Blocked sessions', 'display', 'table', 'sql',
            $sql$
            select
                w.pid as waiting_process,
                w.usename as waiting_user,
                date_trunc('second', clock_timestamp() - w.state_change) as waiting_for,
                left(w.query, 200) as waiting_query,
                b.pid as blocking_process,
                h.usename as blocking_user,
                h.state as blocking_state,
                left(h.query, 200) as blocking_query
            from pg_catalog.pg_stat_activity as w
            cross join lateral unnest(pg_blocking_pids(w.pid)) as b (pid)
            left join pg_catalog.pg_stat_activity as h on h.pid = b.pid
            where
                w.pid in (
                    select l.pid
                    from pg_catalog.pg_locks as l
                    where not l.granted
                )
            order by w.state_change, waiting_process, blocking_process
            $sql$
        )),
        '[]'::jsonb,
        'Blocking process 0 is a prepared transaction. Queries of other roles'' sessions need '
        'membership of pg_read_all_stats.',
        '["Show blocked queries and the sessions that block them", "What is waiting for a lock?",
          "Which session blocks my query?"]'::jsonb
    ),
    (
        'Replication state',
        'What is the state of replication?',
        jsonb_build_array(
            jsonb_build_object(
                'title', 'This server', 'display', 'table', 'sql',
                $sql$
                select
                    case current_setting('in_hot_standby')
                        when 'on' then 'standby' else 'primary'
                    end as role,
                    (select count(*) from pg_catalog.pg_stat_replication) as standbys_connected,
                    (select count(*) from pg_catalog.pg_replication_slots) as slots,
                    current_setting('wal_level') as wal_level,
                    nullif(current_setting('synchronous_standby_names'), '') as synchronous_standbys
                $sql$
            ),
            jsonb_build_object(
                'title', 'Connected standbys and subscribers', 'display', 'table', 'sql',
                $sql$
                select
                    r.application_name as standby,
                    host(r.client_addr) as client_address,
                    r.state,
                    r.sync_state,
                    pg_size_pretty(pg_wal_lsn_diff(r.sent_lsn, r.replay_lsn)) as lag_size,
                    r.replay_lag
                from pg_catalog.pg_stat_replication as r
                order by standby
                $sql$
            ),
            jsonb_build_object(
                'title', 'Replication slots', 'display', 'table', 'sql',
                $sql$
                select
                    s.slot_name,
                    s.slot_type,
                    s.database as database_name,
                    s.active as is_active,
                    s.wal_status,
                    pg_size_pretty(s.safe_wal_size) as size_until_lost
                from pg_catalog.pg_replication_slots as s
                order by s.slot_name
                $sql$
            )
        ),
        '[]'::jsonb,
        'Details of the standbys need membership of pg_read_all_stats.',
        '["How far behind are the replicas?", "Is the standby in sync, what is its lag?",
          "Show standbys and replication slots", "Is replication working?"]'::jsonb
    ),

    -- health --------------------------------------------------------------------------------------

    (
        'Cache hit ratio',
        'What is the cache hit ratio?',
        jsonb_build_array(
            jsonb_build_object(
                'title', 'Cache hit ratio of this database', 'display', 'number', 'sql',
                $sql$
                select
                    round(100.0 * d.blks_hit / nullif(d.blks_hit + d.blks_read, 0), 2)
                        as cache_hit_percent,
                    d.blks_hit as blocks_from_cache,
                    d.blks_read as blocks_read
                from pg_catalog.pg_stat_database as d
                where d.datname = current_database()
                $sql$
            ),
            jsonb_build_object(
                'title', 'Tables that read most past the cache', 'display', 'table', 'sql',
                $sql$
                select
                    format('%I.%I', t.schemaname, t.relname) as table_name,
                    b.missed as blocks_read,
                    round(100.0 * b.hit / (b.hit + b.missed), 2) as cache_hit_percent
                from pg_catalog.pg_statio_user_tables as t
                cross join lateral (
                    select
                        coalesce(t.heap_blks_hit, 0) + coalesce(t.idx_blks_hit, 0)
                        + coalesce(t.toast_blks_hit, 0) + coalesce(t.tidx_blks_hit, 0) as hit,
                        coalesce(t.heap_blks_read, 0) + coalesce(t.idx_blks_read, 0)
                        + coalesce(t.toast_blks_read, 0) + coalesce(t.tidx_blks_read, 0) as missed
                ) as b
                where b.missed > 0
                order by blocks_read desc, table_name
                limit 10
                $sql$
            )
        ),
        '[]'::jsonb,
        'Of shared_buffers, since the statistics were reset; the operating system caches too.',
        '["How often is data found in the buffer cache?",
          "Percentage of reads served from shared buffers",
          "Do reads come from memory or from disk?", "Is the cache working well?"]'::jsonb
    ),
    (
        'Tables that need vacuum',
        'Which tables need a vacuum or an analyze?',
        jsonb_build_array(jsonb_build_object(
            'title', 'Tables due for maintenance', 'display', 'table', 'sql',
            $sql$
            select
                format('%I.%I', n.nspname, c.relname) as table_name,
                concat_ws(
                    ', ',
                    case when s.dead > w.dead_limit then 'dead rows' end,
                    case when s.inserted > w.insert_limit then 'inserted rows' end,
                    case when s.changed > w.change_limit then 'outdated statistics' end,
                    case when s.freeze_age > w.freeze_limit then 'old transaction ids' end
                ) as due_because_of,
                s.dead as dead_rows,
                cast(w.dead_limit as bigint) as dead_rows_limit,
                s.inserted as rows_inserted_since_vacuum,
                s.changed as rows_changed_since_analyze,
                s.freeze_age as transaction_age,
                o.enabled as autovacuum_enabled,
                date_trunc('second', greatest(
                    pg_stat_get_last_vacuum_time(c.oid), pg_stat_get_last_autovacuum_time(c.oid)
                )) as last_vacuum_at
            from pg_catalog.pg_class as c
            inner join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
            cross join lateral (
                select
                    pg_stat_get_live_tuples(c.oid) as live,
                    pg_stat_get_dead_tuples(c.oid) as dead,
                    pg_stat_get_ins_since_vacuum(c.oid) as inserted,
                    pg_stat_get_mod_since_analyze(c.oid) as changed,
                    age(c.relfrozenxid) as freeze_age,
                    greatest(c.reltuples, 0) as estimate
            ) as s
            cross join lateral (
                select
                    cast(coalesce(max(x.option_value) filter (
                        where x.option_name = 'autovacuum_vacuum_threshold'
                    ), current_setting('autovacuum_vacuum_threshold')) as double precision)
                        as base,
                    cast(coalesce(max(x.option_value) filter (
                        where x.option_name = 'autovacuum_vacuum_scale_factor'
                    ), current_setting('autovacuum_vacuum_scale_factor')) as double precision)
                        as scale,
                    cast(coalesce(max(x.option_value) filter (
                        where x.option_name = 'autovacuum_vacuum_insert_threshold'
                    ), current_setting('autovacuum_vacuum_insert_threshold')) as double precision)
                        as insert_base,
                    cast(coalesce(max(x.option_value) filter (
                        where x.option_name = 'autovacuum_vacuum_insert_scale_factor'
                    ), current_setting('autovacuum_vacuum_insert_scale_factor'))
                        as double precision) as insert_scale,
                    cast(coalesce(max(x.option_value) filter (
                        where x.option_name = 'autovacuum_analyze_threshold'
                    ), current_setting('autovacuum_analyze_threshold')) as double precision)
                        as change_base,
                    cast(coalesce(max(x.option_value) filter (
                        where x.option_name = 'autovacuum_analyze_scale_factor'
                    ), current_setting('autovacuum_analyze_scale_factor')) as double precision)
                        as change_scale,
                    least(
                        cast(max(x.option_value) filter (
                            where x.option_name = 'autovacuum_freeze_max_age'
                        ) as bigint),
                        cast(current_setting('autovacuum_freeze_max_age') as bigint)
                    ) as freeze_limit,
                    cast(coalesce(max(x.option_value) filter (
                        where x.option_name = 'autovacuum_enabled'
                    ), 'true') as boolean)
                    and cast(current_setting('autovacuum') as boolean) as enabled
                from pg_options_to_table(c.reloptions) as x
            ) as o
            cross join lateral (
                select
                    o.base + o.scale * s.estimate as dead_limit,
                    case
                        when o.insert_base >= 0 then o.insert_base + o.insert_scale * s.estimate
                    end as insert_limit,
                    o.change_base + o.change_scale * s.estimate as change_limit,
                    o.freeze_limit
            ) as w
            where
                c.relkind in ('r', 'm')
                and n.nspname <> 'information_schema'
                and n.nspname !~ '^pg_(toast|temp)'
                and (
                    s.dead > w.dead_limit or s.inserted > w.insert_limit
                    or s.changed > w.change_limit or s.freeze_age > w.freeze_limit
                )
            order by dead_rows desc, table_name
            $sql$
        )),
        '[]'::jsonb,
        'By the limits of autovacuum, with the settings of each table.',
        '["Show tables that should be vacuumed", "Is autovacuum falling behind?",
          "Which tables need to be analyzed?", "What do I have to vacuum?"]'::jsonb
    ),
    (
        'Dead rows',
        'Which {n} tables have the most dead rows?',
        jsonb_build_array(jsonb_build_object(
            'title', 'Dead rows', 'display', 'bar', 'sql',
            $sql$
            select
                format('%I.%I', s.schemaname, s.relname) as table_name,
                s.n_dead_tup as dead_rows,
                s.n_live_tup as live_rows,
                round(100.0 * s.n_dead_tup / (s.n_live_tup + s.n_dead_tup), 1) as percent_dead
            from pg_catalog.pg_stat_user_tables as s
            where s.n_dead_tup > 0
            order by dead_rows desc, table_name
            limit :n
            $sql$
        )),
        '[{"name": "n", "type": "integer", "required": false, "default": 10, "min": 1,
           "max": 1000, "example": 5}]'::jsonb,
        'Counts of the statistics collector.',
        '["Most dead tuples by table", "Which tables are bloated?", "Top {n} bloated tables",
          "How much bloat do the tables have?"]'::jsonb
    ),
    (
        'Checkpoints and background writer',
        'What do checkpoints and the background writer do?',
        -- PostgreSQL 17 moved the checkpoint counters to a view of their own
        case
            when current_setting('server_version_num')::integer >= 170000 then
                jsonb_build_array(jsonb_build_object(
                    'title', 'Checkpoints and background writer', 'display', 'table', 'sql',
                    $sql$
                    select
                        c.num_timed as timed_checkpoints,
                        c.num_requested as requested_checkpoints,
                        c.buffers_written as buffers_written_by_checkpoints,
                        b.buffers_clean as buffers_written_by_background_writer,
                        b.maxwritten_clean as background_writer_stopped_early,
                        b.buffers_alloc as buffers_allocated,
                        date_trunc('second', c.stats_reset) as counted_since
                    from pg_catalog.pg_stat_checkpointer as c
                    cross join pg_catalog.pg_stat_bgwriter as b
                    $sql$
                ))
            else
                jsonb_build_array(jsonb_build_object(
                    'title', 'Checkpoints and background writer', 'display', 'table', 'sql',
                    $sql$
                    select
                        b.checkpoints_timed as timed_checkpoints,
                        b.checkpoints_req as requested_checkpoints,
                        b.buffers_checkpoint as buffers_written_by_checkpoints,
                        b.buffers_clean as buffers_written_by_background_writer,
                        b.maxwritten_clean as background_writer_stopped_early,
                        b.buffers_alloc as buffers_allocated,
                        date_trunc('second', b.stats_reset) as counted_since
                    from pg_catalog.pg_stat_bgwriter as b
                    $sql$
                ))
        end,
        '[]'::jsonb,
        'Many requested checkpoints beside few timed ones: max_wal_size is small for the load.',
        '["How often do checkpoints happen?", "Background writer and checkpoint statistics",
          "Are there too many checkpoints?"]'::jsonb
    ),

    -- server and roles ----------------------------------------------------------------------------

    (
        'Server version and uptime',
        'Which version of PostgreSQL is this and how long has it been running?',
        jsonb_build_array(jsonb_build_object(
            'title', 'Server', 'display', 'table', 'sql',
            $sql$
            select
                current_setting('server_version') as server_version,
                date_trunc('second', pg_postmaster_start_time()) as started_at,
                date_trunc('second', clock_timestamp() - pg_postmaster_start_time()) as uptime,
                current_database() as database_name,
                date_trunc('second', pg_conf_load_time()) as configuration_loaded_at
            $sql$
        )),
        '[]'::jsonb,
        null,
        '["What is the server version?", "When was the server started, what is its uptime?",
          "When was the database last restarted?", "Which version of Postgres do we run?"]'::jsonb
    ),
    (
        'Settings changed from their default',
        'Which settings were changed from their default?',
        jsonb_build_array(jsonb_build_object(
            'title', 'Changed settings', 'display', 'table', 'sql',
            $sql$
            select
                s.name as setting_name,
                current_setting(s.name) as value,
                concat_ws(' ', s.boot_val, 'x ' || s.unit) as built_in_default,
                s.source as set_by,
                s.pending_restart as waits_for_restart,
                s.short_desc as description
            from pg_catalog.pg_settings as s
            where
                s.source not in ('default', 'override', 'client', 'session')
                and s.setting is distinct from s.boot_val
            order by setting_name
            $sql$
        )),
        '[]'::jsonb,
        'Settings of the session itself are left out.',
        '["Show the configuration that is not default", "What configuration was customized?",
          "Which parameters of postgresql.conf were modified?"]'::jsonb
    ),
    (
        'Value of a setting',
        'What is the setting {setting} set to?',
        jsonb_build_array(jsonb_build_object(
            'title', 'Setting', 'display', 'table', 'sql',
            $sql$
            select
                s.name as setting_name,
                current_setting(s.name) as value,
                s.short_desc as description,
                concat_ws(' ', s.boot_val, 'x ' || s.unit) as built_in_default,
                s.context as can_be_changed_by,
                s.source as set_by,
                s.pending_restart as waits_for_restart
            from pg_catalog.pg_settings as s
            where position(lower(:setting) in s.name) > 0
            order by s.name <> lower(:setting), setting_name
            $sql$
        )),
        '[{"name": "setting", "type": "text", "required": true,
           "column": "pg_catalog.pg_settings.name", "example": "work_mem"}]'::jsonb,
        'Every setting whose name contains the word, the exact name first.',
        '["Value of {setting}", "Show the configuration parameter {setting}",
          "What does {setting} mean and how is it configured?"]'::jsonb
    ),
    (
        'Roles',
        'Which roles are there?',
        jsonb_build_array(jsonb_build_object(
            'title', 'Roles', 'display', 'table', 'sql',
            $sql$
            select
                r.rolname as role_name,
                r.rolcanlogin as can_log_in,
                r.rolsuper as is_superuser,
                r.rolcreaterole as can_create_roles,
                r.rolcreatedb as can_create_databases,
                r.rolreplication as can_replicate,
                r.rolbypassrls as bypasses_row_security,
                nullif(r.rolconnlimit, -1) as connection_limit,
                nullif(r.rolvaliduntil, 'infinity') as password_valid_until,
                m.groups as member_of
            from pg_catalog.pg_roles as r
            cross join lateral (
                select string_agg(distinct g.rolname, ', ') as groups
                from pg_catalog.pg_auth_members as a
                inner join pg_catalog.pg_roles as g on g.oid = a.roleid
                where a.member = r.oid
            ) as m
            where r.rolname !~ '^pg_'
            order by role_name
            $sql$
        )),
        '[]'::jsonb,
        'The predefined roles (pg_...) are left out.',
        '["List all users and roles", "Who is a superuser?",
          "Which users may create databases or roles?",
          "Show the database users and their attributes"]'::jsonb
    ),
    (
        'Privileges of a role',
        'Which privileges does the role {role} have on tables?',
        jsonb_build_array(
            jsonb_build_object(
                'title', 'Privileges on tables and views', 'display', 'table', 'sql',
                $sql$
                select
                    format('%I.%I', n.nspname, c.relname) as table_name,
                    pg_has_role(r.oid, c.relowner, 'usage') as is_owner,
                    p.can_select,
                    p.can_insert,
                    p.can_update,
                    p.can_delete,
                    p.can_truncate,
                    has_schema_privilege(r.oid, n.oid, 'usage') as can_use_schema
                from pg_catalog.pg_roles as r
                cross join pg_catalog.pg_class as c
                inner join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
                cross join lateral (
                    select
                        has_table_privilege(r.oid, c.oid, 'select') as can_select,
                        has_table_privilege(r.oid, c.oid, 'insert') as can_insert,
                        has_table_privilege(r.oid, c.oid, 'update') as can_update,
                        has_table_privilege(r.oid, c.oid, 'delete') as can_delete,
                        has_table_privilege(r.oid, c.oid, 'truncate') as can_truncate
                ) as p
                where
                    r.rolname = :role
                    and c.relkind in ('r', 'p', 'v', 'm', 'f')
                    and n.nspname not in ('pg_catalog', 'information_schema')
                    and n.nspname !~ '^pg_(toast|temp)'
                    and (p.can_select or p.can_insert or p.can_update or p.can_delete
                        or p.can_truncate)
                order by table_name
                $sql$
            ),
            jsonb_build_object(
                'title', 'Memberships', 'display', 'table', 'sql',
                $sql$
                with recursive membership (role_oid, distance) as (
                    select m.roleid, 1
                    from pg_catalog.pg_auth_members as m
                    inner join pg_catalog.pg_roles as r on r.oid = m.member
                    where r.rolname = :role
                    union
                    select m.roleid, s.distance + 1
                    from membership as s
                    inner join pg_catalog.pg_auth_members as m on m.member = s.role_oid
                )

                select
                    g.rolname as member_of,
                    min(s.distance) = 1 as is_direct
                from membership as s
                inner join pg_catalog.pg_roles as g on g.oid = s.role_oid
                group by g.rolname
                order by member_of
                $sql$
            )
        ),
        '[{"name": "role", "type": "text", "required": true,
           "column": "pg_catalog.pg_roles.rolname", "example": "postgres"}]'::jsonb,
        'What the role may really do, own grants, PUBLIC and memberships together; privileges on '
        'single columns are not shown.',
        '["What may the role {role} read and write?", "Which tables can {role} access?",
          "What is {role} allowed to do?", "Show the grants and permissions of {role}"]'::jsonb
    );
$builtin$;
comment on function pgask._builtin_questions() is
    'The built-in questions (status system) over the catalogs of PostgreSQL 15 to 17, one per row. '
    'phrasings holds further wordings of canonical_prompt, with the same {name} places.';
