// Agents and targets: their states, losses by reason, completeness of stacks and names, bytes on disk.
local g = import 'grafana.libsonnet';
local p = import 'parts.libsonnet';
local q = import 'queries.libsonnet';

// colours: [name, lower bound], in ascending order; the first has no bound.
local stat(title, description, sql, unit, colours) = g.panel('stat', title, description, 4, 4, [g.query(sql)]) + {
  fieldConfig: { defaults: {
    unit: unit,
    noValue: '–',
    thresholds: { mode: 'absolute', steps: [{ color: colours[i][0], value: if i == 0 then null else colours[i][1] } for i in std.range(0, std.length(colours) - 1)] },
    mappings: g.unknown,
  }, overrides: [] },
  options: {
    reduceOptions: { values: false, calcs: ['lastNotNull'], fields: '' },
    colorMode: 'value',
    graphMode: 'none',
    textMode: 'value',
  },
};

// The name of a target without the path: all paths of a target are one.
local name = "pg_catalog.regexp_replace(name, '(://[^/]+)/.*$', '\\1')";

local losses(title, description, condition, nothing) = g.panel('timeseries', title, description, 12, 9, [g.query(|||
  WITH lines AS
    (SELECT pg_catalog.to_timestamp(pg_catalog.floor(extract(epoch FROM "time") / bucket.seconds) * bucket.seconds) AS "time", pg_catalog.regexp_replace(reason, '^incomplete\.', '') AS metric, pg_catalog.sum(count)::float8 AS value
     FROM profstore.losses
     CROSS JOIN (SELECT greatest(extract(epoch FROM interval '$__interval'), 10) AS seconds) AS bucket
     WHERE "time" >= $__timeFrom()::timestamptz AND "time" < $__timeTo()::timestamptz AND %s
     GROUP BY 1, 2)
  SELECT * FROM lines
  UNION ALL
  SELECT $__timeFrom()::timestamptz, '%s', NULL
  WHERE NOT EXISTS (SELECT FROM lines)
  ORDER BY 1, 2
||| % [condition, nothing], format='time_series')]) + {
  fieldConfig: { defaults: { custom: { drawStyle: 'bars', fillOpacity: 80, lineWidth: 0, stacking: { mode: 'normal', group: 'A' } }, min: 0, unit: 'short' }, overrides: [] },
  options: {
    legend: { displayMode: 'table', placement: 'right', showLegend: true, calcs: ['sum'], sortBy: 'Total', sortDesc: true },
    tooltip: { mode: 'multi', sort: 'desc' },
  },
};

// Names of frames without a symbol: of a mapping, an address, or where a function begins.
local unnamed = '^(\\[|0x)|\\+0x[0-9a-f]+(#[onb0-9a-f]*)?$';

local empty(sql, columns, order, words) = std.strReplace(q.orNothing(sql, columns, order), 'nothing here: see Selection', words);

p.page(
  'agents',
  'Agents and targets',
  'Do the other dashboards show everything? Agents, targets, losses, storage',
  [],
  [
    [
      stat('Up', 'Agents and targets whose newest stored sample is at most three minutes old.', |||
        SELECT pg_catalog.count(*) AS up
        FROM (SELECT FROM profstore.targets GROUP BY %s HAVING pg_catalog.bool_and(health <> 'down' AND last_seen > pg_catalog.now() - interval '3 min') FILTER (WHERE health <> 'stopped')) AS t
      ||| % name, 'short', [['red'], ['green', 1]]),
      stat('Down', 'Agents and targets whose last scrape failed, or whose newest stored sample is three minutes to a day old, except those that were stopped in order.', |||
        SELECT pg_catalog.count(*) AS down
        FROM (SELECT FROM profstore.targets GROUP BY %s HAVING pg_catalog.bool_or(health = 'down' OR health <> 'stopped' AND last_seen BETWEEN pg_catalog.now() - interval '1 day' AND pg_catalog.now() - interval '3 min')) AS t
      ||| % name, 'short', [['green'], ['red', 1]]),
      stat('Lag', 'Age of the newest stored sample of the agent or target that lags most, of those seen within a day that were not stopped.', |||
        SELECT extract(epoch FROM pg_catalog.now() - pg_catalog.min(last_seen))::float8 AS lag
        FROM profstore.targets
        WHERE last_seen > pg_catalog.now() - interval '1 day' AND health <> 'stopped'
      |||, 's', [['green'], ['orange', 120], ['red', 600]]),
      stat('Lost', 'Samples lost in the range, without those that are stored with frames missing.', |||
        SELECT coalesce(pg_catalog.sum(count), 0)::float8 AS lost
        FROM profstore.losses
        WHERE "time" >= $__timeFrom()::timestamptz AND "time" < $__timeTo()::timestamptz AND reason NOT LIKE 'incomplete.%'
      |||, 'short', [['green'], ['orange', 1]]),
      stat('Whole', 'User stacks of the last seven days that reach a proven root.', |||
        SELECT pg_catalog.sum(complete)::float8 / nullif(pg_catalog.sum(stacks), 0) AS whole
        FROM profstore.unwind_quality
      |||, 'percentunit', [['red'], ['orange', 0.8], ['green', 0.95]]),
      stat('Series', 'Series with samples in the range.', |||
        SELECT pg_catalog.count(*) AS series
        FROM profstore.series
        WHERE last_seen >= $__timeFrom()::timestamptz AND first_seen < $__timeTo()::timestamptz
      |||, 'short', [['text']]),
    ],
    [p.table(
      'Health',
      'Checks of profstore.health() that warn or are bad; action is a command for psql. Since is empty until the background worker has seen the state.',
      24,
      7,
      empty(|||
        SELECT check_name AS "check", object, status, since, pg_catalog.round(value::numeric, 3)::float8 AS value, unit, action
        FROM profstore.health()
        WHERE status <> 'ok'
        LIMIT 200
      |||, 7, '3, 1, 2', 'every check is ok'),
      [
        g.override('check', { 'custom.minWidth': 120 }),
        g.override('object', { 'custom.minWidth': 150, 'custom.inspect': true }),
        g.override('status', {
          'custom.width': 75,
          'custom.cellOptions': { type: 'color-text' },
          mappings: [{ type: 'value', options: { warn: { color: 'orange' }, bad: { color: 'red' } } }],
        }),
        g.width('since', 165),
        g.width('value', 100),
        g.width('unit', 90),
        g.override('action', { 'custom.minWidth': 260, 'custom.inspect': true }),
      ]
    )],
    [p.table(
      'Agents and targets',
      'Silent ones and those that are down come first. A target with several paths is one row, as old as the oldest path. Skipped: scrapes left out since the scraper began.',
      24,
      9,
      empty(|||
        SELECT %s AS name, CASE WHEN pg_catalog.bool_or(health = 'down') THEN 'down' WHEN pg_catalog.bool_and(health = 'stopped') THEN 'stopped' WHEN pg_catalog.min(last_seen) FILTER (WHERE health <> 'stopped') > pg_catalog.now() - interval '3 min' THEN 'up' ELSE 'silent' END AS state,
          pg_catalog.min(last_seen) AS "last seen", extract(epoch FROM pg_catalog.now() - pg_catalog.min(last_seen))::float8 AS "silent for", pg_catalog.count(*) AS paths,
          pg_catalog.sum(samples)::int8 AS samples, pg_catalog.sum(skipped)::int8 AS skipped, pg_catalog.string_agg(DISTINCT last_error, '; ') AS error, pg_catalog.min(labels::text) AS labels
        FROM profstore.targets
        GROUP BY 1
      ||| % name, 9, '2, 1', 'no agent has written yet'),
      [
        g.override('silent for', { unit: 's', 'custom.width': 100 }),
        g.width('paths', 65),
        g.width('samples', 85),
        g.width('skipped', 75),
        g.width('name', 330),
        g.override('error', { 'custom.minWidth': 150, 'custom.inspect': true }),
        g.override('labels', { 'custom.minWidth': 150, 'custom.inspect': true }),
        g.width('last seen', 165),
        g.override('state', {
          'custom.width': 75,
          'custom.cellOptions': { type: 'color-text' },
          mappings: [{ type: 'value', options: { up: { color: 'green' }, silent: { color: 'orange' }, stopped: { color: 'text' }, down: { color: 'red' } } }],
        }),
      ]
    )],
    [
      losses('Losses by reason', 'Samples that were dropped between the kernel and the database.', "reason NOT LIKE 'incomplete.%'", 'nothing was lost'),
      losses('Stored in part', 'Samples that were stored with frames or labels missing: reasons that begin with incomplete. runtime_unknown and runtime_unplaced count processes with an interpreter whose functions are not named.', "reason LIKE 'incomplete.%'", 'nothing was incomplete'),
    ],
    [
      p.table(
        'Unwinding',
        'User stacks of the last seven days by executable; those with the most incomplete stacks come first.',
        12,
        9,
        empty(|||
          SELECT coalesce(nullif(exe, ''), '(not known)') AS executable, pg_catalog.sum(stacks)::int8 AS stacks, pg_catalog.sum(complete)::float8 / nullif(pg_catalog.sum(stacks), 0) AS whole,
            pg_catalog.sum(stacks - complete)::int8 AS "not whole"
          FROM profstore.unwind_quality
          GROUP BY 1
        |||, 4, '4 DESC NULLS LAST, 2 DESC, 1', 'no user stack yet'),
        [g.override('executable', { 'custom.minWidth': 200 }), g.width('stacks', 90), g.width('not whole', 95), g.share('whole', 1), g.width('whole', 140)]
      ),
      p.table(
        'Symbols',
        'Programs and libraries of the range with the share of their value that has function names.',
        12,
        9,
        empty(|||
          SELECT coalesce(nullif(mapping, ''), '(not known)') AS mapping, total, named
          FROM
            (SELECT mapping, pg_catalog.sum(self)::int8 AS total, coalesce(pg_catalog.sum(self) FILTER (WHERE "function" !~ '%s'), 0)::float8 / nullif(pg_catalog.sum(self), 0) AS named
             FROM profstore.top(coalesce((SELECT profile_type FROM profstore.profile_types() ORDER BY profile_type NOT LIKE 'process_cpu:cpu:%%', profile_type LIMIT 1), 'none:none:none:none:none'),
               $__timeFrom(), $__timeTo(), max_rows => NULL)
             GROUP BY 1) AS t
        ||| % unnamed, 3, '2 DESC NULLS LAST, 1', 'no samples in this range'),
        [g.override('total', { unit: 'ns', 'custom.width': 100 }), g.share('named', 1), g.width('named', 140), g.override('mapping', { 'custom.minWidth': 200 })]
      ),
    ],
    [p.table(
      'Symbols to find',
      'The ten builds whose code without names costs most in the range, and how far the search for their debug information has come (profstore.symbol_states). Builds of one file share its cost.',
      24,
      9,
      empty(|||
        SELECT s.file AS file, w.build_id AS "build ID", s.cost AS "without names", w.state, w.open, w.source, w.error, w.next_try AS "next try"
        FROM
          (SELECT mapping AS file, pg_catalog.sum(self)::int8 AS cost
           FROM profstore.top(coalesce((SELECT profile_type FROM profstore.profile_types() ORDER BY profile_type NOT LIKE 'process_cpu:cpu:%%', profile_type LIMIT 1), 'none:none:none:none:none'),
             $__timeFrom(), $__timeTo(), max_rows => NULL)
           WHERE "function" ~ '%s' AND self > 0
           GROUP BY 1) AS s
        JOIN profstore.symbol_states AS w ON s.file = ANY (w.files)
        WHERE w.open > 0
        ORDER BY s.cost DESC, w.open DESC, w.build_id
        LIMIT 10
      ||| % unnamed, 8, '3 DESC NULLS LAST, 5 DESC, 2', 'no code of this range waits for symbols'),
      [
        g.override('file', { 'custom.minWidth': 200 }),
        g.override('build ID', { 'custom.width': 130, 'custom.inspect': true }),
        g.override('without names', { unit: 'ns', 'custom.width': 115 }),
        g.width('state', 80),
        g.width('open', 75),
        g.override('source', { 'custom.minWidth': 120, 'custom.inspect': true }),
        g.override('error', { 'custom.minWidth': 150, 'custom.inspect': true }),
        g.width('next try', 165),
      ]
    )],
    [
      p.table(
        'Storage',
        'Bytes of each day of samples, and of all other tables. New samples of all days are in one table until they are compacted.',
        12,
        10,
        |||
          SELECT t."table", t.day, pg_catalog.sum(t.bytes)::int8 AS bytes
          FROM
            (SELECT CASE WHEN p.relation IS NOT NULL THEN pg_catalog.regexp_replace(p.relation::text, '^.*\.', '') WHEN c.relname IN ('segments', 'rollups') THEN 'not compacted yet, and sums' ELSE 'names, stacks and all else' END AS "table",
               pg_catalog.to_char(p.from_ts AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, pg_catalog.pg_total_relation_size(c.oid) AS bytes
             FROM pg_catalog.pg_class AS c
             LEFT JOIN profstore.partitions() AS p ON p.relation = c.oid
             WHERE c.relnamespace = (SELECT n.oid FROM pg_catalog.pg_namespace AS n WHERE n.nspname = 'profstore') AND c.relkind = 'r') AS t
          GROUP BY 1, 2
          ORDER BY 2 DESC NULLS FIRST, 1 DESC
        |||,
        [g.override('bytes', { unit: 'bytes', 'custom.width': 95 }), g.override('table', { 'custom.minWidth': 220 }), g.width('day', 110)]
      ),
      p.table(
        'Retention',
        'How long samples and their sums are kept, and when this was last applied.',
        12,
        10,
        |||
          SELECT k.what, CASE WHEN k.kept IS NOT NULL THEN pg_catalog.justify_interval(k.kept)::text WHEN k.what = 'samples' THEN 'for ever' ELSE 'none are made' END AS kept,
            (SELECT pg_catalog.max(l."time") FROM profstore.retention_log AS l WHERE l.action = k.action) AS "last run"
          FROM (VALUES (true)) AS always(one)
          LEFT JOIN profstore.retention AS r USING (one)
          CROSS JOIN LATERAL (VALUES (1, 'samples', r.raw, 'drop'), (2, 'sums by the minute', r.minute, 'minute'), (3, 'sums by the hour', r.hour, 'hour')) AS k(place, what, kept, action)
          ORDER BY k.place
        |||,
        [g.override('what', { 'custom.minWidth': 160 }), g.width('kept', 130), g.width('last run', 165)]
      ),
    ],
  ]
)
