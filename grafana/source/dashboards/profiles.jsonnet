// Profiles: all views of one selection.
local g = import 'grafana.libsonnet';
local p = import 'parts.libsonnet';
local q = import 'queries.libsonnet';

local selected = ['type', 'label', 'value', 'only', 'by', 'matchers'];
local filtered = selected + ['focus', 'ignore', 'show', 'hide', 'preset', 'trace'];
local ofFrame = '${__data.fields.focus:percentencode}';
// If a frame is a file or a mapping, the link opens the hottest function of its stacks.
local functionOf = { 'function': '${__data.fields.named:percentencode}', focus: '${__data.fields.within:percentencode}' };

local filters = q.filters + ',\n  ' + q.trace;

local call(name, range, more='') = |||
  profstore.%(name)s(
    %(selector)s,
    %(range)s%(more)s,
    %(filters)s)
||| % { name: name, selector: q.selector, range: std.stripChars(range, '\n'), more: more, filters: filters };

// The status also reports a malformed trace id, and a trace without samples in the range.
local traced = |||
  CASE WHEN status !~ '^(\d+ series|The filters.*)$' OR pg_catalog.btrim('$trace') = '' THEN status
    WHEN '$trace' !~ '^\s*[0-9a-fA-F]{32}\s*$' THEN 'Trace must be an id of 32 hexadecimal digits.'
    WHEN NOT EXISTS (SELECT FROM profstore.trace_samples AS t
                     WHERE t.trace_id = pg_catalog.btrim('$trace')::uuid AND t."time" >= $__timeFrom()::timestamptz AND t."time" < $__timeTo()::timestamptz)
      THEN 'No samples of this trace in the range.'
    ELSE status END AS status
|||;

// A table of top() by file, mapping or line.
local place(title, granularity, width=12) = p.table(
  title,
  'Self: the %s alone; total: with the functions that it calls.' % granularity,
  width,
  12,
  q.orNothing(|||
    SELECT t."function" AS "%s", t.self, t.self_share AS "self, share", t.total, f.filter AS focus
    FROM %s AS t,
      %s AS f
  ||| % [granularity, std.stripChars(call('top', q.range, ",\n  max_rows => 100, granularity => '%s'" % granularity), '\n'), q.frame('t', "'%s'" % granularity)], 5, '2 DESC NULLS LAST, 1'),
  [g.override(granularity, { links: [{ title: 'Only stacks with it', url: p.to('profiles', selected, { focus: ofFrame }) }], 'custom.minWidth': 180 }), g.hidden('focus'), g.width('self', 90), g.width('total', 90), g.share('self, share'), g.width('self, share', 150)],
  '/^(self|total)$/'
);
local lines = place('Lines', 'line', 24) + {
  description: 'Self: the line alone; total: with the functions that it calls. Source opens the line at the forge that the labels service_repository and service_git_ref name.',
  targets: [g.query(q.orNothing(|||
    SELECT "function" AS line, self, self_share AS "self, share", total, focus, CASE WHEN url <> '' THEN 'open' END AS source, url
    FROM
      (SELECT t.*, f.filter AS focus, %s AS url
       FROM %s AS t,
         %s AS f) AS linked
  ||| % [q.forge(q.selector, 't.file', "pg_catalog.substring(t.\"function\", ':(\\d+)$')::int8"), std.stripChars(call('top', q.range, ",\n  max_rows => 100, granularity => 'line'"), '\n'), q.frame('t', "'line'")], 7, '2 DESC NULLS LAST, 1'))] + super.targets[1:],
  fieldConfig+: { overrides+: [g.sign('source', 'Its source code', '${__data.fields.url:raw}'), g.hidden('url')] },
};

// The call graph: circles are functions, the ring of a circle is the self part of its total. The panel uses ids in the names of arrow heads,
// so they are hashes. Its layout takes minutes for a thousand edges, so edges below 1 % are left out.
local calls = std.stripChars(call('callgraph', q.range, ',\n  max_nodes => 25'), '\n');
local callNodes = |||
  WITH calls AS MATERIALIZED
    (SELECT caller, callee FROM %(calls)s WHERE share >= 0.01 OR caller = callee),
  shown AS
    (SELECT caller AS id FROM calls
     UNION
     SELECT callee FROM calls),
  nodes AS
    (SELECT pg_catalog.md5(s.id) AS id, profstore.short_name(s.id, 40) AS title, profstore.readable(t.total, %(unit)s) AS mainstat,
       profstore.readable(t.self, %(unit)s) || ' self' AS secondarystat,
       coalesce(t.self::float8 / nullif(t.total, 0), 0) AS arc__self, 1 - coalesce(t.self::float8 / nullif(t.total, 0), 0) AS arc__called,
       20 + 30 * t.total_share AS noderadius
     FROM shown AS s
     JOIN %(top)s AS t ON t."function" = s.id)
  SELECT * FROM nodes
  UNION ALL
  SELECT 'nothing', 'nothing here: see Selection', '', '', 0, 1, 20
  WHERE NOT EXISTS (SELECT FROM nodes)
||| % { calls: calls, unit: "pg_catalog.split_part('$type', ':', 3)", top: std.stripChars(call('top', q.range, ',\n  max_rows => NULL'), '\n') };
local callEdges = |||
  SELECT pg_catalog.md5(pg_catalog.md5(caller) || callee) AS id, pg_catalog.md5(caller) AS source, pg_catalog.md5(callee) AS target, profstore.readable(value, pg_catalog.split_part('$type', ':', 3)) AS mainstat,
    1 + 9 * share AS thickness, CASE WHEN indirect THEN '4 4' ELSE '' END AS strokedasharray
  FROM %s
  WHERE caller <> callee AND share >= 0.01
||| % calls;

// Commands that write files of the selection, for a shell and for psql. The SQL builds "--" from parts, because Grafana removes comments.
local exports = |||
  WITH selection AS
    (SELECT place, name, value
     FROM
       (VALUES (1, 'selector', %s), (2, 'from', $__timeFrom()::timestamptz::text), (3, 'to', $__timeTo()::timestamptz::text),
         (4, 'focus', '$focus'), (5, 'ignore', '$ignore'), (6, 'show', '$show'), (7, 'hide', %s), (8, 'trace', (%s)::text)) AS s(place, name, value)
     WHERE value <> ''),
  arguments AS
    (SELECT pg_catalog.string_agg(CASE WHEN place <= 3 THEN '' ELSE name || ' => ' END || pg_catalog.quote_literal(value), ', ' ORDER BY place) AS list,
       pg_catalog.string_agg(pg_catalog.format(' %%s%%s ''%%s''', pg_catalog.repeat('-', 2), name, pg_catalog.replace(value, '''', '''\''''')), '' ORDER BY place) AS flags
     FROM selection)
  SELECT x.what AS "for",
    CASE WHEN x.flags <> '' THEN pg_catalog.concat('profstore-collector export ', pg_catalog.replace(x.flags, '~', pg_catalog.repeat('-', 2)), pg_catalog.format(' %%sdb ''dbname=%%s''', pg_catalog.repeat('-', 2), pg_catalog.current_database()), a.flags)
      ELSE '' END AS "in a shell",
    pg_catalog.format(x.command, a.list) AS "in psql"
  FROM arguments AS a,
    (VALUES
      (1, 'a page of its own, for mails and reports', '~format html ~output profile.html', 'SELECT profstore.flamegraph_html(%%s) \g (tuples_only format=unaligned) profile.html'),
      (2, 'go tool pprof', '~format pprof ~output profile.pb', 'SELECT encode(profstore.pprof(%%s), ''base64'') \g (tuples_only format=unaligned) | base64 -d >profile.pb'),
      (3, 'speedscope', '~format speedscope ~output speedscope.json', 'SELECT profstore.speedscope(%%s) \g (tuples_only format=unaligned) speedscope.json'),
      (4, 'the profiler of Firefox', '~format firefox ~output firefox.json', 'SELECT profstore.firefox_profile(%%s) \g (tuples_only format=unaligned) firefox.json'),
      (5, 'flamegraph.pl', '~format folded ~output profile.folded', 'SELECT stack || '' '' || value FROM profstore.folded(%%s) \g (tuples_only format=unaligned) profile.folded'),
      (6, 'Graphviz', '', 'SELECT profstore.callgraph_dot(%%s) \g (tuples_only format=unaligned) calls.dot')) AS x(place, what, flags, command)
  ORDER BY x.place
||| % [q.selector, q.hide, q.typedTrace];

local rows = ", granularity => '$granularity'";

local page = p.page(
  'profiles',
  'Profiles',
  'Where the time goes: rate, flame graph, functions, calls, files and lines of one selection',
  [p.type, p.label, p.value, p.only, p.matchers, g.inMenu(p.by)] + p.filters + [
    p.granularity,
    g.inMenu(g.chosen('inverted', 'Begin at', [['roots', 'false'], ['leaves', 'true']])),
    g.inMenu(g.typed('trace', 'Trace', 'Only samples of this trace: its id, 32 hexadecimal digits')),
  ],
  [
    [p.selection(status=traced)],
    [p.graph('Rate',
             'Rate per second, CPU time in cores, waits in threads; drag over a range to see its flame graph.',
             24,
             8,
             q.lines(q.selector, q.by, filters)) + {
      fieldConfig+: { defaults+: { links: [{ title: 'These ten seconds', url: p.moment('profiles', filtered + ['granularity', 'inverted']) }] } },
    }],
    [p.flame('Flame graph', 'All stacks of the range, merged.', |||
      SELECT %s
      FROM %s
      ORDER BY ord
    ||| % [q.frames(), std.stripChars(call('flamegraph', q.range, ',\n  max_nodes => 16384, inverted => $inverted' + rows), '\n')])],
    [p.table(
      'Hottest functions',
      'Self: the function alone; total: with the functions that it calls.',
      24,
      12,
      q.orNothing(|||
        SELECT t."function", t.self, t.self_share AS "self, share", t.total, t.total_share AS "total, share", t.file, t.mapping,
          f.filter AS focus, f."function" AS named, CASE WHEN f."function" IS NULL THEN f.filter ELSE '$focus' END AS within
        FROM %s AS t,
          %s AS f
      ||| % [std.stripChars(call('top', q.range, ',\n  max_rows => 200' + rows), '\n'), q.frame('t')], 10, 'self DESC NULLS LAST, total DESC, "function"'),
      [
        g.override('function', {
          links: [
            { title: 'Only stacks with it', url: p.to('profiles', selected, { focus: ofFrame }) },
            { title: 'Its callers and callees', url: p.to('function', std.filter(function(name) !std.member(['by', 'trace', 'focus'], name), filtered), functionOf) },
          ],
          'custom.width': 380,
        }),
        g.hidden('focus'),
        g.hidden('named'),
        g.hidden('within'),
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
    g.row('Compared with the range before', [
      [p.table(
        'What changed',
        'Functions by their change since the equally long range before, as a share of the total.',
        24,
        12,
        q.orNothing(q.changes(call('top_diff', q.rangeBefore, ',\n  max_rows => 200' + rows), call('flamegraph_diff', q.rangeBefore, ',\n  max_nodes => 1' + rows), 'before', 'now'),
                    10,
                    q.mostChanged),
        p.changed('before', 'now', p.to('profiles', selected, { focus: ofFrame })),
        '/^(self|total), (before|now)$/'
      )],
      [p.flame('Difference',
               'Baseline: the equally long range before. Colours show the change of the share of the total.',
               q.difference(call('flamegraph_diff', q.rangeBefore, ',\n  max_nodes => 16384' + rows), 'the range before', 'the range'),
               '/^(value|self)(Right)?$/',
               { colorScheme: 'diffColorBlind' })],
    ], true),
    g.row('Call graph', [
      [g.panel('nodeGraph', 'Who calls whom', 'The 25 functions with the largest totals, and calls of at least 1 % of the total. A ring shows the self part of a function; a dashed arrow stands for calls through functions that are left out.', 24, 20, [
        g.query(callNodes),
        g.query(callEdges, 'edges'),
      ]) + {
        fieldConfig: { defaults: {}, overrides: [] },
        options: { nodes: { mainStatUnit: '', secondaryStatUnit: '', arcs: [{ field: 'arc__self', color: 'orange' }, { field: 'arc__called', color: 'blue' }] }, edges: {}, layoutAlgorithm: 'layered' },
      }],
    ], true),
    g.row('By mapping, file and line', [
      [place('Mappings', 'mapping'), place('Files', 'file')],
      [lines],
    ], true),
    g.row('Export', [
      [p.table(
        'Files for other programs',
        'Commands that write the selection to a file, for psql and for a shell that has profstore-collector, PGHOST, PGUSER and PGPASSWORD. A click on the eye of a cell shows the whole command to copy.',
        24,
        9,
        exports,
        [g.width('for', 310)] + [g.override(name, { 'custom.inspect': true }) for name in ['in a shell', 'in psql']]
      )],
    ]),
  ]
);

// layout() numbers the panels, so the id for the link is known only here.
local files = [panel.id for panel in page.panels if panel.title == 'Files for other programs'][0];
page {
  panels: [
    panel + if panel.title == 'Flame graph' then {
      links: [{ title: 'Download as a file', url: p.to('profiles', filtered + ['granularity', 'inverted']) + '&viewPanel=panel-%d' % files }],
    } else {}
    for panel in super.panels
  ],
}
