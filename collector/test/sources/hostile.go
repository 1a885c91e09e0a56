package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	fleet    = 200
	hanging  = 20 // 1 … 20: no answer
	garbage  = 20 // then: what is no profile
	leaving  = 20 // then: gone after some seconds
	bombs    = 5  // then: small answers that become large
	fleetRun = 24 * time.Second
)

// Gigabytes of zeros in a megabyte.
func bomb() []byte {
	var packed bytes.Buffer
	writer, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	zeros := make([]byte, 1<<20)
	for i := 0; i < 1024; i++ {
		_, _ = writer.Write(zeros)
	}
	_ = writer.Close()
	return packed.Bytes()
}

func memoryKB(pid int, key string) int {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for _, line := range strings.Split(string(status), "\n") {
		if strings.HasPrefix(line, key+":") {
			number, _ := strconv.Atoi(strings.Fields(line)[1])
			return number
		}
	}
	return 0
}

// The least resident memory in the five seconds before a time: what is held for longer than one answer, which may be a bomb of 32 MB.
func leastMemoryKB(pid int, until time.Time) int {
	time.Sleep(time.Until(until.Add(-5 * time.Second)))
	least := memoryKB(pid, "VmRSS")
	for time.Now().Before(until) {
		time.Sleep(20 * time.Millisecond)
		least = min(least, memoryKB(pid, "VmRSS"))
	}
	return least
}

// 200 targets, of which 65 are bad in four ways: the others keep their rhythm, and memory stays.
func testHostile() {
	var profile bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&profile, 0)
	packed := bomb()
	var lock sync.Mutex
	hits := map[int][]time.Time{}
	begin := time.Now()
	server, port := serveEverywhere(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		number, _ := strconv.Atoi(strings.TrimPrefix(strings.Split(r.Host, ":")[0], "127.0.1."))
		lock.Lock()
		hits[number] = append(hits[number], time.Now())
		lock.Unlock()
		switch {
		case number <= hanging:
			<-r.Context().Done()
		case number <= hanging+garbage:
			_, _ = w.Write([]byte("<html>no profile</html>"))
		case number <= hanging+garbage+leaving && time.Since(begin) > 8*time.Second:
			connection, _, _ := w.(http.Hijacker).Hijack()
			connection.Close()
		case number <= hanging+garbage+leaving:
			_, _ = w.Write(profile.Bytes())
		case number <= hanging+garbage+leaving+bombs:
			_, _ = io.Copy(w, bytes.NewReader(packed))
		default:
			_, _ = w.Write(profile.Bytes())
		}
	}))
	defer server.Close()
	defer server.CloseClientConnections()
	var addresses []string
	for i := 1; i <= fleet; i++ {
		addresses = append(addresses, fmt.Sprintf("'127.0.1.%d:%s'", i, port))
	}
	s := startScraper("hostile", fmt.Sprintf(`
scrape_configs:
  - job_name: fleet
    scrape_interval: 2s
    scrape_timeout: 6s
    profiling_config: %s
    static_configs: [{targets: [%s]}]
`, onlyGoroutines, strings.Join(addresses, ", ")))
	half := leastMemoryKB(s.command.Process.Pid, begin.Add(fleetRun/2))
	end := leastMemoryKB(s.command.Process.Pid, begin.Add(fleetRun))
	peak := memoryKB(s.command.Process.Pid, "VmHWM")
	up := value("SELECT count(*) FROM profstore.targets WHERE labels->>'job' = 'fleet' AND health = 'up'")
	lock.Lock()
	late, worst := 0, time.Duration(0)
	for i := hanging + garbage + leaving + bombs + 1; i <= fleet; i++ {
		for j := 1; j < len(hits[i]); j++ {
			worst = max(worst, hits[i][j].Sub(hits[i][j-1]))
		}
		if len(hits[i]) < int(fleetRun/(2*time.Second))-2 {
			late++
		}
	}
	lock.Unlock()
	ok(late == 0 && worst < 3500*time.Millisecond, fmt.Sprintf("hostile: 135 good targets of 200 keep their interval of 2 s (longest pause %v)", worst), late, s.log)
	ok(up == "135", "hostile: they are up, and no others", up)
	ok(end-half < 16*1024 && peak < 160*1024, fmt.Sprintf("hostile: memory stays (%d kB at half time, %d at the end, %d at most)", half, end, peak))
	for _, kind := range []struct {
		first, count int
		words        string
	}{
		{1, hanging, "No complete answer arrived within 6000 ms"},
		{hanging + 1, garbage, "Invalid profile"},
		{hanging + garbage + leaving + 1, bombs, "profile is too large"},
	} {
		count := value("SELECT count(*) FROM profstore.targets WHERE labels->>'job' = 'fleet' AND health = 'down' AND last_error LIKE '%%%s%%'", kind.words)
		ok(count == fmt.Sprint(kind.count), "hostile: why they are down: "+kind.words, count)
	}
	ok(value("SELECT count(*) FROM profstore.targets WHERE labels->>'job' = 'fleet' AND health = 'down'") == "65", "hostile: all 65 bad ones are down")
	ok(s.stop() == 0, "hostile: it ends with exit code 0", s.log)
	stored := value("SELECT count(DISTINCT series_id) FROM profstore.samples JOIN profstore.series() USING (series_id) WHERE labels->>'job' = 'fleet'")
	ok(stored == "155", "hostile: what the good ones and those that left sent is stored", stored)
}
