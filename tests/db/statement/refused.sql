-- PA401 several statements
select 1; select 2
-- PA401 several statements, the second one hidden by a comment
select 1 /* */ ; /* ; */ drop table shop.customer
-- PA401 leaving the parentheses
select 1) q; drop table shop.customer; select * from (select 2
-- PA401 leaving the function body
select 1; end; drop table shop.customer
-- PA402 an unfinished comment
select 1 /* ; drop table shop.customer
-- PA401 a nested comment that ends earlier than it seems
select 1 /* /* */ */ ; drop table shop.customer
-- PA401 a comment that other parsers end later
select 1 --
; drop table shop.customer
-- PA402 a dollar quote whose end is another tag
select $a$ $b$; drop table shop.customer; $b$
-- PA401 a dollar quote that ends earlier than it seems
select $a$ $a$; drop table shop.customer; select $b$ $b$
-- PA401 an E string in which a backslash ends nothing
select E'\\'; drop table shop.customer; --'
-- PA401 a plain string in which a backslash is a backslash
select '\'; drop table shop.customer; --'
-- PA401 a Unicode string
select U&'\0027'; drop table shop.customer; --'
-- PA401 a Unicode escape character of one's own
select U&'!' uescape '!'; drop table shop.customer
-- PA402 nothing
  ; -- nothing
-- PA402 a parameter by number
select $1
-- PA402 an undeclared parameter
select :who
-- PA401 INSERT
insert into shop.customer values (9, 'Eve', 'XX', 0) returning *
-- PA401 UPDATE
update shop.customer set name = 'Eve' returning *
-- PA401 DELETE
delete from shop.customer returning *
-- PA401 MERGE
merge into shop.customer c using (select 1 as id) s on c.id = s.id when matched then delete
-- PA402 a data-modifying CTE
with gone as (delete from shop.customer returning *) select * from gone
-- PA402 a data-modifying CTE, deeper
select * from (with gone as (update shop.customer set name = '' returning *) select * from gone) g
-- PA402 SELECT INTO
select * into shop.copied from shop.customer
-- PA401 CREATE TABLE AS
create table shop.copied as select * from shop.customer
-- PA401 DDL
drop table shop.customer
-- PA401 ALTER
alter role reader_of_tests superuser
-- PA401 GRANT
grant all on shop.customer to public
-- PA401 TRUNCATE
truncate shop.customer
-- PA401 COPY to a program
copy (select 1) to program 'touch /tmp/pgask_was_here'
-- PA401 COPY from a program
copy shop.customer from program 'echo 9'
-- PA401 COPY to a file
copy shop.customer to '/tmp/pgask_was_here'
-- PA401 DO
do $$ begin delete from shop.customer; end $$
-- PA401 CALL
call shop.empty_it()
-- PA401 SET
set search_path = evil
-- PA401 SET ROLE
set role postgres
-- PA401 RESET ROLE
reset role
-- PA401 SET SESSION AUTHORIZATION
set session authorization default
-- PA401 SHOW
show search_path
-- PA401 LISTEN
listen channel
-- PA401 NOTIFY
notify channel
-- PA401 UNLISTEN
unlisten *
-- PA401 LOCK
lock table shop.customer
-- PA401 FOR UPDATE
select * from shop.customer for update
-- PA401 FOR SHARE in a subquery
select * from (select id from shop.customer for share) c
-- PA401 FOR NO KEY UPDATE in a CTE
with c as (select id from shop.customer for no key update) select * from c
-- PA401 VACUUM
vacuum shop.customer
-- PA401 EXPLAIN ANALYZE of a write
explain analyze delete from shop.customer
-- PA401 EXPLAIN
explain select 1
-- PA401 PREPARE
prepare p as select 1
-- PA401 EXECUTE
execute p
-- PA401 DECLARE
declare c cursor for select 1
-- PA401 BEGIN
begin
-- PA401 COMMIT
commit
-- PA401 CHECKPOINT
checkpoint
-- PA401 LOAD
load 'plpgsql'
-- PA401 REFRESH
refresh materialized view shop.v
-- PA401 IMPORT
import foreign schema x from server y into z
-- PA401 RETURN, which only a function's body knows
return 1
-- PA401 pg_sleep
select pg_sleep(10)
-- PA401 pg_sleep_for
select pg_sleep_for('10 s')
-- PA401 pg_sleep_until
select pg_sleep_until('tomorrow')
-- PA401 set_config
select set_config('role', 'none', true)
-- PA401 set_config behind a CTE
with s as materialized (select set_config('role', 'none', true)) select * from s
-- PA401 pg_terminate_backend
select pg_terminate_backend(pid) from pg_stat_activity
-- PA401 pg_cancel_backend
select pg_cancel_backend(pg_backend_pid())
-- PA401 pg_read_file
select pg_read_file('/etc/passwd')
-- PA401 pg_read_binary_file
select pg_read_binary_file('/etc/passwd')
-- PA401 pg_ls_dir
select * from pg_ls_dir('/')
-- PA401 pg_stat_file
select * from pg_stat_file('/etc/passwd')
-- PA401 lo_import
select lo_import('/etc/passwd')
-- PA401 lo_export
select lo_export(1, '/tmp/pgask_was_here')
-- PA401 lo_put
select lo_put(1, 0, 'x')
-- PA401 lo_create
select lo_create(424242)
-- PA401 lo_from_bytea
select lo_from_bytea(424242, 'x')
-- PA401 nextval
select nextval('shop.counter')
-- PA401 setval
select setval('shop.counter', 99)
-- PA401 currval
select currval('shop.counter')
-- PA401 lastval
select lastval()
-- PA401 pg_advisory_lock
select pg_advisory_lock(1)
-- PA401 pg_try_advisory_lock in a condition
select 1 where pg_try_advisory_lock(1)
-- PA401 pg_advisory_xact_lock in an order
select 1 order by pg_advisory_xact_lock(1) is null
-- PA401 pg_advisory_unlock_all
select pg_advisory_unlock_all()
-- PA401 pg_notify
select pg_notify('channel', 'x')
-- PA401 pg_logical_emit_message
select pg_logical_emit_message(false, 'a', 'b')
-- PA401 pg_switch_wal
select pg_switch_wal()
-- PA401 pg_create_restore_point
select pg_create_restore_point('x')
-- PA401 query_to_xml
select query_to_xml('delete from shop.customer', true, true, '')
-- PA401 query_to_xmlschema
select query_to_xmlschema('select 1', true, true, '')
-- PA401 query_to_xml_and_xmlschema
select query_to_xml_and_xmlschema('select 1', true, true, '')
-- PA401 table_to_xml
select table_to_xml('shop.customer', true, true, '')
-- PA401 schema_to_xml
select schema_to_xml('shop', true, true, '')
-- PA401 database_to_xml
select database_to_xml(true, true, '')
-- PA401 cursor_to_xml
select cursor_to_xml('c', 1, true, true, '')
-- PA401 ts_stat
select * from ts_stat('select to_tsvector(name) from shop.customer')
-- PA401 ts_rewrite with a query text
select ts_rewrite('a'::tsquery, 'select ''a''::tsquery, ''b''::tsquery')
-- PA401 txid_current
select txid_current()
-- PA401 pg_current_xact_id
select pg_current_xact_id()
-- PA401 pg_export_snapshot
select pg_export_snapshot()
-- PA401 pg_stat_reset
select pg_stat_reset()
-- PA401 pg_stat_reset_shared
select pg_stat_reset_shared('bgwriter')
-- PA401 pg_reload_conf
select pg_reload_conf()
-- PA401 pg_rotate_logfile
select pg_rotate_logfile()
-- PA401 pg_promote
select pg_promote()
-- PA401 setseed
select setseed(0.5)
-- PA401 a volatile user function
select shop.write_one()
-- PA401 a SECURITY DEFINER user function
select shop.see_all()
-- PA401 a function that hides in a column reference
select c.peek from shop.customer c
-- PA401 a volatile function behind a view
select * from shop.v
-- PA401 a volatile function behind a view of a view
select * from shop.vv
-- PA401 a volatile function behind an operator
select 1 operator(shop.=!) 2
-- PA402 an operator that orders nothing
select name from shop.customer order by id using operator(shop.<!)
-- PA401 a volatile function behind a cast
select c.mood::shop.colour from shop.moody c
-- PA401 a volatile function behind an implicit cast
select shop.takes_colour(c.mood) from shop.moody c
-- PA401 a volatile function behind an aggregate
select shop.collect(id) from shop.customer
-- PA401 a volatile function behind an aggregate's window
select shop.collect(id) over () from shop.customer
-- PA401 a volatile function behind the check of a domain
select 'x'::shop.checked
-- PA401 a volatile function behind the check of a domain inside a composite literal
select '(x)'::shop.holder
-- PA401 a volatile function behind a domain of a column list
select * from json_to_record('{"a": "x"}') as r (a shop.checked)
-- PA401 a volatile function in FROM
select * from shop.write_rows()
-- PA401 a volatile function in LIMIT
select 1 limit shop.write_one()
-- PA401 a volatile function in VALUES
values (shop.write_one())
-- PA401 a volatile function in FILTER
select count(*) filter (where shop.write_one() > 0) from shop.customer
-- PA401 a volatile function in LATERAL
select * from shop.customer c cross join lateral shop.write_rows() w
-- PA401 our own function: ask
select public.ask('x')
-- PA401 our own function: set_setting
select pgask.set_setting('row_limit', '1')
-- PA401 our own function: the runner
select pgask._run_read_only('select 1')
-- PA401 our own settings
select * from pgask.setting
-- PA401 the passwords
select * from pg_authid
-- PA401 the passwords behind a view
select * from pg_shadow
-- PA401 a temporary table
select * from pg_temp.scratch
-- PA402 too many names
select * from shop.nothing
-- PA402 a function that does not exist
select no_such_function(1)
-- PA402 a NUL in an escape
select E'\000'
