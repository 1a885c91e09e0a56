-- help('why'): each query answers its question on the demo's data, and help() shows that answer
\i sql/fixtures/preamble.sql
\set SHOW_CONTEXT never
SET datestyle = 'ISO';
-- one transaction, because the data and the queries depend on now()
BEGIN;
\set ECHO none
\o /dev/null
\i sql/fixtures/demo_fleet.sql
\set file `mktemp`
\pset format unaligned
\pset fieldsep ' | '
\pset footer off
\o :file
SELECT format('SELECT %L AS "answer to"', place), query FROM profstore_internal.questions() ORDER BY place \gexec
\o
\setenv file :file
\set answers `cat "$file"; rm "$file"`
CREATE TABLE answers AS
SELECT split_part(a.text, E'\n', 1)::int AS place, regexp_replace(substr(a.text, strpos(a.text, E'\n') + 1), '\n+$', '') AS answer
FROM regexp_split_to_table(:'answers' || E'\n', 'answer to\n') AS a(text) WHERE a.text <> '';
-- a time is that of the test's run
CREATE FUNCTION without_times(answer text) RETURNS text LANGUAGE sql AS $$ SELECT regexp_replace(answer, '\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\+00', 'TIME', 'g') $$;
\set ECHO all
SELECT q.place, q.function, without_times(a.answer) AS answer, q.answer AS shown
FROM profstore_internal.questions() AS q LEFT JOIN answers AS a USING (place)
WHERE NOT coalesce(starts_with(without_times(a.answer), regexp_replace(without_times(q.answer), '\n\.\.\.$', '')), false)
	OR (q.answer LIKE '%...') IS DISTINCT FROM (length(without_times(a.answer)) > length(without_times(q.answer)));
SELECT place, without_times(answer) AS answer FROM answers ORDER BY place;
-- in help() the answer is a comment below the query, which can be run as it is
SELECT count(DISTINCT q.place) AS questions, bool_and(h.example = q.query || E'\n-- ' || replace(q.answer, E'\n', E'\n-- ')) AS with_answer, max(length(line)) <= 64 AS narrow
FROM profstore.help('why') AS h JOIN profstore_internal.questions() AS q ON h.example LIKE q.query || '%', string_to_table(h.example, E'\n') AS line;
SELECT example FROM profstore.help('why') WHERE function = 'top_diff';
ROLLBACK;
