// Panels and variables that several dashboards have, and how dashboards find each other.
local g = import 'grafana.libsonnet';
local q = import 'queries.libsonnet';

// What stands before other labels where nobody has chosen one: what people call their programs.
local preferred = "ARRAY['service', 'service_name', 'app', 'workload', 'job', 'container', 'comm']";

{
  preferred:: preferred,

  // --- variables ---

  // Types as people call them, those that fit a condition; those that are still seen first, then those like one.
  typesOf(condition, first):: |||
    SELECT CASE WHEN pg_catalog.count(*) OVER (PARTITION BY title) = 1 THEN title ELSE profile_type END AS __text, profile_type AS __value
    FROM (SELECT profile_type, last_seen, coalesce(profstore.type_title(profile_type), profile_type) AS title FROM profstore.profile_types() WHERE %s) AS t
    ORDER BY last_seen < $__timeFrom()::timestamptz, profile_type NOT LIKE '%s%%', title, profile_type
  ||| % [condition, first],
  type:: g.queried('type', 'Profile type', $.typesOf('true', 'process_cpu:cpu:'), g.once),
  // Those that most series have stand first, among them what people call their programs.
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
  matchers:: g.typed('matchers', 'Matchers', 'More of what series must have, such as node="a", comm!~"ssh.*"'),
  // Labels and values to choose from, as matchers: of a label those that most series have.
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
    description: 'Series that have each of these: type a part of a label or value to find it',
    multi: true,
    includeAll: true,
    allValue: 'NULL',
    current: { text: ['All'], value: ['$__all'] },
  }),
  filters:: [
    g.typed('focus', 'Focus', 'Keep the stacks with a function that matches this regular expression'),
    g.inMenu(g.typed('ignore', 'Ignore', 'Drop the stacks with a function that matches')),
    g.inMenu(g.typed('show', 'Show', 'Take all functions out of the stacks but those that match')),
    g.inMenu(g.typed('hide', 'Hide', 'Take the functions out that match; their value goes to the caller')),
    g.inMenu(g.chosen('preset', 'Hide the', [
      ['nothing', 'none'],
      ['kernel', 'kernel'],
      ['C library', 'libc'],
      ['allocators', 'allocators'],
      ['runtimes', 'runtimes'],
    ]) { description: 'Frames that are hidden while nothing is typed in Hide' }),
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

  // What is selected in words: what is wrong, why it is empty, or how much the filters keep.
  selection(width=24, status='status'):: $.selectionOf(q.typedSelector, width, [filter[1] for filter in q.typedFilters], status),
  selectionOf(selector, width=24, filters=[], status='status', matchers='matchers'):: g.panel(
    'stat',
    'Selection',
    'What is selected. Says why the panels below are empty, and what to do.',
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
      text: { valueSize: 14 },  // what two rows of the grid leave below a title
    },
  },

  // Lines over time, stacked, with a legend sorted by maximum. A mean of points that are there would contradict tables, whose means are of
  // the whole range.
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

  // The graph first, where the panel's version has a choice; one older than that would give up the menu of frames and the search for
  // standing alone.
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

  // The columns of what changed, none of which is cut off in a window of 1,280 pixels.
  changed(before, now, url)::
    [g.link('function', 'Only stacks with it', url, 270), g.hidden('focus'), g.change('self, change'), g.change('total, change')]
    + [g.width(side + ', ' + column, std.max(105, 8 * std.length(side + ', ' + column))) for side in ['self', 'total'] for column in [before, now, 'change']]
    + [g.override(name, { 'custom.minWidth': 125 }) for name in ['file', 'mapping']],

  // --- links: range and variables go along ---

  // The address of a dashboard with these variables as they are here, and others set.
  to(dashboard, variables, set={})::
    '/d/profstore-%s?${__url_time_range}' % dashboard
    + std.join('', ['&${%s:queryparam}' % name for name in variables])
    + std.join('', ['&var-%s=%s' % [name, set[name]] for name in std.objectFields(set)]),

  // The same for the ten seconds of a point in a graph, which stands in their middle.
  moment(dashboard, variables)::
    '/d/profstore-%s?time=${__value.time}&time.window=10000' % dashboard
    + std.join('', ['&${%s:queryparam}' % name for name in variables]),

  // The same from a point in a graph to the end of the range.
  fromPoint(dashboard, variables, set={})::
    '/d/profstore-%s?from=${__value.time}&to=${__to}' % dashboard
    + std.join('', ['&${%s:queryparam}' % name for name in variables])
    + std.join('', ['&var-%s=%s' % [name, set[name]] for name in std.objectFields(set)]),

  // Those of one kind of page, in the order in which one goes through them.
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

  // What stands over every graph: what was brought out when, and times of which samples were lost.
  annotation(name, color, sql):: {
    name: name,
    enable: true,
    iconColor: color,
    datasource: g.datasource,
    target: { refId: 'Anno', format: 'table', rawQuery: true, editorMode: 'code', rawSql: sql },
  },
  // Deploys of other values than the chosen ones are left out.
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
