-- What the hostile statements of test_break_in.py aim at.
create schema edi;
create table edi.written (at timestamptz default now());
create function edi.vst(integer, integer) returns integer language sql volatile
    as 'insert into edi.written default values; select 1';
create function edi.is_good(integer) returns boolean language sql volatile
    as 'insert into edi.written default values; select true';
create domain edi.checked as integer check (edi.is_good(value));
create function edi.dflt(i integer default edi.vst(1, 2)) returns integer language sql stable
    return 1;
create function edi.dflt_again(i integer default edi.dflt()) returns integer language sql stable
    return 1;
create function edi.dflt_type(i integer default '5'::edi.checked) returns integer
    language sql stable return 1;
create function edi.plain(i integer default 2, j timestamptz default now()) returns integer
    language sql stable return $1;
create table edi.tb (a edi.checked);
create type edi.pair as (a integer, b edi.checked);
create domain edi.paired as edi.pair;
create table edi.holder (id integer, p edi.pair, many edi.pair[], d edi.paired);
create table edi.child (extra text) inherits (edi.tb);
create view edi.v as select t as whole from edi.tb as t;
create function edi.rows() returns table (a edi.checked) language plpgsql stable
    as $$ begin end $$;
create function edi.one() returns edi.tb language plpgsql stable as $$ begin return null; end $$;
create table edi.harmless (id integer, name text);
insert into edi.harmless values (1, 'x');
