// Heat map: the position of samples within each second. A spike of a few milliseconds is a dot; dragging over it shows its stacks.
local g = import 'grafana.libsonnet';
local p = import 'parts.libsonnet';
local q = import 'queries.libsonnet';

// Only delta types have heat maps: instant values do not add up over time.
local delta = |||
  CASE WHEN (SELECT t.delta FROM profstore.profile_types() AS t WHERE t.profile_type = '$type') THEN %s ELSE 'none:none:none:none:none' END
||| % q.selector;

local shownFrom = "greatest($__timeFrom()::timestamptz, $__timeTo()::timestamptz - interval '30 min')";
// A series has many rows of one time if samples are stored as sums of an interval.
local status = |||
  CASE WHEN is_empty THEN status ELSE status
    || CASE WHEN $__timeTo()::timestamptz - $__timeFrom()::timestamptz > interval '30 min' THEN '; the last 30 minutes are drawn' ELSE '' END
    || CASE WHEN (SELECT 2 * pg_catalog.count(DISTINCT (s.series_id, s."time")) < pg_catalog.count(*)
                  FROM
                    (SELECT r.series_id, r."time"
                     FROM profstore.samples AS r
                     JOIN profstore.matching_series(%s) USING (series_id)
                     WHERE r."time" >= %s AND r."time" < $__timeTo()::timestamptz
                     LIMIT 2000) AS s) THEN '; samples are sums of intervals, at the time at which each begins: start the agent with -' || '-keep-times' ELSE '' END
  END AS status
||| % [q.selector, shownFrom];

p.page(
  'heatmap',
  'Heat map',
  'Bursts shorter than a second, for samples that keep their times',
  [g.queried('type', 'Profile type', p.typesOf('delta', ['process_cpu:cpu:']), g.once), p.label, p.value, p.only, p.matchers] + p.filters,
  [
    [p.selection(status=status)],
    [g.panel('heatmap', 'Offsets within each second', 'A column is a second, a cell a fiftieth of a second: CPU time in cores, other types at their value. Drag over a spike to see its stacks below. At most half an hour is shown.', 24, 14, [
      g.query(|||
        WITH cells AS
          (SELECT "time", pg_catalog.lpad(pg_catalog.round(offset_ms)::text, 3, '0') AS metric, value / CASE WHEN pg_catalog.split_part('$type', ':', 3) = 'nanoseconds' THEN 2e7::float8 ELSE 1 END AS value
           FROM profstore.heatmap(
             %s,
             %s, $__timeTo(),
             %s))
        SELECT * FROM cells
        UNION ALL
        SELECT %s, pg_catalog.lpad(slice::text, 3, '0'), NULL
        FROM pg_catalog.generate_series(0, 980, 20) AS slice
        ORDER BY 1, 2
      ||| % [std.stripChars(delta, '\n'), shownFrom, q.filters, shownFrom], format='time_series'),
    ]) + {
      options: {
        calculate: false,
        color: { mode: 'scheme', scheme: 'Oranges', steps: 64, exponent: 0.5, fill: 'dark-orange', reverse: false },
        cellGap: 0,
        yAxis: { axisPlacement: 'left', reverse: false, unit: 'ms', decimals: 0 },
        cellValues: { decimals: 2 },
        tooltip: { mode: 'single', yHistogram: false },
        legend: { show: true },
        rowsFrame: { layout: 'auto' },
        filterValues: { le: 1e-9 },
        showValue: 'never',
      },
    }],
    [p.flame('Flame graph', 'All stacks of the range, merged.', |||
      SELECT %s
      FROM profstore.flamegraph(
        %s,
        $__timeFrom(), $__timeTo(),
        max_nodes => 16384,
        %s)
      ORDER BY ord
    ||| % [q.frames(), q.selector, q.filters])],
  ],
  { time: { from: 'now-5m', to: 'now' } }
)
