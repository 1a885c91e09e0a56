// Work with Pyroscope's SDK for Go, or its client library as Alloy uses it.
//
//	pyroscope sdk ADDRESS NAME SECONDS     60, 30 and 10 % of the time in three functions, the second with labels
//	pyroscope profile FILE SECONDS         the same work, profiled by the runtime into a file
//	pyroscope push ADDRESS NAME FILE...    a request of push.v1 for each file, all at once; prints the code of each
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"sync"
	"time"

	"connectrpc.com/connect"
	"github.com/grafana/pyroscope-go"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/push/v1/pushv1connect"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
)

var sum uint64
var kept []byte

//go:noinline
func spin(rounds int) {
	for i := 0; i < rounds*100_000; i++ {
		sum = sum*6364136223846793005 + 1442695040888963407
	}
	kept = make([]byte, 100_000)
}

//go:noinline
func much() { spin(6) }

//go:noinline
func some() { spin(3) }

//go:noinline
func few() { spin(1) }

func work(seconds string) {
	count, err := strconv.Atoi(seconds)
	must(err)
	for end := time.Now().Add(time.Duration(count) * time.Second); time.Now().Before(end); {
		much()
		pyroscope.TagWrapper(context.Background(), pyroscope.Labels("job", "nightly"), func(context.Context) { some() })
		few()
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func sdk(address, name, seconds string) {
	runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)
	profiler, err := pyroscope.Start(pyroscope.Config{ApplicationName: name, ServerAddress: address, Tags: map[string]string{"zone": "eu"},
		UploadRate: 10 * time.Second,
		ProfileTypes: []pyroscope.ProfileType{pyroscope.ProfileCPU, pyroscope.ProfileAllocObjects, pyroscope.ProfileAllocSpace,
			pyroscope.ProfileInuseObjects, pyroscope.ProfileInuseSpace, pyroscope.ProfileGoroutines,
			pyroscope.ProfileMutexCount, pyroscope.ProfileMutexDuration, pyroscope.ProfileBlockCount, pyroscope.ProfileBlockDuration}})
	must(err)
	work(seconds)
	must(profiler.Stop())
}

func push(address, name string, files []string) {
	client := pushv1connect.NewPusherServiceClient(http.DefaultClient, address)
	var all sync.WaitGroup
	for _, path := range files {
		content, err := os.ReadFile(path)
		must(err)
		labels := []*typesv1.LabelPair{{Name: "__name__", Value: "process_cpu"}, {Name: "service_name", Value: name}, {Name: "__delta__", Value: "false"}}
		all.Add(1)
		go func() {
			defer all.Done()
			_, err := client.Push(context.Background(), connect.NewRequest(&pushv1.PushRequest{
				Series: []*pushv1.RawProfileSeries{{Labels: labels, Samples: []*pushv1.RawSample{{RawProfile: content}}}}}))
			if err != nil {
				fmt.Println(connect.CodeOf(err))
			} else {
				fmt.Println("ok")
			}
		}()
	}
	all.Wait()
}

func main() {
	switch os.Args[1] {
	case "sdk":
		sdk(os.Args[2], os.Args[3], os.Args[4])
	case "profile":
		file, err := os.Create(os.Args[2])
		must(err)
		must(pprof.StartCPUProfile(file))
		work(os.Args[3])
		pprof.StopCPUProfile()
		must(file.Close())
	case "push":
		push(os.Args[2], os.Args[3], os.Args[4:])
	}
}
