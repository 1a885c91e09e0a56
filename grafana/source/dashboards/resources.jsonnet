// Memory, goroutines, locks: all types of a service except CPU time side by side, and the stacks of one of them.
local g = import 'grafana.libsonnet';
local p = import 'parts.libsonnet';
local q = import 'queries.libsonnet';

local one = std.stripChars(q.repeated('types'), '\n');
local each = 'profstore.valid_selector(profstore.selector(%s, %s, %s))' % [q.typeOr(one), q.labels, q.matchers()];
local unit = std.strReplace(q.rateUnit, "'$type'", one);

// The status says so if only CPU time is stored.
local onlyCpu = "CASE WHEN '$type' = '' AND EXISTS (SELECT FROM profstore.series) THEN 'No series fits: nothing but CPU time is stored. Scrape a target, or let the agent sample waits.' ELSE status END AS status";

p.page(
  'resources',
  'Memory, goroutines, locks',
  'What programs hold and wait for: instant types as values, delta types as rates',
  [
    g.queried('type', 'Profile type', p.typesOf("profile_type NOT LIKE 'process_cpu:%'", ['memory:inuse_space:']), g.once),
    p.label,
    p.value,
    p.only,
    p.matchers,
    g.queried('types', 'Graphs of', p.typesOf("profile_type NOT LIKE 'process_cpu:%' AND last_seen >= $__timeFrom()::timestamptz", ['memory:inuse_space:']), g.once { multi: true, includeAll: true, current: { text: ['All'], value: ['$__all'] } }),
  ] + p.filters,
  [
    [p.selection(status=onlyCpu)],
    g.row('All types', [
      [p.graph('${types:text}', 'An instant type as values, a delta type as a rate per second.', 8, 7, q.lines(each, "'$label'", most=5), unit) + {
        repeat: 'types',
        repeatDirection: 'h',
        maxPerRow: 3,
        options+: { legend: { showLegend: true, displayMode: 'list', placement: 'bottom', calcs: [] } },
        fieldConfig+: { defaults+: { links: [{ title: 'Its stacks', url: p.to('resources', ['label', 'value', 'only', 'matchers'], { type: '${types:percentencode}' }) }] } },
      }],
    ]),
    g.row('Stacks', [
      [p.flame('Flame graph', 'All stacks of the range, merged; for an instant type, the mean of its scrapes.', |||
        SELECT %s
        FROM profstore.flamegraph(
          %s,
          $__timeFrom(), $__timeTo(),
          max_nodes => 16384,
          %s)
        ORDER BY ord
      ||| % [q.frames(), q.selector, q.filters])],
    ]),
  ]
)
