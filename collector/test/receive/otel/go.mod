module profstore/otel

go 1.25.0

require (
	go.opentelemetry.io/collector/exporter/otlpexporter v0.159.0
	go.opentelemetry.io/collector/exporter/otlphttpexporter v0.159.0
	go.opentelemetry.io/ebpf-profiler v0.0.202606
)
