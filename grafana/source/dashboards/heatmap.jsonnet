// Heat map: when within each second samples fall. A spike of a few milliseconds is a dot; its stacks are a drag away.
local g = import 'grafana.libsonnet';
local p = import 'parts.libsonnet';
local q = import 'queries.libsonnet';

// Instant values do not add up over time, so they have no heat map.
local delta = |||
  CASE WHEN (SELECT t.delta FROM profstore.profile_types() AS t WHERE t.profile_type = '$type') THEN %s ELSE 'none:none:none:none:none' END
||| % q.selector;

p.page(
  'heatmap',
  'Heat map',
  'Bursts shorter than a second, for samples that keep their times',
  [g.queried('type', 'Profile type', |||
    SELECT profile_type
    FROM profstore.profile_types()
    WHERE delta
    ORDER BY last_seen < $__timeFrom()::timestamptz, profile_type NOT LIKE 'process_cpu:cpu:%', profile_type
  |||), p.label, p.value, p.matchers] + p.filters,
  [
    [p.selection()],
    [g.panel('heatmap', 'Offsets within each second', 'A column is a second, a cell a fiftieth of a second. Drag over a spike to see its stacks below. At most half an hour is shown.', 24, 14, [
      g.query(|||
        WITH cells AS
          (SELECT "time", pg_catalog.lpad(pg_catalog.round(offset_ms)::text, 3, '0') || ' ms' AS metric, value::float8 AS value
           FROM profstore.heatmap(
             %s,
             greatest($__timeFrom()::timestamptz, $__timeTo()::timestamptz - interval '30 min'), $__timeTo(),
             %s))
        SELECT * FROM cells
        UNION ALL
        SELECT $__timeFrom()::timestamptz, '000 ms', NULL
        WHERE NOT EXISTS (SELECT FROM cells)
        ORDER BY 1, 2
      ||| % [std.stripChars(delta, '\n'), q.filters], format='time_series'),
    ]) + {
      options: {
        calculate: false,
        color: { mode: 'scheme', scheme: 'Turbo', steps: 64, exponent: 0.5, fill: 'dark-orange', reverse: false },
        cellGap: 0,
        yAxis: { axisPlacement: 'left', reverse: false },
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
