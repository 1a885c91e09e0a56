// Alert rules. Each has a query, whose rows are alerts: its text columns are labels, its number is compared with a threshold.
local dashboards = {
  agents: import 'dashboards/agents.jsonnet',
  deploys: import 'dashboards/deploys.jsonnet',
  overview: import 'dashboards/overview.jsonnet',
  profiles: import 'dashboards/profiles.jsonnet',
};
local datasource = 'profstore';
local cpu = "'process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta'";

// panel: [dashboard, title] of the panel that Grafana links to. address: a dashboard that shows the subject of the alert.
local rule(uid, title, bound, summary, sql, minutes=60, wait='5m', panel, address) = {
  local found = [each.id for each in dashboards[panel[0]].panels if each.title == panel[1]],
  uid: 'profstore-' + uid,
  title: title,
  condition: 'C',
  'for': wait,
  noDataState: 'OK',  // no row: no alert
  execErrState: 'Error',
  labels: { source: 'profstore' },
  annotations: {
    summary: summary,
    page: '{{ externalURL }}d/profstore-%s' % address,
    __dashboardUid__: 'profstore-' + panel[0],
    __panelId__: '%d' % found[0],
  },
  data: [
    {
      refId: 'A',
      relativeTimeRange: { from: minutes * 60, to: 0 },
      datasourceUid: datasource,
      model: { refId: 'A', format: 'table', rawQuery: true, editorMode: 'code', rawSql: std.stripChars(sql, '\n') },
    },
    {
      refId: 'C',
      relativeTimeRange: { from: minutes * 60, to: 0 },
      datasourceUid: '__expr__',
      model: { refId: 'C', type: 'threshold', expression: 'A', conditions: [{ evaluator: { type: 'gt', params: [bound] } }] },
    },
  ],
};

// CPU time by program: the first of these labels that a series has. An agent without configuration sets comm.
local programs = "ARRAY['service', 'workload', 'comm', 'exe']";
local means(back) = |||
  SELECT k.label, t.labels ->> k.label AS name, pg_catalog.sum(t.value) AS mean
  FROM profstore.timeseries(%(cpu)s, $__timeFrom()::timestamptz - %(back)s, $__timeTo()::timestamptz - %(back)s, step => interval '36500 days', by => %(programs)s) AS t
  CROSS JOIN LATERAL (SELECT label FROM unnest(%(programs)s) WITH ORDINALITY AS p(label, place) WHERE t.labels ->> label <> '' ORDER BY place LIMIT 1) AS k
  GROUP BY 1, 2
||| % { cpu: cpu, back: back, programs: programs };

local program = 'var-label={{ $labels.label }}&var-value={{ $labels.name | urlquery }}&from=now-1h&to=now';

// The name of a target without the path: all paths of a target are one.
local target = "pg_catalog.regexp_replace(name, '(://[^/]+)/.*$', '\\1')";

{
  apiVersion: 1,
  groups: [{
    orgId: 1,
    name: 'profstore',
    folder: 'profstore',
    interval: '1m',
    rules: [
      rule('function-share',
           'A function takes more than a quarter of the CPU time of a program',
           0.25,
           '{{ $labels.function }} takes {{ humanizePercentage $values.A.Value }} of {{ $labels.name }}',
           |||
             SELECT m.label, m.name, f."function", f.self_share AS value
             FROM (%s) AS m
             CROSS JOIN LATERAL profstore.top(profstore.selector(%s, pg_catalog.jsonb_build_object(m.label, m.name)), $__timeFrom(), $__timeTo(), max_rows => 3) AS f
             WHERE m.mean > 0.1
           ||| % [means("interval '0'"), cpu],
           panel=['profiles', 'Hottest functions'],
           address='profiles?' + program),
      rule('service-up',
           'A program costs half as much CPU time again as yesterday',
           0.5,
           '{{ $labels.name }} costs {{ humanizePercentage $values.A.Value }} more than yesterday',
           |||
             SELECT today.label, today.name, today.mean / yesterday.mean - 1 AS value
             FROM (%s) AS today
             JOIN (%s) AS yesterday USING (label, name)
             WHERE yesterday.mean > 0 AND today.mean > 0.1
           ||| % [means("interval '0'"), means("interval '1 day'")],
           panel=['overview', 'Every $label'],
           address='compare?%s&var-back=1%%20day' % program),
      rule('silent',
           'An agent or a target is silent',
           180,
           '{{ $labels.name }} has stored no new sample for {{ humanizeDuration $values.A.Value }}',
           |||
             SELECT %s AS name, role, extract(epoch FROM pg_catalog.now() - pg_catalog.min(last_seen))::float8 AS value
             FROM profstore.targets
             WHERE last_seen > pg_catalog.now() - interval '1 day' AND health <> 'stopped'
             GROUP BY 1, 2
           ||| % target,
           wait='0s',
           panel=['agents', 'Agents and targets'],
           address='agents?from=now-1h&to=now'),
      rule('lost',
           'An agent loses samples',
           0.01,
           '{{ $labels.node }} lost {{ humanizePercentage $values.A.Value }} of its samples',
           |||
             WITH lost AS
               (SELECT node, pg_catalog.sum(count) AS samples
                FROM profstore.losses
                WHERE "time" >= $__timeFrom()::timestamptz AND "time" < $__timeTo()::timestamptz AND reason NOT LIKE 'incomplete.%%'
                GROUP BY 1),
             stored AS
               (SELECT m.labels ->> 'node' AS node, pg_catalog.sum(s.value / nullif(m.period, 0)) AS samples
                FROM profstore.samples AS s
                JOIN profstore.matching_series(%s) AS m USING (series_id)
                WHERE s."time" >= $__timeFrom()::timestamptz AND s."time" < $__timeTo()::timestamptz
                GROUP BY 1)
             SELECT lost.node, (lost.samples / (lost.samples + coalesce(stored.samples, 0)))::float8 AS value
             FROM lost
             LEFT JOIN stored USING (node)
             WHERE lost.samples > 0
           ||| % cpu,
           minutes=10,
           wait='0s',
           panel=['agents', 'Losses by reason'],
           address='agents?from=now-1h&to=now'),
      rule('health',
           'A check of health is bad',
           1,
           '{{ $labels.check }} of {{ $labels.name }} is at level {{ $values.A.Value }} of 2: {{ $labels.action }}',
           |||
             SELECT check_name AS "check", object AS name, coalesce(role, '') AS role, action, 2 AS value
             FROM profstore.health()
             WHERE status = 'bad' AND check_name <> 'silent' AND check_name <> 'losses' AND check_name <> 'unsymbolized'
           |||,
           panel=['agents', 'Health'],
           address='agents?from=now-1h&to=now'),
    ],
  }, {
    orgId: 1,
    name: 'profstore deploys',
    folder: 'profstore',
    interval: '10m',  // an answer may take a second
    rules: [
      // A deploy of the last day is looked at three times, after one, four and eight hours, each with a third of the false discovery rate.
      rule('regression',
           'A deploy made a function dearer',
           0.001,
           '{{ $labels.function }} takes {{ humanizePercentage $values.A.Value }} more of the selection since version {{ $labels.version }} of {{ $labels.deployed }}',
           |||
             WITH deploys AS
               (SELECT d."time", d.version, d.labels, lead(d."time", 1, $__timeTo()::timestamptz) OVER (PARTITION BY d.labels ORDER BY d."time", d.version) AS next
                FROM profstore.deploys AS d),
             looks AS
               (SELECT d.version, d."time", d.labels, pg_catalog.max(l.look) AS look
                FROM deploys AS d
                CROSS JOIN (VALUES (interval '1 hour'), (interval '4 hours'), (interval '8 hours')) AS l(look)
                WHERE d."time" > $__timeTo()::timestamptz - interval '1 day' AND d."time" + interval '5 min' + l.look <= least(d.next, $__timeTo()::timestamptz)
                GROUP BY 1, 2, 3)
             SELECT r."function", looks.version, coalesce((SELECT pg_catalog.string_agg(l.value, ' ' ORDER BY l.key) FROM pg_catalog.jsonb_each_text(looks.labels) AS l), '') AS deployed,
               pg_catalog.min(p.label) AS label, pg_catalog.min(p.name) AS name, pg_catalog.max(r.share - r.base_share) AS value
             FROM looks
             CROSS JOIN LATERAL (SELECT profstore.selector(%(cpu)s, looks.labels) AS selector) AS s
             LEFT JOIN LATERAL (SELECT k.key AS label, k.value AS name FROM pg_catalog.jsonb_each_text(looks.labels) AS k ORDER BY pg_catalog.array_position(%(programs)s, k.key) NULLS LAST, k.key LIMIT 1) AS p ON true
             CROSS JOIN LATERAL profstore.regressions(s.selector, looks.version, at => looks."time", time_after => looks.look, max_fdr => 0.05 / 3) AS r
             WHERE r.status = 'regression' AND EXISTS (SELECT FROM profstore.matching_series(s.selector) AS m WHERE m.labels ->> 'node' <> '')
             GROUP BY 1, 2, 3
           ||| % { cpu: cpu, programs: programs },
           wait='0s',
           panel=['deploys', 'What the deploy changed'],
           address='deploys?var-label={{ $labels.label }}&var-value={{ $labels.name | urlquery }}&from=now-1d&to=now'),
    ],
  }],
}
