// Agents and targets: who sends, what was lost and why, how good stacks are, what it all takes on disk.
local g = import 'grafana.libsonnet';
local p = import 'parts.libsonnet';
local q = import 'queries.libsonnet';

// Colours by the bounds from which they hold, the first from the least value on.
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

local empty(sql, columns, order, words) = std.strReplace(q.orNothing(sql, columns, order), 'nothing here: see Selection', words);

p.page(
  'agents',
  'Agents and targets',
  'Is what is shown elsewhere all there is?',
  [],
  [
    [
      stat('Agents and targets up', 'Whose newest stored sample is at most three minutes old.', |||
        SELECT pg_catalog.count(*) FILTER (WHERE health <> 'down' AND last_seen > pg_catalog.now() - interval '3 min') AS up
        FROM profstore.targets
      |||, 'short', [['red'], ['green', 1]]),
      stat('Down', 'Whose last scrape failed, or whose newest stored sample is three minutes to a day old.', |||
        SELECT pg_catalog.count(*) FILTER (WHERE health = 'down' OR last_seen BETWEEN pg_catalog.now() - interval '1 day' AND pg_catalog.now() - interval '3 min') AS down
        FROM profstore.targets
      |||, 'short', [['green'], ['orange', 1]]),
      stat('Lag of samples', 'Age of the newest stored sample of the agent or target that lags most, of those seen within a day.', |||
        SELECT extract(epoch FROM pg_catalog.now() - pg_catalog.min(last_seen))::float8 AS lag
        FROM profstore.targets
        WHERE last_seen > pg_catalog.now() - interval '1 day'
      |||, 's', [['green'], ['orange', 120], ['red', 600]]),
      stat('Lost', 'In the range, by all reasons but stacks that are stored with frames missing.', |||
        SELECT coalesce(pg_catalog.sum(count), 0)::float8 AS lost
        FROM profstore.losses
        WHERE "time" >= $__timeFrom()::timestamptz AND "time" < $__timeTo()::timestamptz AND reason NOT LIKE 'incomplete.%'
      |||, 'short', [['green'], ['orange', 1]]),
      stat('Whole stacks', 'User stacks of the last seven days that reach a proven root.', |||
        SELECT pg_catalog.sum(complete)::float8 / nullif(pg_catalog.sum(stacks), 0) AS whole
        FROM profstore.unwind_quality
      |||, 'percentunit', [['red'], ['orange', 0.8], ['green', 0.95]]),
      stat('Series', 'That have samples in the range.', |||
        SELECT pg_catalog.count(*) AS series
        FROM profstore.series
        WHERE last_seen >= $__timeFrom()::timestamptz AND first_seen < $__timeTo()::timestamptz
      |||, 'short', [['text']]),
    ],
    [p.table(
      'Agents and targets',
      'Those that are silent or down stand first.',
      24,
      9,
      empty(|||
        SELECT name, CASE WHEN health = 'down' THEN health WHEN last_seen > pg_catalog.now() - interval '3 min' THEN 'up' ELSE 'silent' END AS state,
          last_seen AS "last seen", extract(epoch FROM pg_catalog.now() - last_seen)::float8 AS "silent for", last_scrape AS "last scrape",
          extract(epoch FROM duration)::float8 AS duration, samples, last_error AS error, labels::text AS labels, role
        FROM profstore.targets
      |||, 10, '2, 1', 'no agent has written yet'),
      [
        g.override('silent for', { unit: 's', 'custom.width': 100 }),
        g.override('duration', { unit: 's', 'custom.width': 90 }),
        g.override('samples', { 'custom.width': 100 }),
        g.override('name', { 'custom.width': 200 }),
        g.override('state', { 'custom.width': 80 }),
        g.override('last seen', { 'custom.width': 165 }),
        g.override('last scrape', { 'custom.width': 165 }),
        g.override('role', { 'custom.width': 180 }),
        g.override('state', {
          'custom.cellOptions': { type: 'color-text' },
          mappings: [{ type: 'value', options: { up: { color: 'green' }, silent: { color: 'orange' }, down: { color: 'red' } } }],
        }),
      ]
    )],
    [
      g.panel('timeseries', 'Losses by reason', 'Everything that was dropped on the road from the kernel to the samples; incomplete.* was stored with frames missing.', 12, 9, [g.query(|||
        WITH lines AS
          (SELECT pg_catalog.to_timestamp(pg_catalog.floor(extract(epoch FROM "time") / bucket.seconds) * bucket.seconds) AS "time", reason AS metric, pg_catalog.sum(count)::float8 AS value
           FROM profstore.losses
           CROSS JOIN (SELECT greatest(extract(epoch FROM interval '$__interval'), 10) AS seconds) AS bucket
           WHERE "time" >= $__timeFrom()::timestamptz AND "time" < $__timeTo()::timestamptz
           GROUP BY 1, 2)
        SELECT * FROM lines
        UNION ALL
        SELECT $__timeFrom()::timestamptz, 'nothing was lost', NULL
        WHERE NOT EXISTS (SELECT FROM lines)
        ORDER BY 1, 2
      |||, format='time_series')]) + {
        fieldConfig: { defaults: { custom: { drawStyle: 'bars', fillOpacity: 80, lineWidth: 0, stacking: { mode: 'normal', group: 'A' } }, min: 0, unit: 'short' }, overrides: [] },
        options: {
          legend: { displayMode: 'table', placement: 'right', showLegend: true, calcs: ['sum'], sortBy: 'Total', sortDesc: true },
          tooltip: { mode: 'multi', sort: 'desc' },
        },
      },
      p.table(
        'Unwinding',
        'User stacks of the last seven days by executable, the worst first by what is not whole.',
        12,
        9,
        empty(|||
          SELECT coalesce(nullif(exe, ''), '(not known)') AS executable, pg_catalog.sum(stacks)::int8 AS stacks, pg_catalog.sum(complete)::float8 / nullif(pg_catalog.sum(stacks), 0) AS whole,
            pg_catalog.sum(stacks - complete)::int8 AS "not whole"
          FROM profstore.unwind_quality
          GROUP BY 1
        |||, 4, '4 DESC NULLS LAST, 2 DESC, 1', 'no user stack yet'),
        [g.override('executable', { 'custom.width': 290 }), g.override('stacks', { 'custom.width': 110 }), g.override('not whole', { 'custom.width': 110 }), g.share('whole')]
      ),
    ],
    [
      p.table(
        'Storage',
        'Partitions of samples, with what compaction and roll-ups keep beside them.',
        7,
        10,
        empty(|||
          SELECT pg_catalog.regexp_replace(relation::text, '^.*\.', '') AS "table", pg_catalog.to_char(from_ts AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day,
            pg_catalog.pg_total_relation_size(relation)::int8 AS bytes
          FROM profstore.partitions()
        |||, 3, 'day DESC NULLS LAST, 1', 'no partition yet'),
        [g.override('bytes', { unit: 'bytes', 'custom.width': 95 }), g.override('table', { 'custom.width': 195 }), g.override('day', { 'custom.width': 100 })]
      ),
      p.table(
        'Retention',
        'How long samples are kept, and their sums after that; what it last did.',
        8,
        10,
        |||
          SELECT k.what, CASE WHEN k.kept IS NOT NULL THEN pg_catalog.justify_interval(k.kept)::text WHEN k.what = 'samples' THEN 'for ever' ELSE 'none are made' END AS kept,
            (SELECT pg_catalog.max(l."time") FROM profstore.retention_log AS l WHERE l.action = k.action) AS "last run"
          FROM (VALUES (true)) AS always(one)
          LEFT JOIN profstore.retention AS r USING (one)
          CROSS JOIN LATERAL (VALUES (1, 'samples', r.raw, 'drop'), (2, 'sums by the minute', r.minute, 'minute'), (3, 'sums by the hour', r.hour, 'hour')) AS k(place, what, kept, action)
          ORDER BY k.place
        |||,
        [g.override('what', { 'custom.width': 160 }), g.override('kept', { 'custom.width': 125 }), g.override('last run', { 'custom.width': 165 })]
      ),
      p.table(
        'Symbols',
        'Programs of the range by the share of their value that has function names.',
        9,
        10,
        empty(|||
          SELECT coalesce(nullif(mapping, ''), '(not known)') AS mapping, total, named
          FROM
            (SELECT mapping, pg_catalog.sum(self)::int8 AS total, pg_catalog.sum(self) FILTER (WHERE "function" !~ '^(\[|0x)')::float8 / nullif(pg_catalog.sum(self), 0) AS named
             FROM profstore.top(coalesce((SELECT profile_type FROM profstore.profile_types() ORDER BY profile_type NOT LIKE 'process_cpu:cpu:%', profile_type LIMIT 1), 'none:none:none:none:none'),
               $__timeFrom(), $__timeTo(), max_rows => NULL)
             GROUP BY 1) AS t
        |||, 3, '2 DESC NULLS LAST, 1', 'no samples in this range'),
        [g.override('total', { unit: 'ns', 'custom.width': 100 }), g.share('named'), g.override('mapping', { 'custom.width': 240 })]
      ),
    ],
  ]
)
