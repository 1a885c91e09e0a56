// Labels: the selection by every label; a click on a value selects it alone.
local g = import 'grafana.libsonnet';
local p = import 'parts.libsonnet';
local q = import 'queries.libsonnet';

local all = 'profstore.valid_selector(%s)' % q.typedOfAll;
local each = std.stripChars(q.repeated('split'), '\n');
local before = '($__timeTo()::timestamptz - $__timeFrom()::timestamptz)';

p.page(
  'labels',
  'Labels',
  'The selection by each of its labels',
  [
    p.type,
    p.only,
    p.matchers,
    g.queried('split', 'Labels', |||
      SELECT label
      FROM profstore.label_names(%s, $__timeFrom(), $__timeTo())
      ORDER BY pg_catalog.array_position(%s, label) NULLS LAST, label
    ||| % [all, p.preferred], g.once { multi: true, includeAll: true, current: { text: ['All'], value: ['$__all'] } }),
  ],
  [
    [p.selectionOf(q.typedOfAll)],
    [p.graph('All that is selected', 'Rate per second of the whole selection, CPU time in cores, waits in threads; drag to narrow the range.', 24, 8, q.lines(all, ''))],
    g.row('By each label', [
      [p.table(
        'By $split',
        'The mean over the range, its share, and the change since the equally long range before. A click on the value selects it alone, on ≠ all others; → opens its profile.',
        12,
        9,
        q.orNothing(|||
          SELECT coalesce(nullif(n.value, ''), '(none)') AS "value", n.mean / nullif(pg_catalog.sum(n.mean) OVER (), 0) AS share, n.mean,
            n.mean / nullif(b.mean, 0) - 1 AS change, '≠' AS without, '→' AS profile, %s AS matchers, %s AS others
          FROM (%s) AS n
          LEFT JOIN (%s) AS b ON b.value IS NOT DISTINCT FROM n.value
        ||| % [q.narrowed(each, 'n.value'), q.narrowed(each, 'n.value', '!='), std.stripChars(q.means(all, each, "interval '0'"), '\n'), std.stripChars(q.means(all, each, before), '\n')], 8, '3 DESC NULLS LAST, 1'),
        [
          g.override('value', {
            links: [{ title: 'This value alone', url: p.to('labels', ['type', 'only'], { matchers: '${__data.fields.matchers:percentencode}' }) }],
            'custom.minWidth': 120,
            'custom.inspect': true,
          }),
          g.sign('without', 'All but this value', p.to('labels', ['type', 'only'], { matchers: '${__data.fields.others:percentencode}' })),
          g.sign('profile', 'Its profile', p.to('profiles', ['type', 'only'], { matchers: '${__data.fields.matchers:percentencode}', value: '$__all' }), 65),
          g.hidden('matchers'),
          g.hidden('others'),
          g.share('share'),
          g.width('share', 100),
          g.change('change'),
          g.width('change', 75),
          g.width('mean', 115),
        ],
        '/^$/'
      ) + {
        repeat: 'split',
        repeatDirection: 'h',
        maxPerRow: 2,
        targets: [super.targets[0], g.query(q.rateUnit, 'unit')],
        transformations: [g.unitFrom('unit', '/^mean$/')],
      }],
    ]),
  ]
)
