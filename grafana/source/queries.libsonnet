// SQL that dashboards share. Grafana doubles the quotes in a variable with one value, so the SQL puts it into quotes. Grafana quotes
// each of several values, so the SQL puts them into ARRAY[…]::text[].
{
  // The selector as typed. If it is malformed, the panel "Selection" says so; other panels use "selector", which selects nothing then.
  typedSelector:: |||
    profstore.selector(%s, %s, %s)
  ||| % [$.type, $.labels, $.matchers()],
  // Label is empty if the range has no series.
  labels:: "CASE WHEN '$label' = '' THEN '{}' ELSE pg_catalog.jsonb_build_object('$label', ARRAY[$value]::text[]) END",
  // The matchers of Matchers and of Only, in one pair of braces.
  matchers(typed='matchers'):: "'{' || pg_catalog.concat_ws(', ', nullif(pg_catalog.left(pg_catalog.substr(profstore.selector(NULL, '{}', '$%s'), 2), -1), ''), nullif(pg_catalog.array_to_string(ARRAY[$only]::text[], ', '), '')) || '}'" % typed,
  // The type, or one that does not exist if the variable has no choice.
  typeOr(chosen):: "coalesce(nullif(%s, ''), 'none:none:none:none:none')" % chosen,
  type:: $.typeOr("'$type'"),
  // The series of the type that fit the matchers, whatever Label and Value are.
  typedOfAll:: "profstore.selector(%s, '{}', %s)" % [$.type, $.matchers()],
  selector:: "profstore.valid_selector(%s, '$focus', '$ignore', '$show', %s)" % [std.stripChars($.typedSelector, '\n'), $.hide],
  // The filter Hide if it is set, otherwise that of "Hide the".
  hide:: "coalesce(nullif('$hide', ''), profstore.frames_of('$preset'))",
  typedFilters:: [['focus', "'$focus'"], ['ignore', "'$ignore'"], ['show', "'$show'"], ['hide', $.hide]],
  filters:: $.filtersBut([]),
  filtersBut(without):: std.join(',\n  ', ['%s => profstore.valid_filter(%s)' % filter for filter in $.typedFilters if !std.member(without, filter[0])]),
  // The trace's id. Text that is no id becomes the id of no trace, so that nothing is selected.
  trace:: 'trace => ' + $.typedTrace,
  typedTrace:: "CASE WHEN '$trace' = '' THEN NULL WHEN '$trace' ~ '^\\s*[0-9a-fA-F]{32}\\s*$' THEN pg_catalog.btrim('$trace')::uuid ELSE '00000000-0000-0000-0000-000000000000'::uuid END",
  range:: '$__timeFrom(), $__timeTo()',
  // the equally long range before, and the range
  rangeBefore:: |||
    $__timeFrom()::timestamptz - ($__timeTo()::timestamptz - $__timeFrom()::timestamptz), $__timeFrom()::timestamptz,
      $__timeFrom()::timestamptz, $__timeTo()::timestamptz
  |||,

  // The filter that matches only the frame of a row of top(), for links that set Focus, and the frame's function.
  frame(row, granularity="'$granularity'"):: 'profstore.frame_filter(%(row)s."function", %(granularity)s, %(row)s.file, %(row)s.mapping)' % { row: row, granularity: granularity },

  // A matcher for one value of a label.
  matcher(label, value, operator='='):: |||
    pg_catalog.format('%%s%s"%%s"', %s, pg_catalog.replace(pg_catalog.replace(coalesce(%s, ''), '\', '\\'), '"', '\"'))
  ||| % [operator, label, value],

  // The matchers of Matchers, and a matcher for one value of a label.
  narrowed(label, value, operator='='):: "pg_catalog.concat_ws(', ', nullif(pg_catalog.btrim('$matchers', E' \\t\\r\\n{}'), ''), %s)" % std.stripChars($.matcher(label, value, operator), '\n'),

  // The value of the variable that repeats a panel. Only some versions of Grafana quote it, and an unquoted value could end the quotes
  // around it. A percent-encoded value contains no character that ends them.
  repeated(name):: |||
    (SELECT coalesce(pg_catalog.convert_from(pg_catalog.decode(pg_catalog.string_agg(
         CASE WHEN code[1] ~ '^%%' THEN pg_catalog.substr(code[1], 2) ELSE pg_catalog.encode(code[1]::bytea, 'hex') END, '' ORDER BY place), 'hex'), 'UTF8'), '')
       FROM pg_catalog.regexp_matches('${%s:percentencode}', '%%[0-9A-F]{2}|[^%%]', 'g') WITH ORDINALITY AS codes(code, place))
  ||| % name,

  // The mean of each value of a label, in the unit of timeseries(), over the range or over the range an interval before. The step is
  // the widest one, so that the whole range is one bucket: a program that runs for a minute of an hour has a sixtieth of its rate.
  means(selector, label, back):: |||
    SELECT labels ->> %(label)s AS value, pg_catalog.sum(value) AS mean
    FROM profstore.timeseries(%(selector)s, $__timeFrom()::timestamptz - %(back)s, $__timeTo()::timestamptz - %(back)s, step => interval '36500 days', by => ARRAY[%(label)s]::text[])
    GROUP BY 1
  ||| % { selector: selector, label: label, back: back },

  // The changes between two ranges, as shares of the total. top is a call of top_diff(), whole one of flamegraph_diff().
  changes(top, whole, before, now):: |||
    SELECT t."function", t.base_self AS "self, %(before)s", t.self AS "self, %(now)s", t.self_delta / w.most AS "self, change", t.base_total AS "total, %(before)s",
      t.total AS "total, %(now)s", t.total_delta / w.most AS "total, change", t.file, t.mapping, f.filter AS focus
    FROM %(top)s AS t,
      %(frame)s AS f,
      (SELECT nullif(greatest(value, "valueRight"), 0)::float8 AS most FROM %(whole)s WHERE level = 0) AS w
  ||| % { top: std.stripChars(top, '\n'), whole: std.stripChars(whole, '\n'), before: before, now: now, frame: $.frame('t') },

  mostChanged:: 'abs("self, change") DESC NULLS LAST, abs("total, change") DESC, "function"',

  // The rows of a query. If there are none, one row whose first column says so.
  orNothing(sql, columns, order):: |||
    WITH rows AS
      (%s)
    SELECT *
    FROM
      (SELECT * FROM rows
       UNION ALL
       SELECT 'nothing here: see Selection'%s
       WHERE NOT EXISTS (SELECT FROM rows)) AS shown
    ORDER BY %s
  ||| % [std.strReplace(std.stripChars(sql, '\n'), '\n', '\n   '), std.join('', [', NULL' for i in std.range(2, columns)]), order],

  // The value of a label if all series of a selection have the same, otherwise NULL.
  only(label, selector):: "(SELECT CASE WHEN pg_catalog.count(*) = 1 THEN pg_catalog.min(l.value) END FROM profstore.label_values('%s', %s, $__timeFrom(), $__timeTo()) AS l)" % [label, selector],

  // The address of a line at a forge, from labels of the selection.
  forge(selector, file, line):: 'profstore.forge_url(%s, %s, %s, %s)' % [$.only('service_repository', selector), $.only('service_git_ref', selector), file, line],

  // --- units, as Grafana names them: one second of waiting per second is one thread, one of GPU kernels or copies one that always runs ---

  unit:: |||
    SELECT CASE WHEN unit = 'nanoseconds' THEN 'ns' WHEN unit = 'bytes' THEN 'bytes' ELSE 'short' END AS unit
    FROM profstore.profile_types()
    WHERE profile_type = '$type'
  |||,
  rateUnit:: |||
    SELECT CASE WHEN delta AND unit = 'nanoseconds' AND pg_catalog.split_part(profile_type, ':', 2) LIKE '%cpu%' THEN 'suffix:cores' WHEN profile_type LIKE 'gpu:active:%' THEN 'suffix:GPUs'
      WHEN profile_type ~ '^(gpu:kernel_time|parca_agent:gpu_kernel_time):' THEN 'suffix:kernels' WHEN profile_type LIKE 'gpu:copy_time:%' THEN 'suffix:copies' WHEN delta AND unit = 'millijoules' THEN 'mwatt'
      WHEN delta AND unit = 'nanoseconds' THEN 'suffix:threads' WHEN delta AND unit = 'bytes' THEN 'Bps' WHEN delta THEN 'suffix:/s'
      WHEN unit = 'nanoseconds' THEN 'ns' WHEN unit = 'bytes' THEN 'bytes' ELSE 'short' END AS unit
    FROM profstore.profile_types()
    WHERE profile_type = '$type'
  |||,

  // --- flame graphs ---

  // The label of the root says which share is not drawn, because tables of functions include it.
  rootLabel(sides):: |||
    CASE WHEN level = 0 AND pg_catalog.sum(%(all)s) FILTER (WHERE truncated) OVER () >= 0.005 * (%(all)s)
      THEN pg_catalog.format('%%s (%%s %%%% of it lies in frames too small to be drawn)', label, pg_catalog.round(100 * pg_catalog.sum(%(all)s) FILTER (WHERE truncated) OVER () / nullif(%(all)s, 0)))
      ELSE label END AS label
  ||| % { all: std.join(' + ', ['"value%s"' % side for side in sides]) },

  // The columns of the flame graph panel. Truncated frames, which are named "other", have no self value: with one they would lead the
  // panel's table.
  frames(sides=['']):: 'level, ' + std.stripChars($.rootLabel(sides), '\n') + ', ' + std.join(', ', ['"value%s", CASE WHEN truncated THEN 0 ELSE "self%s" END AS "self%s"' % [side, side, side] for side in sides]),

  // The columns of a tree of callers. Its frames have no self values, because the value is the function's.
  callerFrames:: 'level, label, value, 0::int8 AS self',

  // The frames of two ranges. If one side has no samples, the panel would show NaN for shares; so there is only a root, which says it.
  difference(call, base, compared):: |||
    SELECT level, CASE WHEN least(left_most, right_most) > 0 THEN label WHEN right_most > 0 THEN 'nothing in %(base)s: no difference to show' WHEN left_most > 0 THEN 'nothing in %(compared)s: no difference to show' ELSE label END AS label,
      value, CASE WHEN least(left_most, right_most) > 0 THEN self ELSE value END AS self, "valueRight", CASE WHEN least(left_most, right_most) > 0 THEN "selfRight" ELSE "valueRight" END AS "selfRight"
    FROM
      (SELECT ord, %(frames)s, pg_catalog.max(value) OVER () AS left_most, pg_catalog.max("valueRight") OVER () AS right_most
       FROM %(call)s) AS rows
    WHERE level = 0 OR least(left_most, right_most) > 0
    ORDER BY ord
  ||| % { base: base, compared: compared, frames: $.frames(['', 'Right']), call: std.stripChars(call, '\n') },

  // --- graphs ---

  // The labels of "Series by", in which "=label" stands for Label.
  by:: "pg_catalog.array_replace(ARRAY[$by]::text[], '=label', '$label')",

  // Rounds to seven digits, which a graph can show; otherwise seventeen are sent.
  brief(value):: '(%s)::float4::text::float8' % value,

  // Lines over time: the ten of the largest sums, and the others as one line; lines that are always 0 are left out. If no line is left, one
  // without points says so. A pause three times as long as usual ends all lines, by a point whose value is NULL. A point stands five
  // seconds after the begin of its bucket, which is the middle of the ten seconds that a link from it shows.
  lines(selector, by, filters='', most=10):: |||
    WITH lines AS
      (SELECT "time", CASE pg_catalog.cardinality(%(by)s) WHEN 0 THEN 'all' WHEN 1 THEN coalesce(nullif(labels ->> (%(by)s)[1], ''), '(none)') ELSE metric END AS metric, value
       FROM profstore.timeseries(
         %(selector)s,
         $__timeFrom(), $__timeTo(),
         step => greatest(interval '$__interval', interval '10 s'),
         by => %(by)s%(filters)s)),
    ranked AS
      (SELECT metric, pg_catalog.row_number() OVER (ORDER BY pg_catalog.sum(value) DESC, metric) AS place FROM lines GROUP BY metric HAVING pg_catalog.bool_or(value <> 0)),
    times AS
      (SELECT "time", lead("time") OVER (ORDER BY "time") - "time" AS pause FROM (SELECT DISTINCT "time" FROM lines) AS t),
    usual AS
      (SELECT pg_catalog.percentile_disc(0.5) WITHIN GROUP (ORDER BY pause) AS pause FROM times)
    SELECT least("time" + interval '5 s', $__timeTo()::timestamptz) AS "time", CASE WHEN place <= %(most)d THEN metric ELSE 'others' END AS metric, %(value)s AS value
    FROM lines
    JOIN ranked USING (metric)
    GROUP BY 1, 2
    UNION ALL
    SELECT times."time" + interval '5 s' + usual.pause, ranked.metric, NULL
    FROM times
    JOIN usual ON times.pause > 3 * usual.pause
    JOIN ranked ON ranked.place = 1
    UNION ALL
    SELECT $__timeFrom()::timestamptz, 'nothing to draw: see Selection', NULL
    WHERE NOT EXISTS (SELECT FROM ranked)
    ORDER BY 1, 2
  ||| % { by: if std.startsWith(by, 'pg_catalog.') then by else 'ARRAY[%s]::text[]' % by, selector: selector, filters: if filters == '' then '' else ',\n     ' + filters, most: most, value: $.brief('pg_catalog.sum(value)') },
}
