// GPUs: how busy devices are and what they consume, who uses their memory, and the CPU stacks that give them work beside the CPU's own.
local g = import 'grafana.libsonnet';
local p = import 'parts.libsonnet';
local q = import 'queries.libsonnet';

// A fixed type with the label and the matchers of the dashboard.
local of(type) = "profstore.valid_selector(profstore.selector('%s', %s, %s))" % [type, q.labels, q.matchers()];
local filtered(type) = "profstore.valid_selector(profstore.selector('%s', %s, %s), '$focus', '$ignore', '$show', %s)" % [type, q.labels, q.matchers(), q.hide];
local unit(name) = "SELECT '%s' AS unit" % name;

// What Parca's agents send to receive is of the same meaning as our own types.
local types = "profile_type LIKE 'gpu:%' OR profile_type LIKE 'parca_agent:gpu%'";
local noGpu = "CASE WHEN '$type' = '' AND EXISTS (SELECT FROM profstore.series) THEN 'No series fits: no GPU is stored. Start agents with -' || '-gpu, or with -' || '-probe gpu-launches.' ELSE status END AS status";

// Three graphs side by side have no room for a legend at the right.
local narrow(title, description, sql, unit) = p.graph(title, description, 8, 8, sql, unit) + {
  options+: { legend: { showLegend: true, displayMode: 'list', placement: 'bottom', calcs: [] } },
};

local flame(title, description, selector) = p.flame(title, description, |||
  SELECT %s
  FROM profstore.flamegraph(
    %s,
    $__timeFrom(), $__timeTo(),
    max_nodes => 16384,
    %s)
  ORDER BY ord
||| % [q.frames(), selector, q.filters]);

p.page(
  'gpu',
  'GPU',
  'Devices, their memory by process, and the stacks that give them work',
  [g.queried('type', 'Profile type', p.typesOf(types, 'gpu:launches:'), g.once), p.label, p.value, p.only, p.matchers] + p.filters,
  [
    [p.selection(status=noGpu)],
    g.row('Devices', [
      [
        narrow('Busy', 'Time in which each device was busy, per second: 1 is a device that is never idle.', q.lines(of('gpu:active:nanoseconds:gpu:nanoseconds:delta'), "'node', 'gpu'"), unit('suffix:GPUs')),
        narrow('Power', 'Energy of each device, per second.', q.lines(of('gpu:energy:millijoules:energy:millijoules:delta'), "'node', 'gpu'"), unit('mwatt')),
        narrow('Memory', 'Memory of all devices by the chosen label.', q.lines(of('gpu:memory:bytes:space:bytes'), "'$label'"), unit('bytes')),
      ],
    ]),
    g.row('Work of GPUs', [
      [p.graph('By label', 'The chosen type as a rate; memory as a value.', 24, 8, q.lines(q.selector, "'$label'", q.filters))],
      [flame('GPU', 'All stacks of the chosen type in the range, merged. Launches have the CPU stacks that made them.', q.selector)],
    ]),
    g.row('CPU time of the same selection', [
      [flame('CPU', 'CPU time with the same label and matchers. Times of CPUs and of GPUs are of different resources, so they are not added.', filtered('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta')) + { targets: [super.targets[0], g.query(unit('ns'), 'unit')] }],
    ]),
  ]
)
