// Alert rules to begin with: each a query whose rows are alerts, by the texts in them, and a bound for its one number.
local datasource = 'profstore';

local rule(uid, title, bound, summary, sql, minutes=60, wait='5m', dashboard='profstore-overview') = {
  uid: 'profstore-' + uid,
  title: title,
  condition: 'C',
  'for': wait,
  noDataState: 'OK',  // no row: nothing to tell
  execErrState: 'Error',
  labels: { source: 'profstore' },
  annotations: { summary: summary, __dashboardUid__: dashboard },
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

{
  apiVersion: 1,
  groups: [{
    orgId: 1,
    name: 'profstore',
    folder: 'profstore',
    interval: '1m',
    rules: [
      rule('function-share', 'A function takes more than a quarter of the CPU time of a service', 0.25, '{{ $labels.function }} takes {{ humanizePercentage $values.A.Value }} of {{ $labels.service }}', |||
        SELECT s.value AS service, f."function", f.self_share AS value
        FROM profstore.label_values('service', 'process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta', $__timeFrom(), $__timeTo()) AS s
        CROSS JOIN LATERAL profstore.top(
          profstore.selector('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta', pg_catalog.jsonb_build_object('service', s.value)),
          $__timeFrom(), $__timeTo(), max_rows => 3) AS f
      |||, dashboard='profstore-profiles'),
      rule('service-up', 'A service costs half as much CPU time again as yesterday', 0.5, '{{ $labels.service }} costs {{ humanizePercentage $values.A.Value }} more than yesterday', |||
        WITH means AS
          (SELECT days.back, labels ->> 'service' AS service, pg_catalog.sum(value) AS mean
           FROM (VALUES (interval '0'), (interval '1 day')) AS days(back)
           CROSS JOIN LATERAL profstore.timeseries('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta', $__timeFrom()::timestamptz - days.back, $__timeTo()::timestamptz - days.back, step => interval '36500 days', by => '{service}')
           GROUP BY 1, 2)
        SELECT today.service, today.mean / yesterday.mean - 1 AS value
        FROM means AS today
        JOIN means AS yesterday ON yesterday.service = today.service AND yesterday.back > today.back
        WHERE today.service <> '' AND yesterday.mean > 0 AND today.mean > 0.1
      |||),
      rule('silent', 'An agent or a target is silent', 180, '{{ $labels.name }} has stored no new sample for {{ humanizeDuration $values.A.Value }}', |||
        SELECT name, role, extract(epoch FROM pg_catalog.now() - last_seen)::float8 AS value
        FROM profstore.targets
        WHERE last_seen > pg_catalog.now() - interval '1 day'
      |||, wait='0s', dashboard='profstore-agents'),
      rule('lost', 'Samples are lost', 0, '{{ $labels.node }} lost {{ humanize $values.A.Value }} by {{ $labels.reason }}', |||
        SELECT node, reason, pg_catalog.sum(count)::float8 AS value
        FROM profstore.losses
        WHERE "time" >= $__timeFrom()::timestamptz AND "time" < $__timeTo()::timestamptz AND reason NOT LIKE 'incomplete.%'
        GROUP BY 1, 2
      |||, minutes=10, wait='0s', dashboard='profstore-agents'),
    ],
  }],
}
