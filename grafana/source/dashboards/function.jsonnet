// Function: the callers and callees of one function, its rate, its lines.
local g = import 'grafana.libsonnet';
local p = import 'parts.libsonnet';
local q = import 'queries.libsonnet';

local top(more, filters) = |||
  profstore.top(
    %s,
    %s,
    %s,
    %s)
||| % [q.selector, q.range, more, filters];
local hottest = '(SELECT t."function" FROM %s AS t ORDER BY t.self DESC LIMIT 1)' % std.stripChars(top('max_rows => 1', q.filters), '\n');
// The function that was typed, otherwise the hottest.
local chosen = "coalesce(nullif('$function', ''), %s, '')" % hottest;
local withFunction = q.filtersBut(['focus']) + ',\n  focus => (SELECT f.filter FROM profstore.frame_filter(%s) AS f)' % chosen;

// The status names the function if it is the hottest one, and says if no stack has the function that was typed.
local status = |||
  CASE WHEN is_empty THEN status
    WHEN '$function' = '' THEN status || '; the hottest function: ' || profstore.short_name(%s, 100)
    WHEN NOT EXISTS (SELECT FROM profstore.sandwich(%s, %s, "function" => '$function', max_nodes => 1, %s) WHERE value <> 0) THEN 'No stack has this function. Type its whole name, as tables show it.'
    ELSE status END AS status
||| % [hottest, q.selector, q.range, q.filters];

// A flame graph of one side. Callers have no self values: in their tree these are the function's, and would lead the table.
local side(title, description, frames, height) = p.flame(title, description, |||
  SELECT %s
  FROM profstore.sandwich(
    %s,
    %s,
    "function" => %s, max_nodes => 8192,
    %s)
  WHERE side = '%s'
  ORDER BY ord
||| % [frames, q.selector, q.range, chosen, q.filters, std.asciiLower(title)]) + { gridPos+: { h: height } };

p.page(
  'function',
  'Function',
  'One function: its callers, its callees, its rate, its lines',
  [p.type, p.label, p.value, p.only, p.matchers, g.typed('function', 'Function', 'The whole name of a function; empty: the hottest one. A click in a table of Profiles sets it')] + p.filters,
  [
    [p.selection(status=status)],
    [p.graph('Stacks with the function', 'Rate per second, CPU time in cores, waits in threads; of the function and all functions that it calls.', 24, 8, q.lines(q.selector, "'$label'", withFunction))],
    [side('Callers', 'From the function to the outermost callers.', q.callerFrames, 20)],
    [side('Callees', 'From the function to the innermost callees.', q.frames(), 22)],
    [p.table(
      'Its lines',
      'Self: the line alone; total: with the functions that it calls. Source opens the line at the forge that the labels service_repository and service_git_ref name.',
      24,
      12,
      q.orNothing(|||
        SELECT line, self, self_share AS "self, share", total, CASE WHEN url <> '' THEN 'open' END AS source, url
        FROM
          (SELECT t."function" AS line, t.self, t.self_share, t.total, %s AS url
           FROM %s AS t,
             (SELECT %s AS name OFFSET 0) AS f
           WHERE t."function" = f.name OR pg_catalog.starts_with(t."function", f.name || ' ')) AS lines
      ||| % [q.forge(q.selector, 't.file', "pg_catalog.substring(t.\"function\", ':(\\d+)$')::int8"), std.stripChars(top("max_rows => NULL, granularity => 'line'", withFunction), '\n'), chosen], 6, '2 DESC NULLS LAST, 1'),
      [
        g.override('line', { 'custom.minWidth': 300 }),
        g.width('self', 90),
        g.width('total', 90),
        g.share('self, share'),
        g.width('self, share', 150),
        g.sign('source', 'Its source code', '${__data.fields.url:raw}'),
        g.hidden('url'),
      ],
      '/^(self|total)$/'
    )],
    // A relative path names another file in each program.
    [p.table(
      'Its source',
      'The text around these lines, if it was stored with the debug information of the build (debuginfo upload --sources), with the cost of each line.',
      24,
      12,
      std.strReplace(q.orNothing(|||
        SELECT pg_catalog.lpad(s.line::text, 6) AS line, s.text, s.self, s.total
        FROM
          (SELECT own.filter, pg_catalog.min(own.line) AS first, pg_catalog.max(own.line) AS last
           FROM
             (SELECT i.filter, t.total, pg_catalog.substring(t."function", ':(\d+)$')::int8 AS line
              FROM %s AS t
              CROSS JOIN (SELECT %s AS name OFFSET 0) AS f
              CROSS JOIN LATERAL profstore.frame_filter(t.file, CASE WHEN t.file ~ '^(/|\w:[\\/])' THEN 'file' ELSE 'mapping_file' END, t.file, t.mapping) AS i
              WHERE pg_catalog.starts_with(t."function", f.name || ' ') AND t.file IS NOT NULL) AS own
           WHERE own.line > 0
           GROUP BY 1
           ORDER BY pg_catalog.sum(own.total) DESC, 1
           LIMIT 1) AS o
        CROSS JOIN LATERAL profstore.source(%s, %s, filename => o.filter, %s) AS s
        WHERE s.text IS NOT NULL AND s.line BETWEEN o.first - 5 AND o.last + 5
      ||| % [std.stripChars(top("max_rows => NULL, granularity => 'line'", withFunction), '\n'), chosen, std.stripChars(q.selector, '\n'), q.range, q.filters], 4, '1'), 'nothing here: see Selection', 'no text is stored for it'),
      [
        g.width('line', 80),
        g.override('text', { 'custom.minWidth': 400, 'custom.inspect': true }),
        g.width('self', 90),
        g.width('total', 90),
      ],
      '/^(self|total)$/'
    )],
  ]
)
