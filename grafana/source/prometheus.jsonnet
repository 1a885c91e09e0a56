// Alert rules for Prometheus, over the pages /metrics of agents, scrapers and receivers. JSON is YAML, so the result is a rule file.
local rule(name, expr, wait, severity, summary, description) = {
  alert: name,
  expr: expr,
  'for': wait,
  labels: { severity: severity, source: 'profstore' },
  annotations: { summary: summary, description: description },
};

// A rule for each program, whose figures differ in their prefix.
local each(programs, name, expr, wait, severity, summary, description) = [
  rule(
    'Profstore%s%s' % [std.asciiUpper(program[0]) + program[1:], name],
    std.strReplace(expr, 'PROGRAM', 'profstore_' + program),
    wait,
    severity,
    summary,
    description
  )
  for program in programs
];
local all = ['agent', 'scrape', 'receive'];

{
  groups: [{
    name: 'profstore',
    rules:
      each(all,
           'DatabaseAway',
           'PROGRAM_database_ready == 0',
           '5m',
           'warning',
           '{{ $labels.instance }} cannot store in the database',
           'Batches wait in memory, or in the spool if there is one. Its log has the reason; SELECT * FROM profstore.health() shows what the database has seen.') +
      each(all,
           'RowsDropped',
           'increase(PROGRAM_rows_dropped_total[10m]) > 0',
           '0m',
           'critical',
           '{{ $labels.instance }} dropped {{ $value | humanize }} rows in ten minutes',
           'The queue or the spool is full. Give it a --spool-directory, or raise --queue-size, --spool-size.') +
      each(all,
           'BatchesRefused',
           'increase(PROGRAM_batches_refused_total[10m]) > 0',
           '0m',
           'warning',
           'The database refused batches of {{ $labels.instance }}',
           'Its log has the reason.') +
      each(all,
           'SpoolFills',
           'PROGRAM_spooled_bytes / (PROGRAM_spool_limit_bytes > 0) > 0.7',
           '1m',
           'critical',
           'The spool of {{ $labels.instance }} is {{ $value | humanizePercentage }} full',
           'Once it is full, the oldest batches are dropped. Make the database accept batches, or raise --spool-size.') +
      each(all,
           'SpoolFails',
           'increase(PROGRAM_spool_failures_total[10m]) > 0',
           '0m',
           'warning',
           '{{ $labels.instance }} cannot write to its spool directory',
           'The disk is full or fails. Batches wait in memory meanwhile.') +
      [
        rule('ProfstoreAgentLags',
             'time() - (profstore_agent_newest_sample_timestamp_seconds > 0) > 600',
             '1m',
             'warning',
             '{{ $labels.instance }} has stored no sample for {{ $value | humanizeDuration }}',
             'Run profstore-collector check on the host.'),
        rule('ProfstoreAgentHangs',
             'time() - profstore_agent_figures_timestamp_seconds > 60',
             '1m',
             'critical',
             'The main thread of the agent {{ $labels.instance }} hangs',
             'Restart it, and report its log.'),
        rule('ProfstoreAgentLosesSamples',
             'sum by (instance) (rate(profstore_agent_samples_lost_total[10m])) / sum by (instance) (rate(profstore_agent_samples_total[10m])) > 0.01',
             '0m',
             'warning',
             '{{ $labels.instance }} lost {{ $value | humanizePercentage }} of its samples',
             'The label reason of profstore_agent_samples_lost_total says why.'),
        rule('ProfstoreScrapeTargetsDown',
             'profstore_scrape_targets_down / (profstore_scrape_targets_up + profstore_scrape_targets_down) > 0.5',
             '5m',
             'warning',
             '{{ $value | humanizePercentage }} of the targets of {{ $labels.instance }} are down',
             "SELECT * FROM profstore.target_states() WHERE state = 'down' has the reasons."),
        rule('ProfstoreScrapeConfigurationBad',
             'profstore_scrape_config_good == 0',
             '5m',
             'warning',
             '{{ $labels.instance }} keeps its old configuration',
             'The new one could not be read; its log has the place.'),
        rule('ProfstoreReceiveRequestsRefused',
             'rate(profstore_receive_requests_unavailable_total[10m]) / rate(profstore_receive_requests_total[10m]) > 0.05',
             '5m',
             'warning',
             '{{ $labels.instance }} asks {{ $value | humanizePercentage }} of its clients to retry',
             'The database is slow or away, or --max-memory is too small.'),
      ],
  }],
}
