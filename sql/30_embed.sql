-- 30_embed.sql: texts -> their vectors under the model in force, for whoever asks

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
