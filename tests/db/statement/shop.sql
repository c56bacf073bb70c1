-- What the hostile statements of refused.sql aim at.
create schema shop;
create table shop.customer (id integer primary key, name text not null, country text, spent numeric);
insert into shop.customer values (1, 'Ann', 'DE', 10.50), (2, 'Bob', 'FR', 20.25);
create sequence shop.counter;
create table shop.written (at timestamptz default now());
create function shop.write_one() returns integer language sql volatile
    as 'insert into shop.written default values; select 1';
create function shop.write_rows() returns setof integer language sql volatile
    as 'insert into shop.written default values; select 1';
create function shop.see_all() returns bigint language sql stable security definer
    as 'select count(*) from shop.customer';
create function shop.double(integer) returns integer language sql immutable return $1 * 2;
create function shop.names() returns setof text language sql stable
    begin atomic select c.name from shop.customer c; end;
create function shop.peek(shop.customer) returns text language sql volatile
    as 'insert into shop.written default values; select $1.name';
create function shop.shout(shop.customer) returns text language sql stable
    return upper($1.name) || '!';
create procedure shop.empty_it() language sql as 'delete from shop.customer';
create view shop.v as select shop.write_one() as one;
create view shop.vv as select v.one from shop.v as v;
create view shop.harmless as select c.name from shop.customer as c;
create function shop.unequal(integer, integer) returns boolean language sql volatile
    as 'insert into shop.written default values; select true';
create operator shop.=! (function = shop.unequal, leftarg = integer, rightarg = integer);
create type shop.colour as enum ('red', 'blue');
create type shop.mood as (m text);
create function shop.to_colour(shop.mood) returns shop.colour language sql volatile
    as 'insert into shop.written default values; select ''red''::shop.colour';
create cast (shop.mood as shop.colour) with function shop.to_colour(shop.mood) as implicit;
create function shop.takes_colour(shop.colour) returns text language sql immutable
    return $1::text;
create table shop.moody (mood shop.mood);
insert into shop.moody values (row('x'));
create function shop.gather(integer, integer) returns integer language sql volatile
    as 'insert into shop.written default values; select 1';
create aggregate shop.collect(integer) (sfunc = shop.gather, stype = integer, initcond = '0');
create function shop.is_good(text) returns boolean language sql volatile
    as 'insert into shop.written default values; select true';
create domain shop.checked as text check (shop.is_good(value));
create domain shop.short as text check (length(value) < 10);
create type shop.holder as (value shop.checked);
create function shop.stable_liar() returns integer language plpgsql stable
    as $$ begin return shop.write_one(); end $$;
create schema evil;
create function evil.count(integer) returns bigint language sql volatile
    as 'insert into shop.written default values; select 1::bigint';
create function evil.upper(text) returns text language sql volatile
    as 'insert into shop.written default values; select $1';
create function evil.same(integer, integer) returns boolean language sql volatile
    as 'insert into shop.written default values; select true';
create operator evil.= (function = evil.same, leftarg = integer, rightarg = integer);
create table evil.customer (id integer);
grant usage on schema shop, evil to public;
grant select on all tables in schema shop, evil to public;
grant insert on shop.written to public;
grant usage, select, update on sequence shop.counter to public;
create table shop.private (secret text);
insert into shop.private values ('s');
create table shop.rows_of (owner name, what text);
insert into shop.rows_of values ('nobody', 'hidden'), ('pgask_test_reader', 'mine');
alter table shop.rows_of enable row level security;
create policy own on shop.rows_of using (owner = current_user);
grant select on shop.rows_of to public;
