package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// A profile of protobuf by hand: what no honest program would send.
type pprofProfile struct {
	body    []byte
	strings map[string]int
}

func varint(n uint64) (b []byte) {
	for ; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

func number(field int, n uint64) []byte { return append(varint(uint64(field)<<3), varint(n)...) }

func message(field int, parts ...[]byte) []byte {
	var all []byte
	for _, part := range parts {
		all = append(all, part...)
	}
	return append(append(varint(uint64(field)<<3|2), varint(uint64(len(all)))...), all...)
}

func (p *pprofProfile) text(s string) uint64 {
	if p.strings == nil {
		p.strings = map[string]int{"": 0}
		p.body = append(p.body, message(6)...)
	}
	if _, is := p.strings[s]; !is {
		p.strings[s] = len(p.strings)
		p.body = append(p.body, message(6, []byte(s))...)
	}
	return uint64(p.strings[s])
}

// One sample of value 1, at that time, with these labels, in a function of that name.
func onePprof(at time.Time, function string, labels ...string) []byte {
	p := &pprofProfile{}
	sample := append(message(1, varint(1)), message(2, varint(1))...)
	for i := 0; i+1 < len(labels); i += 2 {
		sample = append(sample, message(3, number(1, p.text(labels[i])), number(2, p.text(labels[i+1])))...)
	}
	parts := [][]byte{
		message(1, number(1, p.text("samples")), number(2, p.text("count"))),
		message(2, sample),
		message(4, number(1, 1), number(3, 0x1000), message(4, number(1, 1), number(2, 7))),
		message(5, number(1, 1), number(2, p.text(function))),
		number(9, uint64(at.UnixNano())), number(10, 1e9),
	}
	for _, part := range parts {
		p.body = append(p.body, part...)
	}
	return p.body
}

// What one target sends harms no other target.
func testFaults() {
	var day atomic.Int64
	server, port := serveEverywhere(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now := time.Now()
		switch strings.Split(r.Host, ":")[0] {
		case "127.0.9.1":
			_, _ = w.Write(onePprof(now, "good"))
		case "127.0.9.2":
			_, _ = w.Write(onePprof(time.Unix(10, 0), "epoch"))
		case "127.0.9.3":
			_, _ = w.Write(onePprof(now.Add(2*time.Hour), "future"))
		case "127.0.9.4":
			_, _ = w.Write(onePprof(now.AddDate(0, 0, -int(day.Add(1))%300), "days"))
		case "127.0.9.5":
			_, _ = w.Write(onePprof(now, "forged", "tenant", "victim", "namespace", "kube-system", "node", "db1", "pod", "p", "job", "other", "__name__", "n", "color", "red"))
		}
	}))
	defer server.Close()
	kinds := "goroutine: {enabled: false}"
	for i := 0; i < 30; i++ {
		kinds += fmt.Sprintf(", k%d: {enabled: true, path: /k%d}", i, i)
	}
	s := startScraper("faults", fmt.Sprintf(`
scrape_configs:
  - job_name: faults
    scrape_interval: 1s
    scrape_timeout: 5s
    profiling_config: %s, goroutine: {enabled: false}, x: {enabled: true, path: /x}}}
    static_configs: [{targets: ['127.0.9.1:%s', '127.0.9.2:%s', '127.0.9.3:%s', '127.0.9.5:%s']}]
  - job_name: fault_days
    scrape_interval: 1s
    scrape_timeout: 5s
    profiling_config: %s, %s}}
    static_configs: [{targets: ['127.0.9.4:%s']}]
`, strings.TrimSuffix(onlyGoroutines, "}}"), port, port, port, port, strings.TrimSuffix(onlyGoroutines, "}}"), kinds, port))
	good := "SELECT count(DISTINCT time) >= 3 FROM profstore.samples JOIN profstore.series() USING (series_id) WHERE labels->>'instance' = '127.0.9.1:%s' AND time > now() - '1 minute'::interval"
	ok(eventually(20, func() bool { return day.Load() >= 90 && value(good, port) == "t" }), "faults: targets whose clocks are wrong lose no sample of others", s.log)
	reason := func(host string) string {
		return value("SELECT health || ' ' || last_error FROM profstore.targets WHERE labels->>'instance' = '127.0.9.%s:%s'", host, port)
	}
	ok(eventually(10, func() bool {
		return reason("2") == "down Invalid profile: the profile is too old; it has samples of 1970-01-01T00:00:10Z"
	}), "faults: a profile of 1970 is refused", reason("2"))
	ok(strings.HasPrefix(reason("3"), "down Invalid profile: the profile is from the future; it has samples of "), "faults: so is one of the future", reason("3"))
	days := value("SELECT count(*) <= 10 FROM pg_inherits WHERE inhparent = 'profstore.samples'::regclass")
	ok(days == "t", "faults: a target makes no partitions but those of the last days", value("SELECT count(*) FROM pg_inherits WHERE inhparent = 'profstore.samples'::regclass"))
	forged := fmt.Sprintf("SELECT string_agg(key || '=' || value, ' ' ORDER BY key) FROM (SELECT DISTINCT key, value FROM profstore.series(), jsonb_each_text(labels) WHERE labels->>'instance' = '127.0.9.5:%s') AS l WHERE key NOT IN ('instance', '__pprof__')", port)
	ok(eventually(10, func() bool {
		return value("%s", forged) == "color=red exported___name__=n exported_job=other exported_namespace=kube-system exported_node=db1 exported_pod=p exported_tenant=victim job=faults"
	}), "faults: names of labels that say whose a sample is are not the program's to give", value("%s", forged))
	ok(s.stop() == 0, "faults: it ends with exit code 0", s.log)
}

// Rows tell of no target that nobody scrapes: its job was renamed while the scraper was down, or the scraper has stopped or died.
func testGone() {
	server, port := serveEverywhere(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(onePprof(time.Now(), "f")) }))
	defer server.Close()
	start := func(file, job, node string) *scraper {
		return startScraper(file, fmt.Sprintf("scrape_configs: [{job_name: %s, scrape_interval: 1s, scrape_timeout: 5s, profiling_config: %s, static_configs: [{targets: ['127.0.10.1:%s']}]}]", job, onlyGoroutines, port), "--node", node)
	}
	state := func(job string) string {
		return value("SELECT concat_ws(' ', health, last_error, scraper) FROM profstore.targets WHERE labels->>'job' = '%s'", job)
	}
	is := func(job, want string) bool { return eventually(20, func() bool { return state(job) == want }) }
	s := start("gone", "gone_old", "gone@a")
	ok(is("gone_old", "up gone@a"), "gone: a row says which scraper stores it", state("gone_old"), s.log)
	_ = s.command.Process.Kill()
	<-s.ended
	note(s, false)
	s = start("gone", "gone_new", "gone@a")
	ok(is("gone_new", "up gone@a"), "gone: of the renamed job", state("gone_new"), s.log)
	ok(is("gone_old", "unknown The scraper was restarted gone@a"), "gone: a job that was renamed while its scraper was dead", state("gone_old"))
	other := start("gone_other", "gone_new", "gone@b")
	ok(is("gone_new", "up gone@b") || is("gone_new", "up gone@a"), "gone: two scrapers of one target", state("gone_new"))
	ok(s.stop() == 0, "gone: it ends with exit code 0", s.log)
	ok(is("gone_new", "up gone@b"), "gone: a target that another scraper has is not marked by one that stops", state("gone_new"), other.log)
	ok(other.stop() == 0, "gone: it ends with exit code 0", other.log)
	ok(is("gone_new", "stopped The scraper has stopped gone@b"), "gone: a scraper that stops leaves no row up", state("gone_new"))
}
