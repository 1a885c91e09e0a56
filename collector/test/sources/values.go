package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Serves this program's own profiles, and keeps the bytes of each answer.
type recorder struct {
	lock   sync.Mutex
	bodies map[string][][]byte // by path
	closed bool                // further requests are refused
	active sync.WaitGroup
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.lock.Lock()
	closed := r.closed
	if !closed {
		r.active.Add(1)
	}
	r.lock.Unlock()
	if closed {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	defer r.active.Done()
	answer := httptest.NewRecorder()
	if request.URL.Path == "/debug/pprof/profile" {
		pprof.Profile(answer, request)
	} else {
		pprof.Index(answer, request)
	}
	body, _ := io.ReadAll(answer.Body)
	if answer.Code == 200 {
		r.lock.Lock()
		r.bodies[request.URL.Path] = append(r.bodies[request.URL.Path], body)
		r.lock.Unlock()
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(body)
}

// Waits for requests that run, and refuses others: what was served has been received whole then.
func (r *recorder) close() {
	r.lock.Lock()
	r.closed = true
	r.lock.Unlock()
	r.active.Wait()
	time.Sleep(500 * time.Millisecond)
}

func (r *recorder) of(path string) [][]byte {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.bodies[path]
}

var (
	kept  [][]byte
	guard sync.Mutex
)

//go:noinline
func allocate() {
	guard.Lock()
	defer guard.Unlock()
	kept = append(kept, make([]byte, 1<<16))
	if len(kept) > 100 {
		kept = nil
	}
}

// Work of every kind that net/http/pprof knows.
func work(stop chan bool) {
	for {
		select {
		case <-stop:
			return
		default:
			allocate()
			time.Sleep(time.Millisecond)
			for i, x := 0, 1; i < 200000; i++ {
				x = x*3 + i
			}
		}
	}
}

var topRx = regexp.MustCompile(`^ *(-?[0-9]+)[a-zA-Z]* +\S+ +\S+ +(-?[0-9]+)[a-zA-Z]* +\S+  (.*)$`)

// Flat and cumulative values of each function, added over files, as "go tool pprof -top" has them.
func pprofTop(kind, unit string, bodies [][]byte) map[string][2]int64 {
	result := map[string][2]int64{}
	for i, body := range bodies {
		path := filepath.Join(directory, fmt.Sprintf("served-%d.pb.gz", i))
		if err := os.WriteFile(path, body, 0o600); err != nil {
			fatal("%v", err)
		}
		command := exec.Command("go", "tool", "pprof", "-top", "-cum", "-nodecount=10000000", "-nodefraction=0", "-edgefraction=0",
			"-unit="+unit, "-sample_index="+kind, path)
		var errors bytes.Buffer
		command.Stderr = &errors
		output, err := command.Output()
		if err != nil {
			fatal("go tool pprof: %v: %s", err, errors.String())
		}
		for _, line := range strings.Split(string(output), "\n") {
			if m := topRx.FindStringSubmatch(line); m != nil {
				name := regexp.MustCompile(` \((partial-)?inline\)$`).ReplaceAllString(m[3], "")
				flat, _ := strconv.ParseInt(m[1], 10, 64)
				cum, _ := strconv.ParseInt(m[2], 10, 64)
				sums := result[name]
				result[name] = [2]int64{sums[0] + flat, sums[1] + cum}
			}
		}
	}
	for name, sums := range result {
		if sums == [2]int64{} {
			delete(result, name)
		}
	}
	return result
}

func differences(want, got map[string][2]int64) (problems []string) {
	for name, values := range want {
		if got[name] != values {
			problems = append(problems, fmt.Sprintf("%s: want %v, got %v", name, values, got[name]))
		}
	}
	for name, values := range got {
		if _, found := want[name]; !found {
			problems = append(problems, fmt.Sprintf("%s: not wanted, got %v", name, values))
		}
	}
	sort.Strings(problems)
	return problems
}

// What is stored of a job's profile type, from the samples themselves.
func storedTop(profileType, job string) map[string][2]int64 {
	result := map[string][2]int64{}
	for _, row := range query(`SELECT function, self, total FROM profstore.top_of((SELECT profstore.merge_stacks(stack_id, value)
			FROM profstore.samples JOIN profstore.series() USING (series_id)
			WHERE profile_type = '%s' AND labels->>'job' = '%s'), max_rows => 10000000)`, profileType, job) {
		self, _ := strconv.ParseInt(row[1], 10, 64)
		total, _ := strconv.ParseInt(row[2], 10, 64)
		if self != 0 || total != 0 {
			result[row[0]] = [2]int64{self, total}
		}
	}
	return result
}

// The exit code of the command "health".
func health(status string) int {
	command := exec.Command(os.Getenv("COLLECTOR"), "health", "--status", status)
	_ = command.Run()
	return command.ProcessState.ExitCode()
}

const valuesConfig = `
scrape_configs:
  - job_name: values
    scrape_interval: 2s
    static_configs:
      - targets: ['%s']
        labels: {team: a}
    profiling_config:
      pprof_config:
        process_cpu: {seconds: 1}
        heap_delta: {enabled: true, path: /debug/pprof/heap, delta: true, seconds: 1}
        only_space:
          enabled: true
          path: /debug/pprof/heap
          keep_sample_type: [{type: inuse_space, unit: bytes}]
`

// A real program with net/http/pprof: every kind, value for value what "go tool pprof" says of the very bytes that were served.
func testValues() {
	runtime.SetBlockProfileRate(1000)
	runtime.SetMutexProfileFraction(1)
	stop := make(chan bool)
	for i := 0; i < 4; i++ {
		go work(stop)
	}
	defer close(stop)
	served := &recorder{bodies: map[string][][]byte{}}
	server := httptest.NewServer(served)
	defer server.Close()

	status := filepath.Join(directory, "status")
	s := startScraper("values", fmt.Sprintf(valuesConfig, strings.TrimPrefix(server.URL, "http://")), "--status", status)
	ok(eventually(10, func() bool { return health(status) == 0 }), "values: the command health finds it well", s.log)
	eventually(40, func() bool {
		return value("SELECT count(*) FROM profstore.targets WHERE name LIKE 'values %%' AND health = 'up'") == "7" &&
			len(served.of("/debug/pprof/profile")) > 2
	})
	ok(value("SELECT count(*) FROM profstore.targets WHERE name LIKE 'values %%' AND health = 'up' AND last_error IS NULL AND samples > 0"+
		" AND duration > '0' AND last_scrape > now() - interval '1 min' AND labels->>'team' = 'a'") == "7",
		"values: every target has its row", query("SELECT * FROM profstore.targets"), s.log)

	served.close()
	ok(s.stop() == 0, "values: scrape ends with exit code 0", s.log)
	ok(health(status) == 7, "values: health finds none that has ended")
	for _, kind := range []struct{ path, profileType, kind, unit string }{
		{"profile", "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta", "cpu", "ns"},
		{"profile", "process_cpu:samples:count:cpu:nanoseconds:delta", "samples", "count"},
		{"allocs", "memory:alloc_space:bytes:space:bytes", "alloc_space", "B"},
		{"allocs", "memory:alloc_objects:count:space:bytes", "alloc_objects", "count"},
		{"block", "block:contentions:count:contentions:count", "contentions", "count"},
		{"mutex", "mutex:contentions:count:contentions:count", "contentions", "count"},
		{"goroutine", "goroutine:goroutine:count:goroutine:count", "goroutine", "count"},
	} {
		bodies := served.of("/debug/pprof/" + kind.path)
		problems := differences(pprofTop(kind.kind, kind.unit, bodies), storedTop(kind.profileType, "values"))
		ok(len(bodies) > 0 && len(problems) == 0, fmt.Sprintf("values: %s of %d scrapes is what go tool pprof says", kind.profileType, len(bodies)), problems)
	}
	ok(value("SELECT string_agg(DISTINCT profile_type, ' ') FROM profstore.series() WHERE profile_type LIKE 'only_space%%'") ==
		"only_space:inuse_space:bytes:space:bytes", "values: keep_sample_type keeps that alone")
	ok(value("SELECT count(*) > 0 FROM profstore.series() WHERE profile_type = 'heap_delta:alloc_space:bytes:space:bytes:delta'") == "t",
		"values: what is asked for with seconds is a delta")
}
