// Labels: what is selected, broken down by every label; a click on a value selects it alone.
local g = import 'grafana.libsonnet';
local p = import 'parts.libsonnet';
local q = import 'queries.libsonnet';

local all = 'profstore.valid_selector(%s)' % q.typedOfAll;
local each = std.stripChars(q.repeated('split'), '\n');
local before = '($__timeTo()::timestamptz - $__timeFrom()::timestamptz)';

// Both matchers, those that were typed and that of the value.
local narrowed(label, value) = "pg_catalog.concat_ws(', ', nullif(pg_catalog.btrim('$matchers'), ''), %s)" % std.stripChars(q.matcher(label, value), '\n');

p.page(
  'labels',
  'Labels',
  'What is selected, broken down by its labels',
  [
    p.type,
    p.matchers,
    g.queried('split', 'Labels', |||
      SELECT label
      FROM profstore.label_names(%s, $__timeFrom(), $__timeTo())
      ORDER BY pg_catalog.array_position(%s, label) NULLS LAST, label
    ||| % [all, p.preferred], { multi: true, includeAll: true, current: { text: ['All'], value: ['$__all'] } }),
  ],
  [
    [p.selectionOf(q.typedOfAll)],
    [p.graph('All that is selected', 'Rate per second of all that is selected, CPU time in cores; drag to narrow the range.', 24, 8, q.lines(all, ''))],
    g.row('By each label', [
      [p.table(
        'By $split',
        'The mean over the range, its share, and what changed against as long a time before. A click selects the value alone.',
        12,
        9,
        q.orNothing(|||
          SELECT coalesce(nullif(n.value, ''), '(none)') AS "value", n.mean, n.mean / nullif(pg_catalog.sum(n.mean) OVER (), 0) AS share,
            n.mean / nullif(b.mean, 0) - 1 AS change, %s AS matchers
          FROM (%s) AS n
          LEFT JOIN (%s) AS b ON b.value IS NOT DISTINCT FROM n.value
        ||| % [narrowed(each, 'n.value'), std.stripChars(q.means(all, each, "interval '0'"), '\n'), std.stripChars(q.means(all, each, before), '\n')], 5, '2 DESC NULLS LAST, 1'),
        [
          g.override('value', {
            links: [
              { title: 'This value alone', url: p.to('labels', ['type'], { matchers: '${__data.fields.matchers:percentencode}' }) },
              { title: 'Its profile', url: p.to('profiles', ['type'], { matchers: '${__data.fields.matchers:percentencode}' }) },
            ],
            'custom.width': 220,
          }),
          g.hidden('matchers'),
          g.share('share'),
          g.change('change'),
          g.override('mean', { 'custom.width': 130 }),
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
