module profstore/pyroscope

go 1.25.0

require (
	github.com/grafana/pyroscope-go v1.4.3
	github.com/grafana/pyroscope/api v1.6.0
	connectrpc.com/connect v1.19.2
)
