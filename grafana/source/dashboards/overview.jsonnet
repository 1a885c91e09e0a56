// Overview: the cost of each value of a label, compared with the same time yesterday; a click opens its profile.
local g = import 'grafana.libsonnet';
local p = import 'parts.libsonnet';
local q = import 'queries.libsonnet';

local all = 'profstore.valid_selector(%s)' % q.typedOfAll;
local one = "profstore.valid_selector(profstore.selector(%s, pg_catalog.jsonb_build_object('$label', %s), %s))" % [q.type, std.stripChars(q.repeated('each'), '\n'), q.matchers()];

p.page(
  'overview',
  'Overview',
  'What costs most, and what costs more than yesterday',
  [
    p.type,
    p.label,
    p.only,
    p.matchers,
    g.queried('each', 'Graphs of', |||
      SELECT value
      FROM
        (SELECT labels ->> '$label' AS value, pg_catalog.sum(value) AS total
         FROM profstore.timeseries(%s, $__timeFrom(), $__timeTo(), by => ARRAY['$label'])
         GROUP BY 1) AS t
      WHERE value <> ''
      ORDER BY total DESC
      LIMIT 12
    ||| % all, { multi: true, includeAll: true, current: { text: ['All'], value: ['$__all'] } }),
  ],
  [
    [p.selectionOf(q.typedOfAll)],
    [p.graph('By $label', 'Rate per second, CPU time in cores, waits in threads; the ten largest, and all others as one line.', 24, 9, q.lines(all, "'$label'"))],
    [p.table(
      'Every $label',
      'The mean over the range, its share, and the change since the same time yesterday, if there are samples of it. A click on the value opens its profile; = and ≠ narrow this page to the value, or to all others.',
      24,
      10,
      q.orNothing(|||
        SELECT coalesce(nullif(n.value, ''), '(none)') AS "value", n.mean, n.mean / nullif(pg_catalog.sum(n.mean) OVER (), 0) AS share, y.mean AS yesterday,
          n.mean / nullif(y.mean, 0) - 1 AS change, '=' AS "only", '≠' AS without,
          CASE WHEN coalesce(n.value, '') = '' THEN '$' || '__all' ELSE n.value END AS picked,
          CASE WHEN coalesce(n.value, '') = '' THEN %s ELSE '$matchers' END AS matchers, %s AS alone, %s AS others
        FROM (%s) AS n
        LEFT JOIN (%s) AS y ON y.value IS NOT DISTINCT FROM n.value
      ||| % [q.narrowed("'$label'", "''"), q.narrowed("'$label'", 'n.value'), q.narrowed("'$label'", 'n.value', '!='), std.stripChars(q.means(all, "'$label'", "interval '0'"), '\n'), std.stripChars(q.means(all, "'$label'", "interval '1 day'"), '\n')], 11, '2 DESC NULLS LAST, 1'),
      [
        // Value does not list the empty value, so the link uses a matcher for it.
        g.link('value', 'Its profile', p.to('profiles', ['type', 'label', 'only'], { value: '${__data.fields.picked:percentencode}', matchers: '${__data.fields.matchers:percentencode}' }), 360),
        g.sign('only', 'This value alone', p.to('overview', ['type', 'label', 'only'], { matchers: '${__data.fields.alone:percentencode}' })),
        g.sign('without', 'All but this value', p.to('overview', ['type', 'label', 'only'], { matchers: '${__data.fields.others:percentencode}' })),
        g.hidden('picked'),
        g.hidden('matchers'),
        g.hidden('alone'),
        g.hidden('others'),
        g.width('mean', 130),
        g.share('share'),
        g.width('yesterday', 130),
        g.change('change'),
        g.width('change', 100),
      ],
      '/^$/'
    ) + {
      targets: [super.targets[0], g.query(q.rateUnit, 'unit')],
      transformations: [g.unitFrom('unit', '/^(mean|yesterday)$/')],
    }],
    g.row('$each', [
      [p.graph('$each', 'Rate per second, CPU time in cores, waits in threads; drag to narrow the range.', 8, 6, q.lines(one, "'$label'")) + {
        repeat: 'each',
        repeatDirection: 'h',
        maxPerRow: 3,
        options+: { legend: { showLegend: false } },
        fieldConfig+: { defaults+: { links: [
          { title: 'Its profile', url: p.to('profiles', ['type', 'label', 'only', 'matchers'], { value: '${each:percentencode}' }) },
          { title: 'After this point against before', url: p.fromPoint('compare', ['type', 'label', 'only'], { value: '${each:percentencode}', matchers: '${matchers:percentencode}', before: '${matchers:percentencode}', back: 'before', begin: '' }) },
        ] } },
      }],
    ]) + { title: 'One by one' },
  ]
)
