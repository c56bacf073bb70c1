-- 70_answer.sql: a typed question -> an answer, as jsonb for programs and as Markdown for people

create or replace function pgask._record_use(question_id uuid) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $function$
begin
    if pg_is_in_recovery() or current_setting('transaction_read_only') = 'on' then
        return;
    end if;
    -- Who finds the row locked is not kept waiting: a use count need not be exact.
    update pgask.nl_query q
    set hit_count = q.hit_count + 1, last_used_at = now()
    where q.id = (
        select l.id from pgask.nl_query l where l.id = _record_use.question_id
        for update skip locked
    );
end
$function$;
comment on function pgask._record_use(uuid) is
    'Counts a use of a saved question; nothing on a standby or in a read-only transaction.';


create or replace function pgask.answer(
    question text, params jsonb default '{}', scope_key text default 'global'
) returns jsonb
language plpython3u
set search_path = pg_catalog, pg_temp
as $python$
    if "pgask" not in GD:
        plpy.execute("select pgask._boot()")
    return GD["pgask"].answer(question, params, scope_key)
$python$;
comment on function pgask.answer(text, jsonb, text) is
    'Answers a question in plain English, as jsonb.
question: as a person types it. params: {name: value}, for what the words do not say.
scope_key: the kind of screen that asks (default global).
It finds the saved question that is meant, binds its parameters from the words, runs its statements
read-only with the caller''s rights, and says the result in words; else it gives the nearest saved
questions and passages.
Keys: source (saved|generated|evidence|none), outcome (answered|missing_parameter|several_match|
no_match), trusted, narrative, question_id, canonical_prompt, label, status, similarity, params,
missing, choices, tables, sql (what ran, with :name places), evidence, warnings.
A model that does not answer is told in the narrative, and is no error.
Errors: PA412 a value in params, PA403 and PA404 a statement too costly or too slow, 42501 and
others as the statement itself raises them.';


create or replace function pgask._render_answer(answer jsonb) returns text
language plpython3u immutable
set search_path = pg_catalog, pg_temp
as $python$
    if "pgask" not in GD:
        plpy.execute("select pgask._boot()")
    return GD["pgask"].render_answer(answer)
$python$;
comment on function pgask._render_answer(jsonb) is
    'An answer as Markdown: the narrative, each result as an aligned table and, where its display '
    'hint asks for one, a chart, and a line that says where it comes from.';


create or replace function public.ask(
    question text, params jsonb default '{}', scope_key text default 'global'
) returns text
language plpython3u
set search_path = pg_catalog, pg_temp
as $python$
    if "pgask" not in GD:
        plpy.execute("select pgask._boot()")
    return GD["pgask"].ask(question, params, scope_key)
$python$;
comment on function public.ask(text, jsonb, text) is
    'Answers a question in plain English, as Markdown that a person reads in any SQL client:
select ask(''which tables take the most space?'').
params: {name: value}, for what the words do not say: ask(''sales in a year'', ''{"year": 2025}'').
scope_key: the kind of screen that asks (default global). See pgask.answer() for the same as jsonb
and for the errors.';
