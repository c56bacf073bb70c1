-- Takes the stored things away again, and nothing of the application's: its tables lose their
-- triggers when the functions of this schema go.

drop table pgask.nl_query, pgask.embedding_job, pgask.embedding, pgask.embedding_ingest_registry,
    pgask.profile, pgask.setting, pgask.installation cascade;
