// Panels and variables that several dashboards have, and how dashboards find each other.
local g = import 'grafana.libsonnet';
local q = import 'queries.libsonnet';

// Labels that name programs. They come first among the choices of Label.
local preferred = "ARRAY['service', 'service_name', 'app', 'workload', 'job', 'container', 'comm']";

{
  preferred:: preferred,

  // --- variables ---

  // The profile types that satisfy a condition, with their titles. Types seen in the range come first, then those with the first prefix,
  // then those with the next.
  typesOf(condition, prefixes):: |||
    SELECT CASE WHEN pg_catalog.count(*) OVER (PARTITION BY title) = 1 THEN title ELSE profile_type END AS __text, profile_type AS __value
    FROM (SELECT profile_type, last_seen, coalesce(profstore.type_title(profile_type), profile_type) AS title FROM profstore.profile_types() WHERE %s) AS t
    ORDER BY last_seen < $__timeFrom()::timestamptz, %s, title, profile_type
  ||| % [condition, std.join(', ', ["profile_type NOT LIKE '%s%%'" % prefix for prefix in prefixes])],
  type:: g.queried('type', 'Profile type', $.typesOf('true', ['process_cpu:cpu:']), g.once),
  // Labels of at least half of the series come first; among these, labels that name programs.
  label:: g.queried('label', 'Label', |||
    SELECT label
    FROM
      (SELECT k.label, pg_catalog.count(*) AS series, pg_catalog.max(s.all_series) AS all_series
       FROM (SELECT labels, pg_catalog.count(*) OVER () AS all_series FROM profstore.series(profstore.selector('$type'), $__timeFrom(), $__timeTo())) AS s
       CROSS JOIN LATERAL pg_catalog.jsonb_object_keys(s.labels) AS k(label)
       GROUP BY 1) AS l
    ORDER BY 2 * l.series < all_series, pg_catalog.array_position(%s, label) NULLS LAST, label
  ||| % preferred, g.once),
  value:: g.queried(
    'value',
    'Value',
    "SELECT value\nFROM profstore.label_values('$label', profstore.selector('$type'), $__timeFrom(), $__timeTo())",
    { multi: true, includeAll: true, allValue: 'NULL', current: { text: ['All'], value: ['$__all'] } }
  ),
  by:: g.queried('by', 'Series by', |||
    SELECT __text, __value
    FROM
      (SELECT 'as Label' AS __text, '=label' AS __value, 0 AS place
       UNION ALL
       SELECT label, label, coalesce(pg_catalog.array_position(%s, label), 1000) FROM profstore.label_names(profstore.selector('$type'), $__timeFrom(), $__timeTo())) AS t
    ORDER BY place, 1
  ||| % preferred, g.once { multi: true, current: { text: ['as Label'], value: ['=label'] } }),
  matchers:: g.typed('matchers', 'Matchers', 'Further conditions on labels, such as node="a", comm!~"ssh.*"'),
  // Matchers to choose from: for each label its 200 most frequent values.
  only:: g.queried('only', 'Only', |||
    SELECT matcher
    FROM
      (SELECT l.label, %s AS matcher, pg_catalog.row_number() OVER (PARTITION BY l.label ORDER BY pg_catalog.count(*) DESC, l.value) AS place
       FROM profstore.series(profstore.selector('$type'), $__timeFrom(), $__timeTo()) AS s
       CROSS JOIN LATERAL pg_catalog.jsonb_each_text(s.labels) AS l(label, value)
       WHERE l.value <> ''
       GROUP BY l.label, l.value) AS t
    WHERE place <= 200
    ORDER BY pg_catalog.array_position(%s, label) NULLS LAST, label, place
  ||| % [std.stripChars(q.matcher('l.label', 'l.value'), '\n'), preferred], g.once {
    description: 'Series must fit all of these. Type a part of a label or value to find it',
    multi: true,
    includeAll: true,
    allValue: 'NULL',
    current: { text: ['All'], value: ['$__all'] },
  }),
  filters:: [
    g.typed('focus', 'Focus', 'Keep the stacks with a function that matches this regular expression'),
    g.inMenu(g.typed('ignore', 'Ignore', 'Drop the stacks with a function that matches')),
    g.inMenu(g.typed('show', 'Show', 'Remove the functions that do not match from the stacks')),
    g.inMenu(g.typed('hide', 'Hide', 'Remove the functions that match from the stacks; their callers get their value')),
    g.inMenu(g.chosen('preset', 'Hide the', [
      ['nothing', 'none'],
      ['kernel', 'kernel'],
      ['native code', 'native'],
      ['C library', 'libc'],
      ['allocators', 'allocators'],
      ['runtimes', 'runtimes'],
    ]) { description: 'Frames to hide; ignored if Hide is set' }),
  ],
  granularity:: g.inMenu(g.chosen('granularity', 'Frames are', [
    ['functions', 'function'],
    ['lines', 'line'],
    ['files', 'file'],
    ['mappings', 'mapping'],
    ['functions of mappings', 'mapping_function'],
    ['addresses', 'address'],
  ])),

  // --- panels ---

  // The status of the selection: the number of series and how much the filters keep, or an error, or why it is empty.
  selection(width=24, status='status'):: $.selectionOf(q.typedSelector, width, [filter[1] for filter in q.typedFilters], status),
  selectionOf(selector, width=24, filters=[], status='status', matchers='matchers'):: g.panel(
    'stat',
    'Selection',
    'The number of selected series, or the reason why the panels below are empty and what to do.',
    width,
    2,
    [g.query(|||
      SELECT %s
      FROM profstore.selection_status(
        %s)
    ||| % [status, std.join(',\n  ', [std.stripChars(selector, '\n'), '$__timeFrom(), $__timeTo()'] + (if filters == [] then [] else [std.join(', ', filters)]) + ["matchers => '$%s'" % matchers])])]
  ) + {
    fieldConfig: { defaults: { noValue: 'Nothing selected', mappings: [{
      type: 'regex',
      options: { pattern: '^(\\d+ series(; .*)?|The filters.*)$', result: { color: 'green', index: 0 } },
    }, { type: 'regex', options: { pattern: '.*', result: { color: 'orange', index: 1 } } }] }, overrides: [] },
    options: {
      reduceOptions: { values: true, calcs: [], fields: '/.*/' },
      colorMode: 'value',
      graphMode: 'none',
      textMode: 'value',
      text: { valueSize: 14 },  // fits into two rows of the grid, below the title
    },
  },

  // Stacked lines, with a legend sorted by maximum. The legend has no mean: it would be that of the existing points, and differ from the
  // means in tables, which are those of the whole range.
  graph(title, description, width, height, sql, unit=q.rateUnit):: g.panel(
    'timeseries',
    title,
    description,
    width,
    height,
    [g.query(sql, format='time_series'), g.query(unit, 'unit')]
  ) + {
    fieldConfig: { defaults: { custom: {
      drawStyle: 'line',
      lineWidth: 1,
      fillOpacity: 15,
      stacking: { mode: 'normal', group: 'A' },
      spanNulls: false,
    }, min: 0 }, overrides: [] },
    options: {
      legend: { displayMode: 'table', placement: 'right', showLegend: true, calcs: ['max', 'lastNotNull'], sortBy: 'Max', sortDesc: true },
      tooltip: { mode: 'multi', sort: 'desc' },
    },
    transformations: [g.unitFrom('unit', '/^(?!time$)/')],
  },

  // Shows the graph without the table in versions of the panel that have defaultView. In earlier versions the option for that would also
  // remove the search and the menu of frames.
  flame(title, description, sql, columns='/^(value|self)$/', options={}):: g.panel(
    'flamegraph',
    title,
    description,
    24,
    22,
    [g.query(sql), g.query(q.unit, 'unit')]
  ) + {
    options: { defaultView: 'flameGraph' } + options,
    transformations: [g.unitFrom('unit', columns)],
  },

  table(title, description, width, height, sql, overrides, unitColumns=null):: g.panel(
    'table',
    title,
    description,
    width,
    height,
    [g.query(sql)] + (if unitColumns == null then [] else [g.query(q.unit, 'unit')])
  ) + {
    fieldConfig: { defaults: { noValue: '–' }, overrides: overrides },
    options: { showHeader: true, cellHeight: 'sm', footer: { show: false } },
    transformations: if unitColumns == null then [] else [g.unitFrom('unit', unitColumns)],
  },

  // Columns of a table of changes. The widths fit into a window of 1,280 pixels.
  changed(before, now, url)::
    [g.link('function', 'Only stacks with it', url, 270), g.hidden('focus'), g.change('self, change'), g.change('total, change')]
    + [g.width(side + ', ' + column, std.max(105, 8 * std.length(side + ', ' + column))) for side in ['self', 'total'] for column in [before, now, 'change']]
    + [g.override(name, { 'custom.minWidth': 125 }) for name in ['file', 'mapping']],

  // --- links, which keep the range and the named variables ---

  // The address of a dashboard with the current values of variables, and with other variables set.
  to(dashboard, variables, set={})::
    '/d/profstore-%s?${__url_time_range}' % dashboard
    + std.join('', ['&${%s:queryparam}' % name for name in variables])
    + std.join('', ['&var-%s=%s' % [name, set[name]] for name in std.objectFields(set)]),

  // The address of a dashboard for the ten seconds around a point of a graph.
  moment(dashboard, variables)::
    '/d/profstore-%s?time=${__value.time}&time.window=10000' % dashboard
    + std.join('', ['&${%s:queryparam}' % name for name in variables]),

  // The address of a dashboard for the range from a point of a graph to the end.
  fromPoint(dashboard, variables, set={})::
    '/d/profstore-%s?from=${__value.time}&to=${__to}' % dashboard
    + std.join('', ['&${%s:queryparam}' % name for name in variables])
    + std.join('', ['&var-%s=%s' % [name, set[name]] for name in std.objectFields(set)]),

  // A menu of all dashboards of profstore.
  links:: [{
    type: 'dashboards',
    title: 'profstore',
    tags: ['profstore'],
    asDropdown: true,
    includeVars: true,
    keepTime: true,
    targetBlank: false,
    icon: 'external link',
    tooltip: '',
    url: '',
  }],

  // Annotations of every graph: deploys, and times in which samples were lost.
  annotation(name, color, sql):: {
    name: name,
    enable: true,
    iconColor: color,
    datasource: g.datasource,
    target: { refId: 'Anno', format: 'table', rawQuery: true, editorMode: 'code', rawSql: sql },
  },
  // Leaves out deploys of values that are not selected.
  annotations(variables):: local names = [variable.name for variable in variables]; { list: [
    $.annotation('Deploys', 'purple', |||
      SELECT "time", pg_catalog.concat_ws(' ', (SELECT pg_catalog.string_agg(value, ' ' ORDER BY key) FROM pg_catalog.jsonb_each_text(labels)), version) AS text,
        (SELECT pg_catalog.string_agg(key || '=' || value, ',' ORDER BY key) FROM pg_catalog.jsonb_each_text(labels)) AS tags
      FROM profstore.deploys
      WHERE "time" >= $__timeFrom()::timestamptz AND "time" < $__timeTo()::timestamptz%s
      ORDER BY "time"
    ||| % (if std.member(names, 'label') && std.member(names, 'value') then " AND coalesce(labels ->> '$label' = ANY (ARRAY[$value]::text[]), true)" else '')),
    $.annotation('Losses', 'red', |||
      WITH minutes AS
        (SELECT pg_catalog.date_trunc('minute', "time") AS minute, node, pg_catalog.sum(count) AS lost
         FROM profstore.losses
         WHERE "time" >= $__timeFrom()::timestamptz AND "time" < $__timeTo()::timestamptz AND reason NOT LIKE 'incomplete.%' AND count > 0
         GROUP BY 1, 2),
      runs AS
        (SELECT node, lost, minute, minute - pg_catalog.row_number() OVER (PARTITION BY node ORDER BY minute) * interval '1 minute' AS run FROM minutes)
      SELECT pg_catalog.min(minute) AS "time", pg_catalog.max(minute) + interval '1 minute' AS timeend, pg_catalog.format('%s lost %s samples', node, pg_catalog.sum(lost)) AS text, 'lost' AS tags
      FROM runs
      GROUP BY node, run
      ORDER BY 1, 3
      LIMIT 200
    |||),
  ] },

  page(name, title, description, variables, lines, extra={})::
    g.dashboard('profstore-' + name, title, description, variables, lines, { links: $.links, annotations: $.annotations(variables) } + extra),
}
