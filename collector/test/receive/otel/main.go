// Profiles on OpenTelemetry's own road: events go to the reporter of its eBPF profiler, which sends them itself, or hands them to an
// exporter of the OpenTelemetry Collector.
//
//	otel ADDRESS     a request as JSON on stdin; what became of it as one line on stdout: "ok", or why not
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/exporter/otlpexporter"
	"go.opentelemetry.io/collector/exporter/otlphttpexporter"
	"go.opentelemetry.io/collector/exporter/xexporter"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/ebpf-profiler/libpf"
	"go.opentelemetry.io/ebpf-profiler/reporter"
	"go.opentelemetry.io/ebpf-profiler/reporter/samples"
	"go.opentelemetry.io/ebpf-profiler/support"
	"google.golang.org/grpc"
)

type frame struct {
	Type, File, BuildID, Function, Source string
	Address, Line                         uint64
}

type event struct {
	Stack  int
	TimeNs int64
	OffNs  int64 // of a wait; 0: on the processor
	Comm   string
}

type request struct {
	Road         string // reporter, grpc, http or json
	Service      string
	Executable   string
	Stacks       [][]frame
	Events       []event
	Trace, Span  []byte // of all samples, where an exporter sends them
	RetrySeconds int    // how long an exporter tries again
}

var frameTypes = map[string]libpf.FrameType{"native": libpf.NativeFrame, "kernel": libpf.KernelFrame, "cpython": libpf.PythonFrame}

func traceOf(r *request, stack int) *libpf.Trace {
	trace := &libpf.Trace{Hash: libpf.NewTraceHash(1, uint64(stack))}
	for _, f := range r.Stacks[stack] {
		one := libpf.Frame{
			Type: frameTypes[f.Type], AddressOrLineno: libpf.AddressOrLineno(f.Address), FunctionName: libpf.Intern(f.Function),
			SourceFile: libpf.Intern(f.Source), SourceLine: libpf.SourceLineno(f.Line),
		}
		if f.File != "" {
			file := libpf.NewFrameMappingFile(libpf.FrameMappingFileData{FileName: libpf.Intern(f.File), GnuBuildID: f.BuildID})
			one.Mapping = libpf.NewFrameMapping(libpf.FrameMappingData{File: file, Start: 0x1000, End: 0x100000, FileOffset: 0x1000})
		}
		trace.Frames.Append(&one)
	}
	return trace
}

func report(r *request, to reporter.TraceReporter) error {
	for _, e := range r.Events {
		meta := &samples.TraceEventMeta{
			Timestamp: libpf.UnixTime64(e.TimeNs), Comm: libpf.Intern(e.Comm), ExecutablePath: libpf.Intern(r.Executable),
			APMServiceName: r.Service, PID: 77, TID: libpf.PID(78 + len(e.Comm)), Origin: support.TraceOriginSampling,
		}
		if e.OffNs != 0 {
			meta.Origin, meta.OffTime = support.TraceOriginOffCPU, e.OffNs
		}
		if err := to.ReportTraceEvent(traceOf(r, e.Stack), meta); err != nil {
			return err
		}
	}
	return nil
}

type client interface {
	reporter.TraceReporter
	Start(context.Context) error
	Stop()
}

// Until one request has ended.
func send(ctx context.Context, r *request, one client, done <-chan error) error {
	if err := report(r, one); err != nil {
		return err
	}
	if err := one.Start(ctx); err != nil {
		return err
	}
	err := <-done
	one.Stop()
	return err
}

// The profiler's own client: it sends once, and tries nothing again.
func byReporter(ctx context.Context, address string, r *request) error {
	done := make(chan error, 1)
	one, err := reporter.NewOTLP(&reporter.Config{
		Name: "profiler", Version: "1", CollAgentAddr: address, MaxRPCMsgSize: 32 << 20, DisableTLS: true, SamplesPerSecond: 20,
		GRPCOperationTimeout: 5 * time.Second, GRPCStartupBackoffTime: time.Second, GRPCConnectionTimeout: 10 * time.Second,
		ReportInterval: 100 * time.Millisecond, ReportJitter: 0.2,
		GRPCClientInterceptor: func(ctx context.Context, method string, in, out any, c *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
			err := invoke(ctx, method, in, out, c, options...)
			done <- err
			return err
		},
	})
	if err != nil {
		return err
	}
	return send(ctx, r, one, done)
}

// What the reporter makes, with the link to a trace, goes on to an exporter.
type linking struct {
	r    *request
	next xexporter.Profiles
	done chan error
}

func (linking) Capabilities() consumer.Capabilities { return consumer.Capabilities{MutatesData: true} }

func (l linking) ConsumeProfiles(ctx context.Context, profiles pprofile.Profiles) error {
	if len(l.r.Trace) == 16 {
		link := profiles.Dictionary().LinkTable().AppendEmpty()
		link.SetTraceID([16]byte(l.r.Trace))
		link.SetSpanID([8]byte(l.r.Span))
		for _, resource := range profiles.ResourceProfiles().All() {
			for _, scope := range resource.ScopeProfiles().All() {
				for _, profile := range scope.Profiles().All() {
					for _, sample := range profile.Samples().All() {
						sample.SetLinkIndex(1)
					}
				}
			}
		}
	}
	err := l.next.ConsumeProfiles(ctx, profiles)
	l.done <- err
	return err
}

func retry(r *request) configretry.BackOffConfig {
	config := configretry.NewDefaultBackOffConfig()
	config.InitialInterval = 200 * time.Millisecond
	config.MaxElapsedTime = time.Duration(r.RetrySeconds) * time.Second
	config.Enabled = r.RetrySeconds > 0
	return config
}

// Without a queue, so that who hands profiles over waits for their end.
func newExporter(ctx context.Context, address string, r *request) (xexporter.Profiles, error) {
	factory := otlpexporter.NewFactory().(xexporter.Factory)
	noQueue := configoptional.None[exporterhelper.QueueBatchConfig]()
	settings := exporter.Settings{TelemetrySettings: componenttest.NewNopTelemetrySettings()}
	var config component.Config
	if r.Road == "grpc" {
		own := factory.CreateDefaultConfig().(*otlpexporter.Config)
		own.ClientConfig.Endpoint, own.ClientConfig.TLS.Insecure, own.QueueConfig, own.RetryConfig = address, true, noQueue, retry(r)
		config = own
	} else {
		factory = otlphttpexporter.NewFactory().(xexporter.Factory)
		own := factory.CreateDefaultConfig().(*otlphttpexporter.Config)
		own.ClientConfig.Endpoint, own.QueueConfig, own.RetryConfig = "http://"+address, noQueue, retry(r)
		if r.Road == "json" {
			own.Encoding = otlphttpexporter.EncodingJSON
		}
		config = own
	}
	settings.ID = component.NewID(factory.Type())
	one, err := factory.CreateProfiles(ctx, settings, config)
	if err != nil {
		return nil, err
	}
	return one, one.Start(ctx, componenttest.NewNopHost())
}

// The profiler inside of a Collector, whose exporter sends.
func byExporter(ctx context.Context, address string, r *request) error {
	sender, err := newExporter(ctx, address, r)
	if err != nil {
		return err
	}
	defer sender.Shutdown(ctx)
	next := linking{r, sender, make(chan error, 1)}
	one, err := reporter.NewCollector(&reporter.Config{
		Name: "profiler", Version: "1", SamplesPerSecond: 20, ReportInterval: 100 * time.Millisecond, ReportJitter: 0.2,
	}, next)
	if err != nil {
		return err
	}
	return send(ctx, r, one, next.done)
}

func main() {
	var r request
	if err := json.NewDecoder(os.Stdin).Decode(&r); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	road := byExporter
	if r.Road == "reporter" {
		road = byReporter
	}
	if err := road(context.Background(), os.Args[1], &r); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("ok")
}
