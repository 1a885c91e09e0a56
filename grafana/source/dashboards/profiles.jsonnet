// Profiles: one selection in all views.
local g = import 'grafana.libsonnet';
local p = import 'parts.libsonnet';
local q = import 'queries.libsonnet';

local selected = ['type', 'label', 'value', 'by', 'matchers'];
local ofFunction = '${__data.fields.focus:percentencode}';

local filters = q.filters + ',\n  ' + std.stripChars(q.trace, '\n');

local call(name, range, more='') = |||
  profstore.%(name)s(
    %(selector)s,
    %(range)s%(more)s,
    %(filters)s)
||| % { name: name, selector: q.selector, range: std.stripChars(range, '\n'), more: more, filters: filters };

local rows = ", granularity => '$granularity'";

p.page(
  'profiles',
  'Profiles',
  'Where the time goes: continuous profiles stored by profstore',
  [p.type, p.label, p.value, p.matchers, p.by] + p.filters + [
    p.granularity,
    g.chosen('inverted', 'Begin at', [['roots', 'false'], ['leaves', 'true']]),
    g.typed('trace', 'Trace', 'Samples of this trace alone: its id, 32 hexadecimal digits'),
    g.typed('function', 'Function', 'Whose callers and callees are shown; a click in a table sets it'),
  ],
  [
    [p.selection()],
    [p.graph('$type',
             'Rate per second, CPU time in cores; drag over a range to see its flame graph.',
             24,
             8,
             q.lines(q.selector, '$by', filters))],
    [p.flame('Flame graph', 'All stacks of the range, merged.', |||
      SELECT level, value, self, label, truncated
      FROM %s
      ORDER BY ord
    ||| % std.stripChars(call('flamegraph', q.range, ',\n  max_nodes => 16384, inverted => $inverted' + rows), '\n'))],
    [p.table(
      'Hottest functions',
      'Self: in the function alone; total: with all that it calls.',
      24,
      12,
      q.orNothing(|||
        SELECT "function", self, self_share AS "self, share", total, total_share AS "total, share", file, mapping,
          %s AS focus
        FROM %s
      ||| % [q.focusOn('"function"'), std.stripChars(call('top', q.range, ',\n  max_rows => 200' + rows), '\n')], 8, '2 DESC NULLS LAST, 4 DESC, 1'),
      [
        g.override('function', {
          links: [
            { title: 'Only stacks with this function', url: p.to('profiles', selected, { focus: ofFunction }) },
            { title: 'Its callers and callees', url: p.to('profiles', selected + ['focus'], { 'function': '${__value.raw:percentencode}' }) },
          ],
          'custom.width': 480,
        }),
        g.hidden('focus'),
        g.share('self, share'),
        g.share('total, share'),
      ],
      '/^(self|total)$/'
    )],
    g.row('Compared with the range before', [
      [p.flame('Difference',
               'Baseline: as long a time just before the range. Colours tell shares of the total.',
               |||
                 SELECT level, value, self, label, "valueRight", "selfRight", truncated
                 FROM %s
                 ORDER BY ord
               ||| % std.stripChars(call('flamegraph_diff', q.rangeBefore, ',\n  max_nodes => 16384' + rows), '\n'),
               '/^(value|self)(Right)?$/',
               { colorScheme: 'diffColorBlind' })],
      [p.table(
        'What changed',
        'Functions by what they cost more or less than in as long a time before, as shares of all.',
        24,
        12,
        q.orNothing(|||
          SELECT "function", self_delta AS "self, change", base_self AS "self, before", self, total_delta AS "total, change", base_total AS "total, before", total,
            file, mapping, %s AS focus
          FROM %s
        ||| % [q.focusOn('"function"'), std.stripChars(call('top_diff', q.rangeBefore, ',\n  max_rows => 200' + rows), '\n')], 10, '2 DESC NULLS LAST, 5 DESC, 1'),
        [
          g.link('function', 'Only stacks with this function', p.to('profiles', selected, { focus: ofFunction }), 480),
          g.hidden('focus'),
        ],
        '/^(self|total)(, (change|before))?$/'
      )],
    ]),
    g.row('Callers and callees of "$function"', [
      [p.flame(side[0], 'From the function %s. Choose it by a click in Hottest functions.' % side[1], |||
        SELECT level, value, self, label, truncated
        FROM profstore.sandwich(
          %s,
          $__timeFrom(), $__timeTo(),
          "function" => coalesce(nullif('$function', ''), (SELECT t."function" FROM %s AS t ORDER BY t.self DESC LIMIT 1), ''), max_nodes => 8192,
          %s)
        WHERE side = '%s'
        ORDER BY ord
      ||| % [q.selector, std.stripChars(call('top', q.range, ', max_rows => 1'), '\n'), filters, std.asciiLower(side[0])])]
      for side in [['Callers', 'to the outermost'], ['Callees', 'to the leaves']]
    ], true),
  ]
)
