// Compare: any two selections. B is the range of the page; A is another time, other labels, or both.
local g = import 'grafana.libsonnet';
local p = import 'parts.libsonnet';
local q = import 'queries.libsonnet';

local selector(matchers) = "profstore.selector(%s, pg_catalog.jsonb_build_object('$label', ARRAY[$value]::text[]), '$%s')" % [q.type, matchers];
// Where the time is none, both pick nothing: A's status tells.
local typedTime = "profstore.valid_time('$begin', '${__timezone}')";
local wrongTime = "'$begin' <> '' AND %s IS NULL" % typedTime;
local valid(matchers) = "profstore.valid_selector(CASE WHEN %s THEN 'none:none:none:none:none' ELSE %s END, '$focus', '$ignore', '$show', %s)" % [wrongTime, selector(matchers), q.hide];
// A's begin: as typed or clicked, or so long before B's; A lasts as long as B.
local begin = |||
  coalesce(%s, $__timeFrom()::timestamptz - coalesce(nullif(nullif('$back', ''), 'before')::interval, $__timeTo()::timestamptz - $__timeFrom()::timestamptz))
||| % typedTime;
local rangeA = '%s, %s + ($__timeTo()::timestamptz - $__timeFrom()::timestamptz)' % [std.stripChars(begin, '\n'), std.stripChars(begin, '\n')];
local rangeB = '$__timeFrom()::timestamptz, $__timeTo()::timestamptz';
local call(name, more) = |||
  profstore.%(name)s(
    %(b)s,
    %(rangeA)s,
    %(rangeB)s,
    base_selector => %(a)s, absolute => $absolute, granularity => '$granularity', %(more)s,
    %(filters)s)
||| % { name: name, a: valid('before'), b: valid('matchers'), rangeA: rangeA, rangeB: rangeB, more: more, filters: q.filters };
local variables = ['type', 'label', 'value', 'matchers', 'before', 'back', 'begin', 'absolute', 'granularity', 'ignore', 'show', 'hide', 'preset'];
local others = ['type', 'label', 'value', 'matchers', 'before', 'absolute', 'granularity', 'focus', 'ignore', 'show', 'hide', 'preset'];

local empty(words, sql, columns, order) = std.strReplace(q.orNothing(sql, columns, order), 'nothing here: see Selection', words);

// A status for each side; that of A tells of its time, too.
local side(letter, matchers, range, status='status') = |||
  SELECT '%s: ' || %s AS %s
  FROM profstore.selection_status(%s, %s, %s, matchers => '$%s')
||| % [letter, status, std.asciiLower(letter), selector(matchers), range, std.join(', ', [filter[1] for filter in q.typedFilters]), matchers];
local statusA = "CASE WHEN %s THEN 'no time is \"' || '$begin' || '\"; type one such as 2026-11-01 12:00' ELSE status END" % wrongTime;

// The graph of a side over its own range, its times moved to those of B.
local graph(letter, matchers, from, shift) = |||
  SELECT "time" + (%(shift)s) AS "time", '%(letter)s' AS metric, %(value)s AS value
  FROM profstore.timeseries(%(selector)s, %(range)s, step => greatest(interval '$__interval', interval '10 s'),
    %(filters)s)
  GROUP BY 1
||| % { letter: letter, selector: valid(matchers), range: from, shift: shift, filters: q.filters, value: q.brief('pg_catalog.sum(value)') };

p.page(
  'compare',
  'Compare',
  'Two selections: what costs more in B than in A',
  [
    p.type,
    p.label,
    p.value,
    g.typed('matchers', 'B: matchers', 'What series of B must have, such as version="2"; its range is that of the page'),
    g.typed('before', 'A: matchers', 'What series of A must have, such as version="1"'),
    g.chosen('back', 'A is', [
      ['just before B', 'before'],  // an option without a value would be read as one that is called so
      ['an hour before B', '1 hour'],
      ['a day before B', '1 day'],
      ['a week before B', '7 days'],
      ['at the same time as B', '0'],
    ]),
    g.typed('begin', 'A begins at', 'A time, such as 2026-11-01 12:00, in place of what stands to the left; without a zone it is of the zone of the page. A click on a point of the graph sets it'),
    g.chosen('absolute', 'Compare', [['shares', 'false'], ['values', 'true']]),
  ] + p.filters + [p.granularity],
  [
    [
      p.selection(12) + { title: 'A', targets: [g.query(side('A', 'before', rangeA, statusA))] },
      p.selection(12) + { title: 'B', targets: [g.query(side('B', 'matchers', rangeB))] },
    ],
    [p.graph('A and B', 'Rate per second, CPU time in cores; A is drawn at the times of B. Drag over what is to be B; a click on a point chooses where A or B begins.', 24, 8, |||
      WITH lines AS
        (%s
         UNION ALL
         %s)
      SELECT * FROM lines
      UNION ALL
      SELECT $__timeFrom()::timestamptz, 'no samples on either side', NULL
      WHERE NOT EXISTS (SELECT FROM lines)
      ORDER BY 1, 2
    ||| % [std.stripChars(graph('A', 'before', rangeA, '$__timeFrom()::timestamptz - ' + std.stripChars(begin, '\n')), '\n'), std.stripChars(graph('B', 'matchers', rangeB, "interval '0'"), '\n')]) + {
      fieldConfig+: { defaults+: { custom+: { stacking: { mode: 'none', group: 'A' } }, links: [
        { title: 'A begins here', url: p.to('compare', others, { begin: '${__value.time}' }) },
        { title: 'B begins here, A is what comes before', url: p.fromPoint('compare', others, { back: 'before', begin: '' }) },
      ] } },
    }],
    [p.flame('Difference', 'Bars are as wide as both sides together. Red: more in B than in A. Shares of the totals, or values if Compare says so.', q.difference(call('flamegraph_diff', 'max_nodes => 16384'), 'A', 'B'), '/^(value|self)(Right)?$/', { colorScheme: 'diffColorBlind' })],
    [p.table(
      'What changed',
      'Functions by what they cost more or less in B. Changes are in per cent of all.',
      24,
      12,
      empty('nothing here: see A and B', q.changes(call('top_diff', 'max_rows => 200'), call('flamegraph_diff', 'max_nodes => 1'), 'in A', 'in B'), 10, q.mostChanged),
      p.changed('in A', 'in B', p.to('compare', variables, { focus: '${__data.fields.focus:percentencode}' })),
      '/^(self|total), in [AB]$/'
    )],
    [p.table(
      'Deploys',
      'What was brought out lately. A click compares the half hour after it with the half hour before.',
      24,
      8,
      empty('no deploy yet', |||
        SELECT version, "time", labels::text AS labels, role,
          pg_catalog.floor(extract(epoch FROM "time") * 1000)::int8 AS from_ms, pg_catalog.floor(extract(epoch FROM "time") * 1000)::int8 + 1800000 AS to_ms,
          (SELECT pg_catalog.string_agg(%s, ', ' ORDER BY key) FROM pg_catalog.jsonb_each_text(labels)) AS matchers
        FROM profstore.deploys
        WHERE "time" < $__timeTo()::timestamptz
        ORDER BY "time" DESC
        LIMIT 50
      ||| % std.stripChars(q.matcher('key', 'value'), '\n'), 7, '2 DESC NULLS LAST, 1'),
      [
        g.link('version', 'Before and after', '/d/profstore-compare?from=${__data.fields.from_ms}&to=${__data.fields.to_ms}&${type:queryparam}'
                                              + '&var-matchers=${__data.fields.matchers:percentencode}&var-before=${__data.fields.matchers:percentencode}&var-value=$__all&var-back=before&var-begin=', 240),
        g.hidden('from_ms'),
        g.hidden('to_ms'),
        g.hidden('matchers'),
      ]
    )],
  ]
)
