package main

import (
	"bytes"
	"fmt"
	"net/http"
	"runtime/pprof"
	"strings"
	"sync"
	"time"
)

// Requests at once, bytes of an answer and of all of them, seconds of deltas; and that targets take turns.
func testLimits() {
	var profile bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&profile, 0)
	var lock sync.Mutex
	active, most := 0, 0
	first, asked := map[string]time.Time{}, map[string]string{}
	server, port := serveEverywhere(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lock.Lock()
		active++
		most = max(most, active)
		if first[r.Host].IsZero() {
			first[r.Host] = time.Now()
		}
		asked[r.URL.Path] = r.URL.RawQuery
		lock.Unlock()
		defer func() {
			lock.Lock()
			active--
			lock.Unlock()
		}()
		switch r.URL.Path {
		case "/large":
			_, _ = w.Write(make([]byte, 100000))
		case "/drip":
			_, _ = w.Write(make([]byte, 30000))
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case "/slow":
			time.Sleep(100 * time.Millisecond)
			_, _ = w.Write(profile.Bytes())
		default:
			_, _ = w.Write(profile.Bytes())
		}
	}))
	defer server.Close()
	defer server.CloseClientConnections()
	job := func(name, kinds string, firstHost, count int) string {
		var hosts []string
		for i := 0; i < count; i++ {
			hosts = append(hosts, fmt.Sprintf("'127.0.7.%d:%s'", firstHost+i, port))
		}
		return fmt.Sprintf("  - {job_name: %s, scrape_interval: 2s, profiling_config: %s, static_configs: [{targets: [%s]}]}\n", name,
			strings.TrimSuffix(onlyGoroutines, "}}")+", goroutine: {enabled: false}, "+kinds+"}}", strings.Join(hosts, ", "))
	}
	up := func(job string) string {
		return value("SELECT count(*) FROM profstore.targets WHERE labels->>'job' = '%s' AND health = 'up'", job)
	}

	failed := func(job, words string) bool {
		return eventually(20, func() bool {
			return value("SELECT count(*) > 0 FROM profstore.targets WHERE labels->>'job' = '%s' AND health = 'down' AND last_error = '%s'", job, words) == "t"
		})
	}

	s := startScraper("limits", "scrape_configs:\n"+job("many", "x: {enabled: true, path: /slow}", 1, 40)+job("large", "x: {enabled: true, path: /large}", 101, 1),
		"--max-concurrent", "3", "--max-body", "50kB", "--listen", "127.0.0.1:0")
	at := s.address()
	ok(eventually(20, func() bool { return up("many") == "40" }), "limits: 40 targets of 100 ms, three at once, in an interval of 2 s", up("many"), s.log)
	lock.Lock()
	ok(most == 3, "limits: never more than three at once", most)
	lock.Unlock()
	ok(metric(at, "profstore_scrape_waits_total") > 0, "limits: what had to wait is counted")
	ok(failed("large", "The answer is larger than allowed"), "limits: what one answer may hold")
	ok(s.stop() == 0, "limits: it ends with exit code 0", s.log)

	clear(first)
	s = startScraper("limits", "scrape_configs:\n"+job("staggered", "x: {enabled: true, path: /x}", 1, 40)+
		job("kinds", "fgprof: {enabled: true, path: /debug/fgprof, delta: true}, timed: {enabled: true, path: '/timed?a=b', delta: true, seconds: 1}, whole: {enabled: true, path: /whole}", 151, 1))
	ok(eventually(20, func() bool { return up("staggered") == "40" && up("kinds") == "3" }), "limits: without bounds that are met all are up", up("staggered"), up("kinds"), s.log)
	lock.Lock()
	turns := map[int64]int{}
	for i := 1; i <= 40; i++ {
		turns[first[fmt.Sprintf("127.0.7.%d:%s", i, port)].UnixMilli()%2000/200]++
	}
	ok(len(turns) >= 7, "limits: targets take turns within their interval", turns)
	ok(asked["/debug/fgprof"] == "seconds=2" && asked["/timed"] == "a=b&seconds=1" && asked["/whole"] == "", "limits: a delta is asked for the interval, or its own seconds", asked)
	lock.Unlock()
	ok(eventually(20, func() bool {
		return value("SELECT string_agg(DISTINCT split_part(profile_type, ':', 1), ' ') FROM profstore.series() WHERE labels->>'job' = 'kinds'") == "fgprof timed whole"
	}), "limits: profiles have the names of the configuration")
	ok(s.stop() == 0, "limits: it ends with exit code 0", s.log)

	s = startScraper("limits", "scrape_configs:\n"+job("drip", "x: {enabled: true, path: /drip}", 111, 20), "--max-held", "300kB")
	ok(failed("drip", "Too many bytes of answers are held"), "limits: what all answers together may hold")
	ok(s.stop() == 0, "limits: it ends with exit code 0, with requests under way", s.log)
}

// A delta takes its slot when its answer begins: 12 of a second each fit into two seconds of one slot, and their answers, which begin
// together, go one after the other.
func testSlots() {
	profile := onePprof(time.Now(), strings.Repeat("long", 3000))
	var lock sync.Mutex
	asked := map[string]int{}
	server, port := serveEverywhere(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lock.Lock()
		asked[r.Host]++
		lock.Unlock()
		if r.URL.Query().Get("seconds") != "" {
			time.Sleep(time.Second)
		}
		_, _ = w.Write(profile)
	}))
	defer server.Close()
	defer server.CloseClientConnections()
	var hosts []string
	for i := 1; i <= 12; i++ {
		hosts = append(hosts, fmt.Sprintf("'127.0.11.%d:%s'", i, port))
	}
	s := startScraper("slots", fmt.Sprintf(`
scrape_configs:
  - job_name: slots
    scrape_interval: 2s
    scrape_timeout: 6s
    profiling_config: %s, goroutine: {enabled: false}, d: {enabled: true, path: /d, delta: true, seconds: 1}, x: {enabled: true, path: /x}}}
    static_configs: [{targets: [%s]}]
`, strings.TrimSuffix(onlyGoroutines, "}}"), strings.Join(hosts, ", ")), "--max-concurrent", "1", "--listen", "127.0.0.1:0")
	at := s.address()
	ok(eventually(40, func() bool {
		lock.Lock()
		defer lock.Unlock()
		for _, host := range hosts {
			if asked[strings.Trim(host, "'")] < 10 {
				return false
			}
		}
		return true
	}), "slots: deltas that sample hold no slot", asked, s.log)
	ok(eventually(10, func() bool {
		return value("SELECT count(*) || ' ' || sum(skipped) FROM profstore.targets WHERE labels->>'job' = 'slots' AND health = 'up'") == "24 0"
	}), "slots: no scrape was skipped, as the table of targets says", query("SELECT name, health, skipped, last_error FROM profstore.targets WHERE labels->>'job' = 'slots'"))
	ok(metric(at, "profstore_scrape_scrapes_skipped_total") == 0, "slots: and the metrics")
	ok(s.stop() == 0, "slots: it ends with exit code 0", s.log)
}

// Targets that hang give their slots back, and get none from then on that others need.
func testHanging() {
	profile := onePprof(time.Now(), "prompt")
	var lock sync.Mutex
	asked := map[string]int{}
	server, port := serveEverywhere(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Host, "127.0.12.") {
			_, _ = w.Write(profile[:10])
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		lock.Lock()
		asked[r.Host]++
		lock.Unlock()
		_, _ = w.Write(profile)
	}))
	defer server.Close()
	defer server.CloseClientConnections()
	hosts := func(network, count int) string {
		var all []string
		for i := 1; i <= count; i++ {
			all = append(all, fmt.Sprintf("'127.0.%d.%d:%s'", network, i, port))
		}
		return strings.Join(all, ", ")
	}
	s := startScraper("hanging", fmt.Sprintf(`
scrape_configs:
  - job_name: hanging
    scrape_interval: 2s
    scrape_timeout: 60s
    profiling_config: %s}}
    static_configs: [{targets: [%s, %s]}]
`, strings.TrimSuffix(onlyGoroutines, "}}"), hosts(12, 12), hosts(13, 3)), "--max-concurrent", "2")
	ok(eventually(50, func() bool {
		lock.Lock()
		defer lock.Unlock()
		return asked["127.0.13.1:"+port] >= 8 && asked["127.0.13.2:"+port] >= 8 && asked["127.0.13.3:"+port] >= 8
	}), "hanging: 12 targets that hang for a minute keep two slots from nobody else", asked, s.log)
	ok(s.stop() == 0, "hanging: it ends with exit code 0", s.log)
}
