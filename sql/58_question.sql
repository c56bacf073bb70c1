-- 58_question.sql: a question in plain English with its statements -> a row of nl_query

create or replace function pgask._is_admin() returns boolean
language sql stable
begin atomic
    select pg_catalog.pg_has_role(pgask._caller(), 'pgask_admin', 'member');
end;
comment on function pgask._is_admin() is
    'Whether the caller is a member of pgask_admin; a superuser is.';


create or replace function pgask._my_profile() returns uuid
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $function$
    select p.id from pgask.profile p where p.name = pgask._caller()
$function$;
comment on function pgask._my_profile() is 'The caller''s profile; NULL before the first save.';

create or replace function pgask._profile_of(role_name name) returns uuid
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $function$
    select p.id from pgask.profile p where p.name = _profile_of.role_name
$function$;
comment on function pgask._profile_of(name) is 'The profile of a role; NULL where it has none.';

alter table pgask.nl_query enable row level security;
drop policy if exists a_question_is_seen_by_those_it_is_for on pgask.nl_query;
create policy a_question_is_seen_by_those_it_is_for on pgask.nl_query for select using (
    (status in ('approved', 'system') and retired_at is null)
    or is_shared
    -- current_user, not the caller: inside somebody's SECURITY DEFINER function it is his rights
    -- that count.
    or owner_id = (select pgask._profile_of(current_user))
    or (select pg_has_role(current_user, 'pgask_admin', 'member'))
);
comment on policy a_question_is_seen_by_those_it_is_for on pgask.nl_query is
    'Approved and built-in questions are everyone''s, a draft is its owner''s and, when shared, '
    'readable by all; administrators see every row. Writing goes through the functions.';


create or replace function pgask._store_question(
    label text,
    canonical_prompt text,
    phrasings jsonb,
    query_vector text,
    embedding_model text,
    derived_sqls jsonb,
    params jsonb,
    schema_fingerprint text,
    scope_key text,
    is_shared boolean,
    notes text
) returns uuid
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $function$
declare
    _profile uuid;
    _id uuid;
begin
    insert into pgask.profile as p (name) values (pgask._caller())
    on conflict (name) do nothing;
    select p.id into _profile from pgask.profile p where p.name = pgask._caller();
    insert into pgask.nl_query (
        label, canonical_prompt, phrasings, query_vector, embedding_model, derived_sqls, params,
        schema_fingerprint, scope_key, created_by, owner_id, is_shared, notes
    ) values (
        nullif(btrim(_store_question.label), ''), _store_question.canonical_prompt,
        _store_question.phrasings,
        _store_question.query_vector::@vector@.vector, _store_question.embedding_model,
        _store_question.derived_sqls, _store_question.params,
        _store_question.schema_fingerprint, _store_question.scope_key, _profile, _profile,
        _store_question.is_shared, _store_question.notes
    ) returning nl_query.id into _id;
    return _id;
exception when unique_violation then
    raise exception 'you have a question labelled "%" already', _store_question.label
        using errcode = 'PA411', hint = 'Choose another label, or delete that question first.';
end
$function$;
comment on function pgask._store_question(
    text, text, jsonb, text, text, jsonb, jsonb, text, text, boolean, text
) is
    'Inserts a draft, owned by the caller. For _store_draft() alone: what is approved later is run '
    'as it stands here.';


create or replace function pgask._store_draft(ticket text) returns uuid
language plpython3u security definer
set search_path = pg_catalog, pg_temp
as $python$
    if "pgask" not in GD:
        plpy.execute("select pgask._boot()")
    return GD["pgask"].store_draft(ticket)
$python$;
comment on function pgask._store_draft(text) is
    'Stores the draft that save_question() has just checked in this session and keeps under the '
    'ticket, which is random and used once: so nobody can store what was not checked. PA411.';


create or replace function pgask._store_builtin_question(
    label text,
    canonical_prompt text,
    phrasings jsonb,
    query_vector text,
    embedding_model text,
    derived_sqls jsonb,
    params jsonb,
    schema_fingerprint text,
    notes text
) returns void
language sql
set search_path = pg_catalog, pg_temp
as $function$
    insert into pgask.nl_query as q (
        label, canonical_prompt, phrasings, query_vector, embedding_model, derived_sqls, params,
        schema_fingerprint, notes, status
    ) values (
        _store_builtin_question.label, _store_builtin_question.canonical_prompt,
        _store_builtin_question.phrasings,
        _store_builtin_question.query_vector::@vector@.vector,
        _store_builtin_question.embedding_model,
        _store_builtin_question.derived_sqls, _store_builtin_question.params,
        _store_builtin_question.schema_fingerprint, _store_builtin_question.notes, 'system'
    )
    on conflict (label) where status = 'system' do update
    set canonical_prompt = excluded.canonical_prompt, phrasings = excluded.phrasings,
        query_vector = excluded.query_vector,
        embedding_model = excluded.embedding_model, derived_sqls = excluded.derived_sqls,
        params = excluded.params, schema_fingerprint = excluded.schema_fingerprint,
        notes = excluded.notes, version = q.version + 1, updated_at = now()
    where (q.canonical_prompt, q.phrasings, q.embedding_model, q.derived_sqls, q.params,
        q.schema_fingerprint, q.notes)
        is distinct from (
            excluded.canonical_prompt, excluded.phrasings, excluded.embedding_model,
            excluded.derived_sqls, excluded.params, excluded.schema_fingerprint, excluded.notes
        )
$function$;
comment on function pgask._store_builtin_question(
    text, text, jsonb, text, text, jsonb, jsonb, text, text
) is
    'Inserts a built-in question, or updates it where anything about it changed.';


create or replace function pgask._store_question_vector(
    question_id uuid, query_vector text, embedding_model text
) returns void
language sql security definer
set search_path = pg_catalog, pg_temp
as $function$
    update pgask.nl_query q
    set query_vector = _store_question_vector.query_vector::@vector@.vector,
        embedding_model = _store_question_vector.embedding_model
    where q.id = _store_question_vector.question_id
$function$;
comment on function pgask._store_question_vector(uuid, text, text) is
    'Replaces a question''s vector after a change of the model.';


create or replace function pgask._superseded_questions(embedding_model text)
returns table (id uuid, canonical_prompt text, phrasings jsonb, params jsonb)
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $function$
    select q.id, q.canonical_prompt, q.phrasings, q.params from pgask.nl_query q
    where q.embedding_model is distinct from _superseded_questions.embedding_model
    order by q.id
    limit 1000
$function$;
comment on function pgask._superseded_questions(text) is
    'Questions whose vector is of another model than this one, or missing; at most 1000 at once.';


create or replace function pgask.save_question(
    canonical_prompt text,
    sqls jsonb default '[]',
    params jsonb default '[]',
    label text default null,
    scope_key text default 'global',
    display text default null,
    notes text default null,
    is_shared boolean default false,
    phrasings text[] default '{}'
) returns uuid
language plpython3u
as $python$
    if "pgask" not in GD:
        plpy.execute("select pgask._boot()")
    return GD["pgask"].save_question(
        canonical_prompt, sqls, params, label, scope_key, display, notes, is_shared, phrasings)
$python$;
comment on function pgask.save_question(
    text, jsonb, jsonb, text, text, text, text, boolean, text[]
) is
    'Saves a question as a draft of the caller and returns its id.
canonical_prompt: plain English with {name} for each parameter: ''Top {n} customers in {year}''.
sqls: [{"sql": "select ... where year = :year", "display": "table|bar|line|pie|number", "title":
"..."}] or plain strings; none for a question that the content answers in words. Each is one
read-only statement; :name stands for a parameter; names resolve by the caller''s search_path now.
params: [{"name", "type": "integer|number|text|boolean|date|timestamp", "required" (default true
without a default), "default", "min", "max", "values": [...], "column": "schema.table.column",
"example", "pattern"}]; a column makes a value of that column, also a misspelt one, bind from the
words; a pattern is a regular expression of PostgreSQL for the whole text, without back-references; a
timestamp has no offset.
label: a short name, unique among the caller''s. scope_key: the kind of screen (default global).
display: for the statements that name none (default table). is_shared: others may run it.
phrasings: other ways to put the question, with the same {name} places; they help to find it.
Errors: PA411 the question or its parameters, PA401 a statement that is not allowed, PA402 one that
does not analyse, 42501 one that reads what the caller may not.';


create or replace function pgask.approve_question(question_id uuid, note text default null)
returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $function$
begin
    if not pgask._is_admin() then
        raise exception 'only a member of pgask_admin may approve a question'
            using errcode = 'PA416';
    end if;
    update pgask.nl_query q
    set status = 'approved', version = q.version + 1, updated_at = now(),
        notes = concat_ws(e'\n', q.notes, format('Approved by %s on %s%s', pgask._caller(),
            to_char(now() at time zone 'UTC', 'YYYY-MM-DD HH24:MI UTC'),
            ': ' || approve_question.note))
    where q.id = approve_question.question_id and q.status = 'draft';
    if not found then
        raise exception 'there is no draft %', approve_question.question_id
            using errcode = 'PA414';
    end if;
end
$function$;
comment on function pgask.approve_question(uuid, text) is
    'Makes a draft an approved question, which everyone may use and whose answers count as trusted.
note: appended to its notes with who and when. Errors: PA416 unless the caller is a member of
pgask_admin, PA414 no such draft.';


create or replace function pgask.delete_question(question_id uuid) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $function$
declare
    _question record;
begin
    select q.status, q.owner_id into _question from pgask.nl_query q
    where q.id = delete_question.question_id
    for update;
    if not found then
        raise exception 'there is no question %', delete_question.question_id
            using errcode = 'PA414';
    end if;
    if _question.status = 'system' then
        raise exception 'a built-in question cannot be deleted' using errcode = 'PA416';
    end if;
    if not pgask._is_admin() and (
        _question.status = 'approved' or _question.owner_id is distinct from pgask._my_profile()
    ) then
        raise exception 'only its owner may delete a draft, and an administrator any question'
            using errcode = 'PA416';
    end if;
    delete from pgask.nl_query q where q.id = delete_question.question_id;
end
$function$;
comment on function pgask.delete_question(uuid) is
    'Deletes a draft (its owner or an administrator) or an approved question (an administrator).
Errors: PA414 no such question, PA416 not permitted; a built-in question is never deleted.';
