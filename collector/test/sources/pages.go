package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
)

var listening = regexp.MustCompile(`msg=listening address=(\S+)`)

func (s *scraper) address() string {
	found := []string{"", ""}
	eventually(20, func() bool {
		if match := listening.FindStringSubmatch(s.log.String()); match != nil {
			found = match
		}
		return found[1] != ""
	})
	return found[1]
}

// Status and text of a page; status 0: there was no answer.
func page(address, path string) (int, string) {
	answer, err := http.Get("http://" + address + path)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text)
}

// A number of /metrics; -1 where it is not there.
func metric(address, name string) float64 {
	_, text := page(address, "/metrics")
	for _, line := range strings.Split(text, "\n") {
		if rest, is := strings.CutPrefix(line, name+" "); is {
			number, err := strconv.ParseFloat(rest, 64)
			if err == nil {
				return number
			}
		}
	}
	return -1
}

// What probes and Prometheus ask for.
func testPages() {
	server, port := serveEverywhere(&recorder{bodies: map[string][][]byte{}})
	defer server.Close()
	config := fmt.Sprintf("scrape_configs: [{job_name: paged, scrape_interval: 1s, profiling_config: %s, static_configs: [{targets: ['127.0.5.1:%s', '127.0.5.2:%s', '127.0.5.3:1']}]}]",
		onlyGoroutines, port, port)
	s := startScraper("pages", config, "--listen", "127.0.0.1:0")
	at := s.address()
	ok(eventually(20, func() bool { status, _ := page(at, "/-/ready"); return status == 200 }), "pages: ready once the database takes samples", s.log)
	status, text := page(at, "/-/healthy")
	ok(status == 200 && text == "alive\n", "pages: healthy", status, text)
	ok(eventually(20, func() bool {
		return metric(at, "profstore_scrape_targets_up") == 2 && metric(at, "profstore_scrape_targets_down") == 1 && metric(at, "profstore_scrape_rows_stored_total") > 0
	}), "pages: targets that are up and down, rows that are stored", metric(at, "profstore_scrape_targets_up"), s.log)
	scrapes := metric(at, "profstore_scrape_scrapes_total")
	ok(scrapes > 0 && metric(at, "profstore_scrape_scrapes_failed_total") > 0 && metric(at, "profstore_scrape_config_good") == 1, "pages: scrapes, those that failed, the configuration", scrapes)
	_, text = page(at, "/metrics")
	good, lines := true, strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := 0; i+2 < len(lines); i += 3 {
		name := strings.SplitN(lines[i+2], " ", 2)[0]
		good = good && strings.HasPrefix(lines[i], "# HELP "+name+" ") && regexp.MustCompile("^# TYPE "+name+" (counter|gauge)$").MatchString(lines[i+1]) &&
			strings.HasSuffix(lines[i+1], "counter") == strings.HasSuffix(name, "_total")
	}
	ok(good && len(lines)%3 == 0 && len(lines) > 30, "pages: each number has its help and type", text)
	status, _ = page(at, "/v1/profiles")
	ok(status == 404, "pages: nothing is received", status)
	_ = os.WriteFile(s.config, []byte("scrape_configs: [{job_name: paged, what: 1}]"), 0o600)
	ok(eventually(10, func() bool {
		return metric(at, "profstore_scrape_config_good") == 0 && metric(at, "profstore_scrape_reloads_failed_total") == 1
	}), "pages: a wrong configuration is seen", s.log)
	var held []net.Conn
	for i := 0; i < 100; i++ {
		if connection, err := net.Dial("tcp", at); err == nil {
			held = append(held, connection)
		}
	}
	before := value("SELECT max(last_scrape) FROM profstore.targets WHERE labels->>'job' = 'paged'")
	ok(eventually(10, func() bool {
		return value("SELECT max(last_scrape) FROM profstore.targets WHERE labels->>'job' = 'paged'") > before
	}), "pages: connections without requests hold up no scrape")
	for _, connection := range held {
		connection.Close()
	}
	ok(eventually(10, func() bool { return metric(at, "profstore_scrape_scrapes_total") > scrapes }), "pages: and are served again when they are gone")
	ok(s.stop() == 0, "pages: it ends with exit code 0", s.log)

	s = startScraper("pages", config, "--listen", "127.0.0.1:0", "--db", "host=/nonexistent")
	at = s.address()
	status, text = page(at, "/-/ready")
	ok(status == 503 && strings.Contains(text, "database is not available"), "pages: not ready while the database is not available", status, text)
	status, _ = page(at, "/-/healthy")
	ok(status == 200, "pages: healthy all the same", status)
	s.stop()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer taken.Close()
	s = startScraper("pages", config, "--listen", taken.Addr().String())
	err = <-s.ended
	note(s, false)
	ok(err != nil && s.command.ProcessState.ExitCode() == 3 && strings.Contains(s.log.String(), taken.Addr().String()+": Address already in use."), "pages: a port that is taken is named", s.log)
	s = startScraper("pages", config, "--listen", "127.0.0.1")
	err = <-s.ended
	note(s, false)
	ok(err != nil && s.command.ProcessState.ExitCode() == 3 && strings.Contains(s.log.String(), "could not listen"), "pages: an address without a port is refused", s.log)
}
