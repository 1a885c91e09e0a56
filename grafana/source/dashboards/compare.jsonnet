// Compare: any two selections. The comparison has the range of the page; the baseline has another range, other labels, or both.
local g = import 'grafana.libsonnet';
local p = import 'parts.libsonnet';
local q = import 'queries.libsonnet';

local selector(matchers) = 'profstore.selector(%s, %s, %s)' % [q.type, q.labels, q.matchers(matchers)];
// If the text is not a time, both sides select nothing, and the baseline's status says so.
local typedTime = "profstore.valid_time('$begin', '${__timezone}')";
local wrongTime = "'$begin' <> '' AND %s IS NULL" % typedTime;
local valid(matchers) = "profstore.valid_selector(CASE WHEN %s THEN 'none:none:none:none:none' ELSE %s END, '$focus', '$ignore', '$show', %s)" % [wrongTime, selector(matchers), q.hide];
// The begin of the baseline: as typed or clicked, or an interval before the comparison's. Both ranges are equally long.
local begin = |||
  coalesce(%s, $__timeFrom()::timestamptz - coalesce(nullif(nullif('$back', ''), 'before')::interval, $__timeTo()::timestamptz - $__timeFrom()::timestamptz))
||| % typedTime;
local rangeBase = '%s, %s + ($__timeTo()::timestamptz - $__timeFrom()::timestamptz)' % [std.stripChars(begin, '\n'), std.stripChars(begin, '\n')];
local rangeNow = '$__timeFrom()::timestamptz, $__timeTo()::timestamptz';
local call(name, more) = |||
  profstore.%(name)s(
    %(b)s,
    %(rangeBase)s,
    %(rangeNow)s,
    base_selector => %(a)s, absolute => $absolute, granularity => '$granularity', %(more)s,
    %(filters)s)
||| % { name: name, a: valid('before'), b: valid('matchers'), rangeBase: rangeBase, rangeNow: rangeNow, more: more, filters: q.filters };
local variables = ['type', 'label', 'value', 'only', 'matchers', 'before', 'back', 'begin', 'absolute', 'granularity', 'ignore', 'show', 'hide', 'preset'];
local others = ['type', 'label', 'value', 'only', 'matchers', 'before', 'absolute', 'granularity', 'focus', 'ignore', 'show', 'hide', 'preset'];

local empty(words, sql, columns, order) = std.strReplace(q.orNothing(sql, columns, order), 'nothing here: see Selection', words);

// The status of a side; the baseline's also reports a malformed time.
local side(matchers, range, status='status') = |||
  SELECT %s
  FROM profstore.selection_status(%s, %s, %s, matchers => '$%s')
||| % [status, selector(matchers), range, std.join(', ', [filter[1] for filter in q.typedFilters]), matchers];
local statusBase = "CASE WHEN %s THEN 'no time is \"' || '$begin' || '\"; type one such as 2026-11-01 12:00' ELSE pg_catalog.regexp_replace(status, ' Widen (the range|it)\\.$', ' Choose another baseline.') END AS status" % wrongTime;

// The graph of a side; the baseline's times are shifted to those of the comparison.
local graph(name, matchers, from, shift) = |||
  SELECT "time" + (%(shift)s) AS "time", '%(name)s' AS metric, %(value)s AS value
  FROM profstore.timeseries(%(selector)s, %(range)s, step => greatest(interval '$__interval', interval '10 s'),
    %(filters)s)
  GROUP BY 1
||| % { name: name, selector: valid(matchers), range: from, shift: shift, filters: q.filters, value: q.brief('pg_catalog.sum(value)') };

p.page(
  'compare',
  'Compare',
  'Two selections: what costs more in the comparison than in the baseline',
  [
    p.type,
    p.label,
    p.value,
    g.inMenu(p.only),
    g.typed('before', 'Baseline: matchers', 'Conditions on the labels of the baseline, such as version="1"'),
    g.typed('matchers', 'Comparison: matchers', 'Conditions on the labels of the comparison, such as version="2"; its range is that of the page'),
    g.chosen('back', 'Baseline is', [
      ['just before', 'before'],  // Grafana would take the text of an option without a value as its value
      ['an hour before', '1 hour'],
      ['a day before', '1 day'],
      ['a week before', '7 days'],
      ['at the same time', '0'],
    ]),
    g.typed('begin', 'Baseline begins at', 'A time such as 2026-11-01 12:00, used instead of "Baseline is"; without a time zone, that of the page is used. A click on a point of the comparison in the graph sets it'),
    g.inMenu(g.chosen('absolute', 'Compare', [['shares', 'false'], ['values', 'true']])),
  ] + p.filters + [p.granularity],
  [
    [
      p.selection(12) + { title: 'Baseline', targets: [g.query(side('before', rangeBase, statusBase))] },
      p.selection(12) + { title: 'Comparison', targets: [g.query(side('matchers', rangeNow))] },
    ],
    [p.graph('Both over time', 'Rate per second, CPU time in cores, waits in threads; the baseline is drawn at the times of the comparison. Drag over the range to compare; a click on a point of the comparison sets where one of them begins.', 24, 8, |||
      WITH lines AS
        (%s
         UNION ALL
         %s)
      SELECT * FROM lines
      UNION ALL
      SELECT $__timeFrom()::timestamptz, 'no samples on either side', NULL
      WHERE NOT EXISTS (SELECT FROM lines)
      ORDER BY 1, 2
    ||| % [std.stripChars(graph('Baseline', 'before', rangeBase, '$__timeFrom()::timestamptz - ' + std.stripChars(begin, '\n')), '\n'), std.stripChars(graph('Comparison', 'matchers', rangeNow, "interval '0'"), '\n')]) + {
      fieldConfig+: { defaults+: { custom+: { stacking: { mode: 'none', group: 'A' } }, links: [
        { title: 'The baseline begins here', url: p.to('compare', others, { begin: '${__value.time}' }) },
        { title: 'The comparison begins here, the baseline is as long a time before', url: p.fromPoint('compare', others, { back: 'before', begin: '' }) },
      ] }, overrides: [g.override('Baseline', { links: [] })] },  // its points are drawn at other times than their own
    }],
    [p.flame('Difference', 'Bars are as wide as both sides together. Red: more in the comparison. Shares of the totals, or values if Compare says so.', q.difference(call('flamegraph_diff', 'max_nodes => 16384'), 'the baseline', 'the comparison'), '/^(value|self)(Right)?$/', { colorScheme: 'diffColorBlind' })],
    [p.table(
      'What changed',
      'Functions by their change from baseline to comparison, as a share of the total.',
      24,
      12,
      empty('nothing here: see above', q.changes(call('top_diff', 'max_rows => 200'), call('flamegraph_diff', 'max_nodes => 1'), 'baseline', 'comparison'), 10, q.mostChanged),
      p.changed('baseline', 'comparison', p.to('compare', variables, { focus: '${__data.fields.focus:percentencode}' })),
      '/^(self|total), (baseline|comparison)$/'
    )],
    [p.table(
      'Deploys',
      'The latest deploys. A click compares the half hour after one with the half hour before.',
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
                                              + '&var-matchers=${__data.fields.matchers:percentencode}&var-before=${__data.fields.matchers:percentencode}&var-value=$__all&var-only=$__all&var-back=before&var-begin=', 240),
        g.hidden('from_ms'),
        g.hidden('to_ms'),
        g.hidden('matchers'),
      ]
    )],
  ]
)
