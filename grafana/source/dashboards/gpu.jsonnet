// GPUs: how busy devices are and what they consume, who uses their memory, their kernels and copies, and the CPU stacks that give them
// work beside the CPU's own.
local g = import 'grafana.libsonnet';
local p = import 'parts.libsonnet';
local q = import 'queries.libsonnet';

local kernelTime = 'gpu:kernel_time:nanoseconds:gpu:nanoseconds:delta';
local copyTime = 'gpu:copy_time:nanoseconds:copy:nanoseconds:delta';
local copyBytes = 'gpu:copy:bytes:copy:bytes:delta';

// Parca's agents measure kernels, too. If both agents run on a node, a kernel has two rows: their times are not added. Their type is
// abbreviated, because the names of its period are theirs to change.
local kernelsOf = [
  [kernelTime, 'profstore', @'gpu:kernel\_time:%'],
  ['parca_agent:gpu_kernel_time', 'Parca', @'parca\_agent:gpu\_kernel\_time:%'],
];

// A fixed type with the label and the matchers of the dashboard, without or with the filters of frames.
local of(type) = "profstore.valid_selector(profstore.selector('%s', %s, %s))" % [type, q.labels, q.matchers()];
local filtered(type) = "profstore.valid_selector(profstore.selector('%s', %s, %s), '$focus', '$ignore', '$show', %s)" % [type, q.labels, q.matchers(), q.hide];
local unit(name) = "SELECT '%s' AS unit" % name;

// Panels of a fixed type are empty for reasons that Selection does not know.
local absent(sql, what) = std.strReplace(std.strReplace(sql, 'nothing to draw: see Selection', what), 'nothing here: see Selection', what);
local noDevice = "nothing stored: start agents with -' || '-gpu";
local noKernel = "nothing stored: start agents with -' || '-probe gpu-kernels";

local types = @"profile_type LIKE 'gpu:%' OR profile_type LIKE 'parca\_agent:gpu%'";
local noGpu = "CASE WHEN '$type' = '' AND EXISTS (SELECT FROM profstore.series) THEN 'No series fits: no GPU is stored. Start agents with -' || '-gpu, -' || '-probe gpu-kernels or -' || '-probe gpu-launches.' ELSE status END AS status";

// Graphs side by side have no room for a legend at the right.
local narrow(title, description, sql, unit, width=8) = p.graph(title, description, width, 8, sql, unit) + {
  options+: { legend: { showLegend: true, displayMode: 'list', placement: 'bottom', calcs: [] } },
};
local device(title, description, type, by, of_unit) = narrow(title, description, absent(q.lines(of(type), by), noDevice), unit(of_unit));
local copies(title, description, type, of_unit) = narrow(title, description, absent(q.lines(of(type), "'copy'"), noKernel), unit(of_unit), 7);

local flame(title, description, selector) = p.flame(title, description, |||
  SELECT %s
  FROM profstore.flamegraph(
    %s,
    $__timeFrom(), $__timeTo(),
    max_nodes => 16384,
    %s)
  ORDER BY ord
||| % [q.frames(), selector, q.filters]);

// Kernels are the innermost frames of launches.
local kernels = absent(q.orNothing(std.join('UNION ALL\n', [|||
  SELECT t."function" AS kernel, t.self AS "time", t.self_share AS share, '%s' AS "measured by", f.filter AS focus,
    (SELECT pg_catalog.max(y.profile_type) FROM profstore.profile_types() AS y WHERE y.profile_type LIKE '%s') AS profile_type
  FROM profstore.top(
    %s,
    $__timeFrom(), $__timeTo(),
    max_rows => 100,
    %s) AS t, %s AS f
  WHERE t.self > 0
||| % [type[1], type[2], filtered(type[0]), q.filters, q.frame('t', "'function'")] for type in kernelsOf]), 6, '2 DESC NULLS LAST, 1'), noKernel);

// The sum of a type over the range for each kind of copy, of times in seconds.
local sums(type) = |||
  SELECT labels ->> 'copy' AS kind, pg_catalog.sum(value) AS amount
  FROM profstore.timeseries(%s, $__timeFrom(), $__timeTo(), step => interval '36500 days', by => ARRAY['copy'], absolute => true)
  GROUP BY 1
||| % of(type);
local kind = |||
  CASE kind WHEN 'htod' THEN 'host to device' WHEN 'dtoh' THEN 'device to host' WHEN 'dtod' THEN 'within a device' WHEN 'htoh' THEN 'host to host' WHEN 'ptop' THEN 'device to device' WHEN 'set' THEN 'memory set' ELSE 'other' END
|||;
local copySums = absent(q.orNothing(|||
  SELECT %s AS copies, b.amount AS bytes, t.amount AS "time", b.amount / nullif(t.amount, 0) AS speed
  FROM (%s) AS t
  FULL JOIN (%s) AS b USING (kind)
||| % [std.stripChars(kind, '\n'), std.stripChars(sums(copyTime), '\n'), std.stripChars(sums(copyBytes), '\n')], 4, '3 DESC NULLS LAST, 1'), noKernel);

p.page(
  'gpu',
  'GPU',
  'Devices, their memory by process, kernels, copies, and the stacks that give devices work',
  [
    g.queried('type', 'Profile type', p.typesOf(types, ['gpu:kernel_time:', @'parca\_agent:gpu\_kernel\_time:', 'gpu:launches:']), g.once),
    p.label,
    p.value,
    p.only,
    p.matchers,
  ] + p.filters,
  [
    [p.selection(status=noGpu)],
    g.row('Devices', [
      [
        device('Busy', 'Time in which each device was busy, per second: 1 is a device that is never idle.', 'gpu:active:nanoseconds:gpu:nanoseconds:delta', "'node', 'gpu'", 'suffix:GPUs'),
        device('Power', 'Energy of each device, per second.', 'gpu:energy:millijoules:energy:millijoules:delta', "'node', 'gpu'", 'mwatt'),
        device('Memory', 'Memory of all devices by the chosen label.', 'gpu:memory:bytes:space:bytes', "'$label'", 'bytes'),
      ],
    ]),
    g.row('Kernels and copies', [
      [p.table('Kernels', 'The time of each kernel on devices, and its share of the time of all kernels. A click keeps the stacks that launched the kernel.', 24, 10, kernels, [
        g.link('kernel', 'Only stacks with it', p.to('gpu', ['label', 'value', 'only', 'matchers', 'ignore', 'show', 'hide', 'preset'], { type: '${__data.fields.profile_type:percentencode}', focus: '${__data.fields.focus:percentencode}' })),
        g.override('kernel', { 'custom.minWidth': 400, 'custom.inspect': true }),
        g.hidden('focus'),
        g.hidden('profile_type'),
        g.unit('time', 'ns'),
        g.width('time', 100),
        g.share('share'),
        g.width('share', 200),
        g.width('measured by', 110),
      ])],
      [
        copies('Copy time', 'Time of copies by kind, per second: 1 is one copy that always runs. Values are scaled from windows in which programs are observed.', copyTime, 'suffix:copies'),
        copies('Bytes copied', 'Bytes of copies by kind, per second.', copyBytes, 'Bps'),
        p.table('Copies by kind', 'Bytes and time of copies in the range, and the speed while they ran. Copies are known by device and process, not by stack.', 10, 8, copySums, [
          g.unit('bytes', 'bytes'),
          g.width('bytes', 90),
          g.unit('time', 's'),
          g.width('time', 90),
          g.unit('speed', 'Bps'),
          g.width('speed', 110),
        ]),
      ],
    ]),
    g.row('Work of GPUs', [
      [p.graph('By label', 'The chosen type as a rate; memory as a value.', 24, 8, q.lines(q.selector, "'$label'", q.filters))],
      [flame('GPU', 'All stacks of the chosen type in the range, merged. Kernels and launches have the CPU stacks that launched them.', q.selector)],
    ]),
    g.row('CPU time of the same selection', [
      [flame('CPU', 'CPU time with the same label and matchers. Times of CPUs and of GPUs are of different resources, so they are not added.', filtered('process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta')) + { targets: [super.targets[0], g.query(unit('ns'), 'unit')] }],
    ]),
  ]
)
