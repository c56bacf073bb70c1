-- PA401 a volatile function in the default of an argument
select edi.dflt() as x
-- PA401 a volatile function in the default of an argument of a default
select edi.dflt_again() as x
-- PA401 the check of a domain in the default of an argument
select edi.dflt_type() as x
-- PA401 the check of a domain in the row of an outer join
select jsonb_populate_record(t, '{"a":5}') from edi.tb t right join (values (1)) v(i) on true
-- PA401 the check of a domain in a set of rows
select json_populate_recordset(t, '[{"a":5}]') from edi.tb t
-- PA401 the check of a domain in the composite type of a column
select jsonb_populate_record(h.p, '{"b":5}') from edi.holder h
-- PA401 the check of a domain in an array of rows
select jsonb_populate_record(h.many[1], '{"b":5}') from edi.holder h
-- PA401 the check of a domain in a domain over a row
select jsonb_populate_record(h.d, '{"b":5}') from edi.holder h
-- PA401 the check of a domain in the row of a table with descendants
select jsonb_populate_record(c, '{"a":5}') from edi.child c
-- PA401 the check of a domain in a row behind a view
select jsonb_populate_record(v.whole, '{"a":5}') from edi.v v
-- PA401 the check of a domain in a row that a function gives
select jsonb_populate_record(edi.one(), '{"a":5}')
-- PA401 the check of a domain in a record that a function gives
select jsonb_populate_record(r, '{"a":5}') from edi.rows() r right join (values (1)) v(i) on true
-- PA401 the check of a domain in a row without a type
select jsonb_populate_record(s, '{"a":5}') from (select t.a, 1 as b from edi.tb t) s
