// Java's flight recordings against what the JDK's own tool, "jfr print", says of the same file.
package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

type recordedEvent struct {
	Type   string
	Values struct {
		StackTrace *struct {
			Frames []struct {
				Method struct {
					Name string
					Type struct{ Name string }
				}
			}
		}
		TlabSize, AllocationSize, Weight int64
		Duration                         string // ISO 8601
	}
}

var durationRx = regexp.MustCompile(`^PT(?:([0-9]+)M)?(?:([0-9.]+)S)?$`)

func nanoseconds(duration string) int64 {
	m := durationRx.FindStringSubmatch(duration)
	if m == nil {
		fatal("duration %q", duration)
	}
	minutes, _ := strconv.ParseFloat(m[1], 64)
	seconds, _ := strconv.ParseFloat(m[2], 64)
	return int64(math.Round((minutes*60 + seconds) * 1e9))
}

// What an event is in profstore: the type of how often, that of how much, and the amount; period is that of executions.
func (e *recordedEvent) kind(period int64) (count, amount string, value int64) {
	switch e.Type {
	case "jdk.ExecutionSample":
		return "samples:count", "cpu:nanoseconds", period
	case "jdk.ObjectAllocationSample":
		return "alloc_objects:count", "alloc_space:bytes", e.Values.Weight
	case "jdk.ObjectAllocationInNewTLAB":
		return "alloc_objects:count", "alloc_space:bytes", e.Values.TlabSize
	case "jdk.ObjectAllocationOutsideTLAB":
		return "alloc_objects:count", "alloc_space:bytes", e.Values.AllocationSize
	case "jdk.JavaMonitorEnter":
		return "contentions:count", "delay:nanoseconds", nanoseconds(e.Values.Duration)
	default:
		return "parks:count", "park_time:nanoseconds", nanoseconds(e.Values.Duration)
	}
}

func (e *recordedEvent) stack() string {
	if e.Values.StackTrace == nil {
		return emptyStack
	}
	var names []string
	for _, f := range e.Values.StackTrace.Frames {
		name := f.Method.Name
		if f.Method.Type.Name != "" {
			name = strings.ReplaceAll(f.Method.Type.Name, "/", ".") + "." + name
		}
		names = append([]string{name}, names...)
	}
	return strings.Join(names, ";")
}

func readRecording(path string) (events []recordedEvent) {
	output, err := exec.Command("jfr", "print", "--json", "--stack-depth", "2048", "--events",
		"jdk.ExecutionSample,jdk.ObjectAllocationSample,jdk.ObjectAllocationInNewTLAB,jdk.ObjectAllocationOutsideTLAB,jdk.JavaMonitorEnter,jdk.ThreadPark",
		path).Output()
	var recording struct {
		Recording struct{ Events []recordedEvent }
	}
	if err == nil {
		err = json.Unmarshal(output, &recording)
	}
	if err != nil {
		fatal("jfr print %s: %v", path, err)
	}
	return recording.Recording.Events
}

// Stack by stack; all kinds that must be there are.
func checkRecording(name, path string, period int64, kinds ...string) file {
	content, err := os.ReadFile(path)
	if err != nil {
		fatal("%v", err)
	}
	query("SELECT profstore.import_pprof(decode('%s', 'base64'), '{\"recording\": \"%s\"}')", encoded(content), name)
	want := map[string]map[string][]int64{}
	add := func(kind, stack string, value int64) {
		if want[kind] == nil {
			want[kind] = map[string][]int64{}
		}
		if want[kind][stack] == nil {
			want[kind][stack] = []int64{0}
		}
		want[kind][stack][0] += value
	}
	for _, e := range readRecording(path) {
		count, amount, value := e.kind(period)
		add(count, e.stack(), 1)
		add(amount, e.stack(), value)
	}
	for _, kind := range kinds {
		if want[kind] == nil {
			test("recording of "+name+" has "+kind, []string{"there is none"})
		}
	}
	for kind, stacks := range want {
		got := table(query(`SELECT stack, value FROM profstore.folded('jfr:%s:::delta{recording="%s"}', %s)`, kind, name, forever), 1)
		// the tool prints seconds with nine digits, ticks are finer
		if strings.HasPrefix(kind, "delay") || strings.HasPrefix(kind, "park_time") {
			for stack, value := range stacks {
				if g := got[stack]; g != nil && math.Abs(float64(g[0]-value[0])) <= 100 {
					got[stack] = value
				}
			}
		}
		test(fmt.Sprintf("recording of %s, %s: stacks are those of jfr print", name, kind), differences(withoutZeros(stacks), got))
	}
	// cut at any place, it is refused or, behind a chunk, a shorter one
	for _, length := range []int{30, 68, len(content) / 3, len(content) - 1} {
		rows := query(`DO $$BEGIN PERFORM profstore.import_pprof(decode('%s', 'base64'), '{"recording": "cut"}'); EXCEPTION WHEN invalid_binary_representation THEN RETURN; END$$;
			SELECT count(*) FROM profstore.series WHERE labels @> '{"recording": "cut"}'`, encoded(content[:length]))
		var problems []string
		if rows[0][0] != "0" {
			problems = []string{"it was stored"}
		}
		test(fmt.Sprintf("recording of %s, cut to %d bytes, is refused", name, length), problems)
	}
	query("TRUNCATE profstore.samples")
	return file{name: name + ".jfr", bytes: content}
}

func encoded(content []byte) string { return base64.StdEncoding.EncodeToString(content) }

func checkRecordings(cache string) (recordings []file) {
	if exec.Command("jfr", "version").Run() != nil {
		fmt.Println("ok - flight recordings # SKIP the JDK is not there")
		return nil
	}
	path := filepath.Join(directory, "jdk.jfr")
	output, err := exec.Command("java", "-XX:StartFlightRecording=settings=profile,filename="+path, "programs/jfr/Record.java").CombinedOutput()
	if err != nil {
		fatal("java: %v: %s", err, output)
	}
	recordings = append(recordings, checkRecording("JDK", path, 10000000, "samples:count", "alloc_space:bytes", "delay:nanoseconds", "park_time:nanoseconds"))
	// those that async-profiler made for its own converter
	for _, kind := range []string{"cpu", "alloc"} {
		path := filepath.Join(cache, "java", kind+".jfr")
		if _, err := os.Stat(path); err != nil {
			fmt.Printf("ok - recording of async-profiler, %s # SKIP it was not made\n", kind)
			continue
		}
		recordings = append(recordings, checkRecording("async-profiler-"+kind, path, 1000000, map[string]string{"cpu": "cpu:nanoseconds", "alloc": "alloc_space:bytes"}[kind]))
	}
	return recordings
}
