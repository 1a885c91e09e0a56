// Queries: which SQL queries of profiled PostgreSQL servers cost most, and the stacks of one of them.
local g = import 'grafana.libsonnet';
local p = import 'parts.libsonnet';
local q = import 'queries.libsonnet';

local selected = ['type', 'label', 'value', 'only', 'matchers', 'focus', 'ignore', 'show', 'hide', 'preset', 'granularity', 'statements'];

// The selector, or one that selects nothing if the values of the type do not add up: top_queries() refuses such types.
local selector = "CASE WHEN EXISTS (SELECT FROM profstore.profile_types() WHERE profile_type = %s AND delta) THEN %s ELSE 'none:none:none:none:none' END" % [q.type, q.selector];

// The tables and views with texts of queries that the reader may read, by the columns that top_queries() requires.
local tables = |||
  SELECT c.oid::regclass::text AS name
  FROM pg_catalog.pg_class AS c
  WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') AND pg_catalog.has_schema_privilege(c.relnamespace, 'USAGE') AND pg_catalog.has_table_privilege(c.oid, 'SELECT')
    AND (SELECT pg_catalog.string_agg(a.attname, ',' ORDER BY a.attname) FROM pg_catalog.pg_attribute AS a
         WHERE a.attrelid = c.oid AND NOT a.attisdropped AND (a.attname, a.atttypid::regtype::text) IN
           (('system_identifier', 'bigint'), ('queryid', 'bigint'), ('database', 'text'), ('role', 'text'), ('calls', 'bigint'), ('total_exec_time', 'double precision'), ('query', 'text')))
      = 'calls,database,query,queryid,role,system_identifier,total_exec_time'
|||;
local topQueries(rows) = |||
  profstore.top_queries(
    %s,
    %s,
    max_rows => %d,
    statements => (SELECT t.name::regclass FROM (%s) AS t WHERE t.name = '$statements'))
||| % [selector, q.range, rows, std.stripChars(tables, '\n')];

// The query that is chosen, otherwise the most expensive one. If there is none, or the text is no id: 0, which no query has.
local mostExpensive = '(SELECT t.query_id FROM profstore.top_queries(%s, %s, max_rows => 2) AS t WHERE t.query_id IS NOT NULL ORDER BY t.value DESC, t.query_id LIMIT 1)' % [selector, q.range];
local chosen = |||
  coalesce(CASE WHEN '$query' = '' THEN %s
    WHEN '$query' ~ '^-?\d{1,19}$' AND pg_catalog.abs(pg_catalog.btrim('$query')::numeric) < 9223372036854775808 THEN pg_catalog.btrim('$query')::int8 END, 0)
||| % mostExpensive;
local filters = q.filters + ',\n  query_id => ' + std.stripChars(chosen, '\n');

local text = "pg_catalog.left(pg_catalog.regexp_replace(t.query, '\\s+', ' ', 'g'), %d)";

local status = |||
  CASE WHEN status !~ '^(\d+ series|The filters)' THEN status
    WHEN %(chosen)s = 0 THEN status || '; no sample has a query id: set profstore.query_labels in the server'
    ELSE status || '; below: query ' || %(chosen)s END AS status
||| % { chosen: std.stripChars(chosen, '\n') };

local call(name, more='') = |||
  profstore.%s(
    %s,
    %s%s,
    %s)
||| % [name, selector, q.range, more, filters];

p.page(
  'queries',
  'Queries',
  'Which SQL queries of PostgreSQL servers cost most, and where their time goes',
  [
    p.type { query: p.typesOf('delta', ['process_cpu:cpu:']), definition: self.query },
    p.label,
    p.value,
    p.only,
    p.matchers,
    g.queried('query', 'Query', |||
      SELECT pg_catalog.concat_ws(', ', coalesce(%s, 'query ' || t.query_id), t.database, t.role) AS __text, t.query_id::text AS __value
      FROM %s AS t
      WHERE t.query_id IS NOT NULL
      ORDER BY t.value DESC, t.query_id
    ||| % [text % 60, std.stripChars(topQueries(100), '\n')], { description: 'Its flame graph is shown below. A click on an id in the table sets it' }),
    g.queried('statements', 'Texts from', |||
      SELECT name
      FROM
        (SELECT 'pg_stat_statements' AS name, 0 AS place
         UNION ALL
         SELECT t.name, 1 FROM (%s) AS t) AS choices
      ORDER BY place, name
    ||| % std.stripChars(tables, '\n'), g.once { hide: 3, description: 'The source of texts and calls: pg_stat_statements of this database if it is in the profiled server, or a table with the statements of other servers' }),
  ] + p.filters + [p.granularity],
  [
    [p.selection(status=status)],
    [p.table(
      'Most expensive queries',
      'Queries by their value in the range, and what runs outside of queries. Calls and mean time are of all time, by pg_stat_statements. A click on an id shows its flame graph.',
      24,
      10,
      std.strReplace(q.orNothing(|||
        SELECT coalesce(%s, CASE WHEN t.query_id IS NULL THEN 'outside of queries' ELSE 'text unknown' END) AS query, t.query_id::text AS id, t.database, t.role, t.value, t.share, t.calls, t.mean_exec_time AS "mean time",
          t.system_identifier::text AS server
        FROM %s AS t
      ||| % [text % 500, std.stripChars(topQueries(100), '\n')], 9, '5 DESC NULLS LAST, 2'), 'nothing here: see Selection', 'no samples: see Selection'),
      [
        g.override('query', { 'custom.minWidth': 250, 'custom.inspect': true }),
        g.sign('id', 'Its flame graph', p.to('queries', selected, { query: '${__data.fields.id:percentencode}' }), 190),
        g.width('database', 100),
        g.width('role', 100),
        g.width('value', 90),
        g.share('share'),
        g.width('share', 130),
        g.width('calls', 80),
        g.unit('mean time', 'ms'),
        g.width('mean time', 100),
        g.width('server', 170),
      ],
      '/^value$/'
    )],
    [p.flame('Flame graph of the query', 'The stacks of the chosen query, otherwise of the most expensive one, with the functions, triggers and parallel workers that it runs.', |||
      SELECT %s
      FROM %s
      ORDER BY ord
    ||| % [q.frames(), std.stripChars(call('flamegraph', ",\n  max_nodes => 16384, granularity => '$granularity'"), '\n')])],
    [p.graph('Rate of the query', 'Rate per second of the query, CPU time in cores, by database.', 24, 8, q.lines(selector, "'database'", filters))],
    [p.table(
      'Functions of the query',
      'Self: the function alone; total: with the functions that it calls.',
      24,
      12,
      q.orNothing(|||
        SELECT t."function", t.self, t.self_share AS "self, share", t.total, t.total_share AS "total, share", t.file, t.mapping
        FROM %s AS t
      ||| % std.stripChars(call('top', ",\n  max_rows => 100, granularity => '$granularity'"), '\n'), 7, 'self DESC NULLS LAST, total DESC, "function"'),
      [
        g.override('function', { 'custom.minWidth': 250 }),
        g.width('self', 90),
        g.width('total', 90),
        g.share('self, share'),
        g.width('self, share', 150),
        g.share('total, share'),
        g.width('total, share', 150),
        g.override('file', { 'custom.minWidth': 140 }),
        g.override('mapping', { 'custom.minWidth': 140 }),
      ],
      '/^(self|total)$/'
    )],
  ]
)
