// Makes the parts of Grafana's JSON that the dashboards need: panels, queries, variables, a page. Knows nothing of profstore.
local datasource = { type: 'grafana-postgresql-datasource', uid: 'profstore' };

local variable = {
  hide: 0,
  skipUrlSync: false,
};

// An override of the column of this name.
local override(name, properties) = {
  matcher: { id: 'byName', options: name },
  properties: [{ id: id, value: properties[id] } for id in std.objectFields(properties)],
};

{
  datasource:: datasource,
  override:: override,

  // --- queries: A is the panel's data; others set units and thresholds ---

  query(sql, refId='A', format='table'):: {
    refId: refId,
    datasource: datasource,
    format: format,
    rawQuery: true,
    editorMode: 'code',
    rawSql: std.stripChars(sql, '\n'),
  },

  // Sets the unit of the columns that match a regular expression from the row of a query, because a panel's own unit cannot be a
  // variable.
  unitFrom(refId, columns):: {
    id: 'configFromData',
    options: {
      configRefId: refId,
      mappings: [{ fieldName: 'unit', handlerKey: 'unit' }],
      applyTo: { id: 'byRegexp', options: columns },
    },
  },

  // --- panels ---

  panel(type, title, description, width, height, targets):: {
    type: type,
    title: title,
    description: description,
    gridPos: { w: width, h: height },
    datasource: datasource,
    fieldConfig: { defaults: {}, overrides: [] },
    options: {},
    targets: targets,
    transformations: [],
  },

  row(title, panels, collapsed=false):: { type: 'row', title: title, collapsed: collapsed, rows:: panels },

  // Shows null as a dash without a colour. Without this mapping null is below all thresholds and gets the lowest one's colour.
  unknown:: [{ type: 'special', options: { match: 'null', result: { color: 'text', text: '–', index: 0 } } }],

  // Overrides of one column: hidden, linked, with a unit, as a bar.

  // Hides a column. Grafana 12.2 renamed the option, so both are set. noValue is empty, because links replace a null by its text.
  hidden(name):: override(name, { noValue: '', 'custom.hidden': true, 'custom.hideFrom': { viz: true, legend: false, tooltip: false } }),
  // A bar, relative to the largest value of the column, or to most.
  share(name, most=null):: override(name, {
    unit: 'percentunit',
    min: 0,
    [if most != null then 'max']: most,
    'custom.cellOptions': { type: 'gauge', mode: 'basic' },
    mappings: $.unknown,
  }),
  // A change: an increase is red, a decrease is green. The first step is not null, because some versions do not accept it.
  change(name):: override(name, {
    unit: 'percentunit',
    'custom.cellOptions': { type: 'color-text' },
    thresholds: { mode: 'absolute', steps: [
      { color: 'green', value: -1e6 },
      { color: 'text', value: -0.02 },
      { color: 'orange', value: 0.02 },
      { color: 'red', value: 0.2 },
    ] },
    mappings: $.unknown,
  }),
  unit(name, unit):: override(name, { unit: unit }),
  width(name, width):: override(name, { 'custom.width': width }),
  // A column with a sign that is a link; a row whose value is null has neither.
  sign(name, title, url, width=75):: override(name, { noValue: '', links: [{ title: title, url: url }], 'custom.width': width, 'custom.align': 'center' }),
  link(name, title, url, width=null):: override(name, { links: [{ title: title, url: url }] }
                                                      + (if width == null then {} else { 'custom.width': width })),

  // --- variables ---

  queried(name, label, sql, extra={}):: variable {
    name: name,
    label: label,
    type: 'query',
    datasource: datasource,
    query: sql,
    definition: sql,
    refresh: 2,
    sort: 0,
    multi: false,
    includeAll: false,
    regex: '',
  } + extra,

  // The variable is queried when the page is opened, and not again for each range.
  once:: { refresh: 1 },

  typed(name, label, description):: variable {
    name: name,
    label: label,
    description: description,
    type: 'textbox',
    query: '',
    current: { text: '', value: '' },
    options: [],
  },

  // Puts the variable into the menu of controls (Grafana 12.3 or later). Earlier versions show it beside the others.
  inMenu(variable):: variable { hide: 3 },

  // The first choice is the default.
  chosen(name, label, choices):: variable {
    name: name,
    label: label,
    type: 'custom',
    query: std.join(',', ['%s : %s' % [each[0], each[1]] for each in choices]),
    multi: false,
    includeAll: false,
    current: { text: choices[0][0], value: choices[0][1] },
    options: [{ text: each[0], value: each[1], selected: each == choices[0] } for each in choices],
  },

  // --- the page ---

  // Sets the positions of panels: lines from top to bottom, the panels of a line from left to right. Panels of a row follow it, or are
  // nested in it if it is collapsed.
  layout(lines)::
    local place(panels, y) = std.foldl(
      function(done, panel) {
        x: done.x + panel.gridPos.w,
        panels: done.panels + [panel { gridPos+: { x: done.x, y: y } }],
      },
      panels,
      { x: 0, panels: [] }
    ).panels;
    local height(panels) = std.foldl(function(most, panel) std.max(most, panel.gridPos.h), panels, 0);
    local add(done, line) =
      if std.isArray(line) then { y: done.y + height(line), panels: done.panels + place(line, done.y) }
      else
        local inner = std.foldl(add, line.rows, { y: done.y + 1, panels: [] });
        local head = line { gridPos: { x: 0, y: done.y, w: 24, h: 1 } };
        if line.collapsed then { y: done.y + 1, panels: done.panels + [head { panels: inner.panels }] }
        else { y: inner.y, panels: done.panels + [head { panels: [] }] + inner.panels };
    local count(panel) = 1 + (if std.objectHas(panel, 'panels') then std.length(panel.panels) else 0);
    local numbered(panels) = std.foldl(
      function(done, panel) {
        next: done.next + count(panel),
        panels: done.panels + [panel { id: done.next } + (
          if std.objectHas(panel, 'panels') then
            { panels: std.mapWithIndex(function(i, inner) inner { id: done.next + 1 + i }, panel.panels) }
          else {}
        )],
      },
      panels,
      { next: 1, panels: [] }
    ).panels;
    numbered(std.foldl(add, lines, { y: 0, panels: [] }).panels),

  dashboard(uid, title, description, variables, lines, extra={}):: {
    uid: uid,
    title: title,
    description: description,
    tags: ['profstore'],
    schemaVersion: 39,
    version: 1,
    editable: true,
    graphTooltip: 1,
    refresh: '',
    timezone: 'browser',
    time: { from: 'now-1h', to: 'now' },
    timepicker: {},
    fiscalYearStartMonth: 0,
    links: [],
    annotations: { list: [] },
    templating: { list: variables },
    panels: $.layout(lines),
  } + extra,
}
