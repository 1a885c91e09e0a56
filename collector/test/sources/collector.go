package main

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A running "scrape".
type scraper struct {
	command *exec.Cmd
	config  string
	log     *lockedBuffer
	ended   chan error
}

// Those that have not been stopped yet: none outlives the tests.
var (
	running = map[*scraper]bool{}
	started sync.Mutex // guards it
)

func note(s *scraper, runs bool) {
	started.Lock()
	defer started.Unlock()
	if runs {
		running[s] = true
	} else {
		delete(running, s)
	}
}

func allRunning() (all []*scraper) {
	started.Lock()
	defer started.Unlock()
	for s := range running {
		all = append(all, s)
	}
	return all
}

type lockedBuffer struct {
	lock   sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(text []byte) (int, error) {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.buffer.Write(text)
}

func (b *lockedBuffer) String() string {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.buffer.String()
}

func writeFile(name, text string) string {
	path := filepath.Join(directory, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		fatal("%v", err)
	}
	return path
}

// Starts "scrape" with a configuration.
func startScraper(name, config string, flags ...string) *scraper {
	// scrapers of one name set each other's rows of targets to unknown as they start and stop
	if !slices.Contains(flags, "--node") {
		flags = append(flags, "--node", name)
	}
	s := &scraper{config: writeFile(name+".yaml", config), log: &lockedBuffer{}, ended: make(chan error, 1)}
	s.command = exec.Command(os.Getenv("COLLECTOR"), append([]string{"scrape", "--config", s.config}, flags...)...)
	s.command.Stderr = s.log
	if err := s.command.Start(); err != nil {
		fatal("%v", err)
	}
	note(s, true)
	go func() { s.ended <- s.command.Wait() }()
	return s
}

// Ends it by SIGTERM; its exit code.
func (s *scraper) stop() int {
	note(s, false)
	_ = s.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.ended:
	case <-time.After(40 * time.Second):
		_ = s.command.Process.Kill()
		<-s.ended
	}
	return s.command.ProcessState.ExitCode()
}

// Runs "scrape" on a configuration that it refuses: exit code and log.
func refused(name, config string) (int, string) {
	s := startScraper(name, config)
	select {
	case <-s.ended:
		note(s, false)
		return s.command.ProcessState.ExitCode(), s.log.String()
	case <-time.After(10 * time.Second):
		s.stop()
		return -1, "it was not refused: " + s.log.String()
	}
}

// A server on all addresses of this host: each of 127.0.0.0/8 is a target of its own.
func serveEverywhere(handler http.Handler) (server *httptest.Server, port string) {
	listener, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		fatal("%v", err)
	}
	server = httptest.NewUnstartedServer(handler)
	server.Listener.Close()
	server.Listener = listener
	server.Start()
	return server, server.URL[strings.LastIndex(server.URL, ":")+1:]
}

// Waits until a condition holds.
func eventually(seconds int, condition func() bool) bool {
	for end := time.Now().Add(time.Duration(seconds) * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if condition() {
			return true
		}
	}
	return condition()
}

// Rows of a query; fields are separated by unit separators, rows by record separators.
func query(sql string, arguments ...any) (rows [][]string) {
	command := exec.Command("psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-F", "\x1f", "-R", "\x1e", "-f", "-")
	command.Stdin = strings.NewReader(fmt.Sprintf(sql, arguments...))
	output, err := command.Output()
	if err != nil {
		if exit, is := err.(*exec.ExitError); is {
			err = fmt.Errorf("%v: %s", err, exit.Stderr)
		}
		fatal("%.200s: %v", sql, err)
	}
	text := strings.TrimSuffix(string(output), "\n")
	if text == "" {
		return nil
	}
	for _, row := range strings.Split(text, "\x1e") {
		rows = append(rows, strings.Split(row, "\x1f"))
	}
	return rows
}

// The only field of the only row; "" where there is none.
func value(sql string, arguments ...any) string {
	rows := query(sql, arguments...)
	if len(rows) == 0 {
		return ""
	}
	if len(rows) != 1 || len(rows[0]) != 1 {
		return fmt.Sprint(rows)
	}
	return rows[0][0]
}
