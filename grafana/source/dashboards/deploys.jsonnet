// Deploys: what a deploy changed, on which hosts and periods that answer rests, and what it could have found.
local g = import 'grafana.libsonnet';
local p = import 'parts.libsonnet';
local q = import 'queries.libsonnet';

local milliseconds(time) = 'pg_catalog.floor(extract(epoch FROM %s) * 1000)::int8' % time;

// Deploys of the selection that have six minutes or more before the next one; fewer say nothing.
local deploys = |||
  SELECT "time", version, labels, role
  FROM
    (SELECT d.*, lead(d."time", 1, pg_catalog.now()) OVER (ORDER BY d."time", d.version) AS next
     FROM profstore.deploys AS d
     WHERE EXISTS (SELECT FROM profstore.matching_series(%(selector)s) AS m WHERE m.labels @> d.labels)) AS d
  WHERE next >= "time" + interval '6 min' AND "time" < $__timeTo()::timestamptz
||| % { selector: q.selector };

// The deploy that is chosen, otherwise the newest. There is none if no series has the label of hosts, or the values of the type do not add up.
local chosen = |||
  SELECT "time", version
  FROM (%(deploys)s) AS d
  WHERE EXISTS (SELECT FROM profstore.profile_types() WHERE profile_type = %(type)s AND delta)
    AND EXISTS (SELECT FROM profstore.matching_series(%(selector)s) AS m WHERE m.labels ->> '$host' <> '')
  ORDER BY "time"::text = '$deploy' DESC, "time" DESC, version
  LIMIT 1
||| % { deploys: std.stripChars(deploys, '\n'), type: q.type, selector: q.selector };

local call(name) = |||
  profstore.%(name)s(
    %(selector)s,
    chosen.version, at => chosen."time", host => '$host', granularity => '$granularity',
    %(filters)s)
||| % { name: name, selector: q.selector, filters: q.filters };

local empty(words, sql, columns, order) = std.strReplace(q.orNothing(sql, columns, order), 'nothing here: see Selection', words);
local selection = ['type', 'label', 'value', 'only', 'matchers'];
local others = selection + ['host', 'granularity', 'focus', 'ignore', 'show', 'hide', 'preset'];

p.page(
  'deploys',
  'Deploys',
  'What a deploy made dearer or cheaper, and how sure that is',
  [
    p.type,
    p.label,
    p.value,
    p.only,
    p.matchers,
    g.queried('deploy', 'Deploy', |||
      SELECT version || ', ' || pg_catalog.to_char("time", 'YYYY-MM-DD HH24:MI') AS __text, "time"::text AS __value
      FROM (%s) AS d
      ORDER BY "time" DESC, version
      LIMIT 200
    ||| % std.stripChars(deploys, '\n')),
    g.queried('host', 'Hosts by', |||
      SELECT label
      FROM profstore.label_names(%s)
      ORDER BY pg_catalog.array_position(ARRAY['node', 'host', 'instance', 'pod'], label) NULLS LAST, label
    ||| % q.selector, g.once { description: 'The label that distinguishes hosts, which are the units of observation' }),
  ] + p.filters + [p.granularity],
  [
    [p.selection()],
    [p.table(
      'What the answer rests on',
      'The deploy that is chosen, otherwise the newest of the selection; hosts and samples that were compared. A function of 1 % of the whole would have been found if it had changed by the number in detectable. Reason says why nothing can be judged.',
      24,
      4,
      empty('no deploy fits: see Selection, and the list of deploys', |||
        SELECT b.version, b.method, b.deploy_time AS deployed, b.hosts, b.periods, extract(epoch FROM b.after_to - b.after_from)::float8 AS "each", b.samples_before AS "samples before",
          b.samples_after AS "samples after", b.tested, b.detectable_at_1_percent AS detectable, b.load_change AS load, coalesce(b.reason, b.warning) AS reason
        FROM (%s) AS chosen
        CROSS JOIN LATERAL %s AS b
      ||| % [std.stripChars(chosen, '\n'), std.stripChars(call('regressions_basis'), '\n')], 12, '1'),
      [
        g.width('version', 100),
        g.width('method', 120),
        g.width('deployed', 150),
        g.unit('detectable', 'percentunit'),
        g.unit('load', 'percentunit'),
        g.unit('each', 's'),
        g.override('reason', { 'custom.minWidth': 150, 'custom.inspect': true }),
      ] + [g.width(name, 75) for name in ['hosts', 'periods', 'each', 'tested', 'load']] + [g.width('detectable', 95)] + [g.width('samples ' + side, 115) for side in ['before', 'after']]
    )],
    [p.table(
      'What the deploy changed',
      'Functions whose cost changed, beyond what they do between deploys: the cost in cores, the change with its interval of 95 %, and the false discovery rate q. A click compares flame graphs of before and after.',
      24,
      12,
      // without a row, the link shows the page's range
      std.strReplace(empty('no change was found; "detectable" above says how large one would have to be', |||
        SELECT r."function", r.status, r.cores, r.change, r.change_low AS "at least", r.change_high AS "at most", r.base_share AS "share before", r.share AS "share after", r.q_value AS q, r.measure,
          coalesce('was ' || r.renamed_from, 'explains ' || r.within) AS note, r.file, f.filter AS focus,
          %(from)s AS from_ms, %(to)s AS to_ms, (chosen."time" - (w.after_to - w.after_from))::text AS begin
        FROM (%(chosen)s) AS chosen
        CROSS JOIN LATERAL (SELECT chosen."time" + interval '5 min' AS after_from, chosen."time" + interval '35 min' AS after_to) AS w
        CROSS JOIN LATERAL %(call)s AS r
        CROSS JOIN LATERAL %(frame)s AS f
      ||| % { chosen: std.stripChars(chosen, '\n'), call: std.stripChars(call('regressions'), '\n'), frame: q.frame('r'), from: milliseconds('w.after_from'), to: milliseconds('w.after_to') }, 16, 'cores DESC NULLS LAST, 1'), ', NULL, NULL, NULL\n', ', %s, %s, NULL\n' % [milliseconds('$__timeFrom()::timestamptz'), milliseconds('$__timeTo()::timestamptz')]),
      [
        g.link('function', 'Compare before and after', '/d/profstore-compare?from=${__data.fields.from_ms}&to=${__data.fields.to_ms}' + std.join('', ['&${%s:queryparam}' % name for name in selection])
                                                       + '&var-begin=${__data.fields.begin:percentencode}&var-focus=${__data.fields.focus:percentencode}', 220),
        g.width('status', 100),
        g.unit('cores', 'suffix: cores'),
        g.change('change'),
        g.unit('at least', 'percentunit'),
        g.unit('at most', 'percentunit'),
        g.unit('share before', 'percentunit'),
        g.unit('share after', 'percentunit'),
        g.hidden('focus'),
        g.hidden('from_ms'),
        g.hidden('to_ms'),
        g.hidden('begin'),
      ] + [g.width(name, 80) for name in ['change', 'at least', 'at most', 'q', 'measure']] + [g.width(name, 110) for name in ['cores', 'share before', 'share after']]
      + [g.override(name, { 'custom.minWidth': 80 }) for name in ['note', 'file']]
    )],
    [p.graph('Rate', 'Rate per second of the selection, CPU time in cores, waits in threads. Deploys are lines.', 24, 8, q.lines(q.selector, "'$host'", q.filters))],
    [p.table(
      'All deploys',
      'Deploys of the selection. A click judges one.',
      24,
      8,
      empty('no deploy fits the selection; grafana/README.md says how CI stores them', |||
        SELECT version, "time", labels::text AS labels, role, "time"::text AS deploy
        FROM (%s) AS d
        ORDER BY "time" DESC
        LIMIT 50
      ||| % std.stripChars(deploys, '\n'), 5, '2 DESC NULLS LAST, 1'),
      [
        g.link('version', 'Judge this deploy', p.to('deploys', others, { deploy: '${__data.fields.deploy:percentencode}' }), 240),
        g.hidden('deploy'),
      ]
    )],
  ]
)
