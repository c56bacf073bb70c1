-- The stored things: who asks, how pgask is set up, the content index with its registry and queue,
-- and the saved questions. Keys are compared byte by byte: they are names, not words.

create table pgask.installation (
    only_one boolean primary key default true,
    version text not null,
    constraint installation_has_one_row check (installation.only_one)
);
comment on table pgask.installation is 'The version of pgask that this database holds: one row.';

create table pgask.setting (
    name text primary key,
    value text not null,
    updated_at timestamptz not null default now()
);
comment on table pgask.setting is
    'Owner-only settings: models, addresses, keys, paths, limits. A setting without a row has its '
    'default. Written by pgask.set_setting(). Holds keys: no role but the owner may read it.';

create table pgask.profile (
    id uuid primary key default gen_random_uuid(),
    name text not null,
    created_at timestamptz not null default now(),
    constraint profile_name_is_unique unique (name)
);
comment on table pgask.profile is 'The authors and owners of saved questions, one row per person.';
comment on column pgask.profile.name is 'The name of the database role.';

create table pgask.embedding_ingest_registry (
    source_schema text collate "C" not null,
    source_table text collate "C" not null,
    relation regclass,
    key_columns text[] not null,
    updated_at_column text,
    text_template text not null,
    template_columns text[] not null,
    chunking_policy text not null default 'none',
    filter_columns jsonb not null default '[]',
    is_active boolean not null default true,
    inactive_reason text,
    notes text,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint embedding_ingest_registry_pkey primary key (source_schema, source_table),
    constraint a_source_has_key_columns check (cardinality(key_columns) > 0),
    constraint a_template_reads_columns check (cardinality(template_columns) > 0),
    constraint filter_columns_is_a_list check (jsonb_typeof(filter_columns) = 'array')
);
create unique index a_relation_is_one_source
    on pgask.embedding_ingest_registry (relation) where relation is not null;
comment on table pgask.embedding_ingest_registry is
    'One row per source: a table whose rows are rendered to text, chunked and embedded.';
comment on column pgask.embedding_ingest_registry.relation is
    'The table itself; NULL for a source that lives elsewhere.';
comment on column pgask.embedding_ingest_registry.key_columns is
    'The columns that identify a row, in the order of the key. One column: its text is the '
    'source_id; several: the text of the jsonb array of their values.';
comment on column pgask.embedding_ingest_registry.updated_at_column is
    'The column that says when a row was last changed, if there is one.';
comment on column pgask.embedding_ingest_registry.text_template is
    'What is embedded: text with {{column}} places.';
comment on column pgask.embedding_ingest_registry.template_columns is
    'The columns that text_template names, each once, in order of appearance.';
comment on column pgask.embedding_ingest_registry.chunking_policy is
    'none (the whole text is one chunk) or fixed(size, overlap), in tokens of the embedding model.';
comment on column pgask.embedding_ingest_registry.filter_columns is
    'A jsonb list of the columns that are copied to embedding.filter_values.';
comment on column pgask.embedding_ingest_registry.is_active is
    'False: nothing new is embedded, what exists keeps answering.';
comment on column pgask.embedding_ingest_registry.inactive_reason is
    'Why pgask itself switched the source off, for example a dropped column.';

create table pgask.embedding (
    id bigint generated always as identity primary key,
    source_schema text collate "C" not null,
    source_table text collate "C" not null,
    source_id text collate "C" not null,
    chunk_index integer not null,
    chunk_text text not null,
    char_start integer not null,
    char_end integer not null,
    vector @vector@.vector(1024) not null,
    embedding_model text not null,
    chunking_used text not null,
    filter_values jsonb not null default '{}',
    created_at timestamptz not null default now(),
    constraint a_chunk_belongs_to_a_source foreign key (source_schema, source_table)
        references pgask.embedding_ingest_registry (source_schema, source_table)
        on update cascade,
    constraint a_chunk_is_stored_once
        unique (source_schema, source_table, source_id, chunk_index),
    constraint chunk_index_counts_from_zero check (chunk_index >= 0),
    constraint a_chunk_is_a_slice check (0 <= char_start and char_start < char_end)
);
create index embedding_vector_hnsw
    on pgask.embedding using hnsw (vector @vector@.vector_cosine_ops);
create index embedding_filter_values_gin
    on pgask.embedding using gin (filter_values jsonb_path_ops);
comment on table pgask.embedding is
    'One row per chunk: its text, its vector, and the values it can be filtered by.';
comment on column pgask.embedding.source_id is
    'The key of the source row as text (see embedding_ingest_registry.key_columns).';
comment on column pgask.embedding.chunk_index is 'The number of the chunk in its row, from 0.';
comment on column pgask.embedding.char_start is
    'Where chunk_text starts in the rendered text, in characters from 0.';
comment on column pgask.embedding.char_end is 'Where it ends, exclusive.';
comment on column pgask.embedding.vector is
    'Unit length; a model of fewer than 1024 dimensions is padded with zeros, which leaves the '
    'cosine as it is.';
comment on column pgask.embedding.embedding_model is
    'provider/model that made the vector. Vectors of two models are never compared.';
comment on column pgask.embedding.chunking_used is 'The chunking policy that cut this chunk.';
comment on column pgask.embedding.created_at is
    'When the row''s text was last embedded or found unchanged.';

create table pgask.embedding_job (
    id bigint generated always as identity (cache 100) primary key,
    source_schema text collate "C" not null,
    source_table text collate "C" not null,
    source_id text collate "C" not null,
    status text not null default 'pending',
    attempts integer not null default 0,
    generation bigint not null default 1,
    error text,
    requested_at timestamptz not null default now(),
    started_at timestamptz,
    finished_at timestamptz,
    run_after timestamptz not null default now(),
    lease_until timestamptz,
    worker text,
    constraint job_status_is_known check (status in ('pending', 'running', 'done', 'failed')),
    constraint a_running_job_has_a_lease
        check (status <> 'running' or (lease_until is not null and worker is not null))
);
create unique index one_open_job_per_source_row
    on pgask.embedding_job (source_schema, source_table, source_id) where status <> 'done';
create index embedding_job_lease
    on pgask.embedding_job (lease_until) where lease_until is not null;
alter table pgask.embedding_job set (
    autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 1000
);
comment on table pgask.embedding_job is
    'The queue: one row per source row that waits to be embedded, is being embedded, or failed. '
    'A finished job is removed, so that a fresh index means an empty queue. Its source is in the '
    'registry by the functions that write it: a foreign key, checked per row, would double what '
    'the trigger adds to an INSERT. So would a second index over all waiting jobs: the unique '
    'one, source first, is the one by which they are claimed.';
comment on column pgask.embedding_job.generation is
    'Raised by each new change of the row: a worker finishes only the generation it claimed.';
comment on column pgask.embedding_job.run_after is 'Not to be claimed before this (backoff).';
comment on column pgask.embedding_job.lease_until is
    'Until when the worker owns the job; past that another may claim it. Of a pending job: until '
    'when its provider asked to be left alone.';

create table pgask.nl_query (
    id uuid primary key default gen_random_uuid(),
    label text,
    canonical_prompt text not null,
    phrasings jsonb not null default '[]',
    query_vector @vector@.vector(1024),
    embedding_model text,
    derived_sqls jsonb not null default '[]',
    params jsonb not null default '[]',
    status text not null default 'draft',
    schema_fingerprint text,
    model_version text,
    scope_key text not null default 'global',
    created_by uuid references pgask.profile (id) on delete set null,
    owner_id uuid references pgask.profile (id) on delete set null,
    is_shared boolean not null default false,
    hit_count bigint not null default 0,
    last_used_at timestamptz,
    version integer not null default 1,
    notes text,
    retired_at timestamptz,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint question_status_is_known check (status in ('draft', 'approved', 'system')),
    constraint only_an_approved_question_is_retired
        check (retired_at is null or status = 'approved'),
    constraint a_built_in_question_has_no_owner
        check (status <> 'system' or (owner_id is null and created_by is null)),
    constraint a_prompt_is_not_blank check (canonical_prompt ~ '\S'),
    constraint derived_sqls_is_a_list check (jsonb_typeof(derived_sqls) = 'array'),
    constraint phrasings_is_a_list check (jsonb_typeof(phrasings) = 'array'),
    constraint params_is_a_list check (jsonb_typeof(params) = 'array'),
    constraint a_vector_has_a_model check ((query_vector is null) = (embedding_model is null))
);
create unique index a_label_is_unique_per_owner
    on pgask.nl_query (owner_id, label) where label is not null and retired_at is null;
create unique index a_built_in_label_is_unique on pgask.nl_query (label) where status = 'system';
create index nl_query_owner on pgask.nl_query (owner_id);
create index nl_query_author on pgask.nl_query (created_by);
create index nl_query_vector_hnsw
    on pgask.nl_query using hnsw (query_vector @vector@.vector_cosine_ops);
comment on table pgask.nl_query is
    'Saved questions: plain English, the read-only statements that answer it, the parameters, and '
    'the vector by which a typed question finds it.';
comment on column pgask.nl_query.canonical_prompt is
    'The question in plain English with {name} for each parameter.';
comment on column pgask.nl_query.phrasings is
    'Other ways to put the question, a jsonb list of texts with the same {name} places.';
comment on column pgask.nl_query.query_vector is
    'The mean of the vectors of canonical_prompt and phrasings, each with "a given <name>" in its '
    'places; of unit length. Under embedding_model.';
comment on column pgask.nl_query.derived_sqls is
    'The statements in order: [{"sql", "canonical", "arguments", "types", "columns", "display", '
    '"title", "fingerprint", "traits"}]. sql is as written, with :name places; canonical is what '
    'PostgreSQL understood, with $n, every name qualified: that text is run, with arguments bound '
    'in order.';
comment on column pgask.nl_query.params is
    'The parameters: [{"name", "type", "required", "default", "min", "max", "values", "column", '
    '"example"}].';
comment on column pgask.nl_query.status is
    'draft (its owner''s), approved (by an administrator, for everyone), system (built in).';
comment on column pgask.nl_query.schema_fingerprint is
    'Fingerprint of the tables, columns, functions and operators that the statements depend on; '
    'of a built-in question the major version of PostgreSQL, whose own catalogs it reads.';
comment on column pgask.nl_query.scope_key is
    'The kind of screen on which the question is offered; global: everywhere. Grants nothing.';
comment on column pgask.nl_query.version is 'Raised by each edit (optimistic concurrency).';
comment on column pgask.nl_query.retired_at is
    'Set: the question is withdrawn from asking and matching, and kept.';
