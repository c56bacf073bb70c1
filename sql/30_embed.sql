-- 30_embed.sql: texts -> their vectors under the model in force, for whoever asks

create or replace function pgask._embed_query(query text) returns @vector@.vector
language plpython3u stable security definer
set search_path = pg_catalog, pg_temp
as $python$
    if "pgask" not in GD:
        plpy.execute("select pgask._boot()")
    return GD["pgask"].embed_query(query)
$python$;
comment on function pgask._embed_query(text) is
    'The vector(1024) of a query under the current model, from the session''s cache where it is '
    'recent. Runs as the owner, so that an asker can use a model without seeing its key. PA201 to '
    'PA203 from the model.';


create or replace function pgask._read_query(
    query text, out query_vector @vector@.vector, out embedding_model text
)
language plpython3u stable security definer
set search_path = pg_catalog, pg_temp
as $python$
    if "pgask" not in GD:
        plpy.execute("select pgask._boot()")
    return GD["pgask"].read_query(query)
$python$;
comment on function pgask._read_query(text) is
    'The vector of a query, as _embed_query(), and the model that it is of: read at one moment.';


create or replace function pgask._embed_texts(texts text[]) returns text[]
language plpython3u stable security definer
set search_path = pg_catalog, pg_temp
as $python$
    if "pgask" not in GD:
        plpy.execute("select pgask._boot()")
    return GD["pgask"].embed_texts(texts)
$python$;
comment on function pgask._embed_texts(text[]) is
    'The vectors of several texts, each as the text of a vector(1024). Runs as the owner, as '
    '_embed_query() does.';


create or replace function pgask._doctor_model()
returns table ("check" text, status text, detail text, hint text)
language plpython3u security definer
set search_path = pg_catalog, pg_temp
as $python$
    if "pgask" not in GD:
        plpy.execute("select pgask._boot()")
    return GD["pgask"].doctor_model()
$python$;
comment on function pgask._doctor_model() is
    'doctor(): whether the embedding model answers, and what its administrator should know.';
