// Start here: questions, each with its current answer and a link to the dashboard with details; gaps in the data.
local g = import 'grafana.libsonnet';
local p = import 'parts.libsonnet';
local q = import 'queries.libsonnet';

local cpu = "'process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta'";
local target = "pg_catalog.regexp_replace(name, '(://[^/]+)/.*$', '\\1')";
local page(name, more='') = "'/d/profstore-%s?from=' || range.from_ms || '&to=' || range.to_ms%s" % [name, if more == '' then '' else ' || ' + more];

p.page(
  'start',
  'Start here',
  'What is stored, where to look, and what is missing',
  [],
  [
    [p.table(
      'What to look at',
      'Questions with their answers for the range above; a click opens the dashboard with details.',
      24,
      9,
      |||
        WITH range AS
          (SELECT pg_catalog.floor(extract(epoch FROM $__timeFrom()::timestamptz) * 1000)::int8 AS from_ms, pg_catalog.floor(extract(epoch FROM $__timeTo()::timestamptz) * 1000)::int8 AS to_ms),
        targets AS
          (SELECT %(target)s AS name, pg_catalog.bool_and(health <> 'down' AND last_seen > pg_catalog.now() - interval '3 min') AS is_up FROM profstore.targets
           WHERE last_seen > pg_catalog.now() - interval '1 day' AND health <> 'stopped' GROUP BY 1),
        senders AS
          (SELECT pg_catalog.count(*) AS count, pg_catalog.count(*) FILTER (WHERE is_up) AS up, pg_catalog.min(name) FILTER (WHERE NOT is_up) AS silent FROM targets),
        types AS
          (SELECT pg_catalog.count(*) AS count FROM profstore.profile_types()),
        labels AS
          (SELECT k.label, pg_catalog.count(*) AS series, pg_catalog.max(s.all_series) AS all_series
           FROM (SELECT labels, pg_catalog.count(*) OVER () AS all_series FROM profstore.series(NULL, $__timeFrom(), $__timeTo())) AS s
           CROSS JOIN LATERAL pg_catalog.jsonb_object_keys(s.labels) AS k(label)
           GROUP BY 1),
        label AS
          (SELECT label FROM labels ORDER BY 2 * series < all_series, pg_catalog.array_position(%(preferred)s, label) NULLS LAST, label LIMIT 1),
        programs AS
          (SELECT label.label, nullif(t.labels ->> label.label, '') AS name, t.value AS mean, pg_catalog.sum(t.value) OVER () AS whole
           FROM label
           CROSS JOIN LATERAL profstore.timeseries(%(cpu)s, $__timeFrom(), $__timeTo(), step => interval '36500 days', by => ARRAY[label.label]) AS t
           ORDER BY coalesce(t.labels ->> label.label, '') = '', t.value DESC LIMIT 1),
        hottest AS
          (SELECT t."function", t.self_share FROM profstore.top(%(cpu)s, $__timeFrom(), $__timeTo(), max_rows => 1) AS t),
        deploy AS
          (SELECT version, "time" FROM profstore.deploys ORDER BY "time" DESC LIMIT 1),
        lost AS
          (SELECT coalesce(pg_catalog.sum(count), 0) AS count FROM profstore.losses
           WHERE "time" >= $__timeFrom()::timestamptz AND "time" < $__timeTo()::timestamptz AND reason NOT LIKE 'incomplete.%%'),
        missing AS
          (SELECT CASE WHEN types.count = 0 THEN 'nothing is stored yet: start profstore-collector agent, or import a profile' ELSE pg_catalog.concat_ws('; ',
             CASE WHEN senders.count = 0 THEN 'no agent is running, or none has written within a day' WHEN senders.up < senders.count THEN senders.count - senders.up || ' of ' || senders.count || ' are silent or down' END,
             CASE WHEN lost.count > 0 THEN lost.count || ' samples were lost' END,
             CASE WHEN NOT EXISTS (SELECT FROM labels WHERE label IN ('service', 'service_name', 'app', 'workload')) THEN 'no series says which service it is of (label service)' END,
             CASE WHEN NOT EXISTS (SELECT FROM deploy) THEN 'no deploy was recorded' END) END AS words
           FROM senders, types, lost)
        SELECT s.question, s.answer, '→' AS page, s.url
        FROM range
        CROSS JOIN senders
        CROSS JOIN types
        LEFT JOIN programs ON true
        LEFT JOIN hottest ON true
        LEFT JOIN deploy ON true
        CROSS JOIN missing
        CROSS JOIN LATERAL
          (VALUES
            (1, 'Which program costs what?', CASE WHEN programs.mean IS NULL THEN 'no CPU time in this range' ELSE pg_catalog.format('%%s="%%s" costs most: %%s of %%s cores', programs.label, programs.name, pg_catalog.trim_scale(pg_catalog.round(programs.mean::numeric, CASE WHEN programs.mean >= 1 THEN 1 ELSE 4 END)), pg_catalog.trim_scale(pg_catalog.round(programs.whole::numeric, CASE WHEN programs.whole >= 1 THEN 1 ELSE 4 END))) END, %(overview)s),
            (2, 'Where in its code?', CASE WHEN hottest.self_share IS NULL THEN 'no CPU time in this range' ELSE pg_catalog.format('%%s leads with %%s %%%% of all CPU time', profstore.short_name(hottest."function"), pg_catalog.round((100 * hottest.self_share)::numeric, 1)) END, %(profiles)s),
            (3, 'What has changed?', CASE WHEN deploy.version IS NULL THEN 'any two times or versions can be compared; deploys can be recorded' ELSE pg_catalog.format('the last deploy, of version %%s, was %%s ago', deploy.version, CASE WHEN deploy."time" > pg_catalog.now() - interval '2 hours' THEN pg_catalog.round(extract(epoch FROM pg_catalog.now() - deploy."time") / 60) || ' minutes' WHEN deploy."time" > pg_catalog.now() - interval '3 days' THEN pg_catalog.round(extract(epoch FROM pg_catalog.now() - deploy."time") / 3600, 1) || ' hours' ELSE pg_catalog.round(extract(epoch FROM pg_catalog.now() - deploy."time") / 86400) || ' days' END) END, %(compare)s),
            (4, 'What else is known of a program?', types.count || CASE types.count WHEN 1 THEN ' profile type is stored' ELSE ' profile types are stored' END || '; programs may offer memory, locks and waits', %(resources)s),
            (5, 'Is that all there is?', CASE senders.count WHEN 0 THEN 'no agent or target is running' ELSE pg_catalog.format('%%s of %%s agents and targets are up%%s', senders.up, senders.count, ', silent: ' || senders.silent) END, %(agents)s),
            (6, 'What is missing?', coalesce(nullif(missing.words, ''), 'nothing'), %(agents)s)) AS s(place, question, answer, url)
        ORDER BY s.place
      ||| % {
        target: target,
        preferred: p.preferred,
        cpu: cpu,
        overview: page('overview'),
        profiles: page('profiles'),
        compare: page('compare'),
        resources: page('resources'),
        agents: page('agents'),
      },
      [
        g.override('question', { 'custom.width': 260, links: [{ title: 'Open the page', url: '${__data.fields.url:raw}' }] }),
        g.override('answer', { 'custom.minWidth': 400, 'custom.inspect': true }),
        g.sign('page', 'Open the page', '${__data.fields.url:raw}', 65),
        g.hidden('url'),
      ]
    )],
    [p.graph('All CPU time', 'CPU time of all profiled programs, in cores.', 24, 8, std.strReplace(q.lines(cpu, ''), 'nothing to draw: see Selection', 'no CPU time in this range'), "SELECT 'suffix:cores' AS unit")],
  ]
)
