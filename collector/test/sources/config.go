package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
)

// Parca's example, with what its documentation shows beside it.
const parcaExample = `
object_storage:
  bucket:
    type: "FILESYSTEM"
    config:
      directory: "./data"

scrape_configs:
  - job_name: "default"
    scrape_interval: "3s"
    static_configs:
      - targets: [ '127.0.0.1:7070' ]
  - job_name: "nodes"
    scrape_interval: 1m
    scrape_timeout: 1m30s
    scheme: https
    params: {gc: ["1"]}
    normalized_addresses: true
    basic_auth: {username: u, password: p}
    tls_config: {insecure_skip_verify: true, min_version: TLS12}
    profiling_config:
      path_prefix: /app
      pprof_config:
        block: {enabled: false}
        fgprof: {enabled: true, path: /debug/fgprof, delta: true, seconds: 5}
    relabel_configs:
      - source_labels: [__address__]
        regex: '([^:]+):\d+'
        target_label: host
        replacement: ${1}
    file_sd_configs: [{files: ['targets/*.yaml'], refresh_interval: 1m}]
    http_sd_configs: [{url: 'http://127.0.0.1:1/targets'}]
    dns_sd_configs: [{names: [localhost.invalid], type: A, port: 80}]
  - {job_name: "defaults", profiling_config: {}}
  - {job_name: "prefix", profiling_config: {path_prefix: /app}}
`

// What is wrong, and the words that the log has of it.
var wrongConfigs = []struct{ name, config, words string }{
	{"an unknown key", "scrape_configs:\n  - job_name: a\n    scrape_intervall: 3s\n", `line 3, column 5: There is no setting \"scrape_intervall\"`},
	{"its nearest", "scrape_configs:\n  - job_name: a\n    scrape_intervall: 3s\n", `Perhaps you meant \"scrape_interval\"`},
	{"a key twice", "scrape_configs: []\nscrape_configs: []\n", "line 2, column 1: The key is repeated"},
	{"no YAML", "scrape_configs: [\n", "line 2"},
	{"a job without a name", "scrape_configs:\n  - scrape_interval: 3s\n", "job_name is missing"},
	{"two jobs of a name", "scrape_configs: [{job_name: a}, {job_name: a}]", `The job name \"a\" is repeated`},
	{"an empty item", "scrape_configs: [{job_name: a, static_configs: [~]}]", "An item of a list is empty"},
	{"a timeout below the interval", "scrape_configs: [{job_name: a, scrape_interval: 10s, scrape_timeout: 9s}]", "The timeout must be longer"},
	{"a duration", "scrape_configs: [{job_name: a, scrape_interval: 10}]", "Expected a duration"},
	{"two identities", "scrape_configs: [{job_name: a, bearer_token: x, basic_auth: {username: u}}]", "At most one of"},
	{"a certificate without its key", "scrape_configs: [{job_name: a, tls_config: {cert_file: x}}]", "cert_file and key_file must be set together"},
	{"a regex", "scrape_configs: [{job_name: a, relabel_configs: [{regex: '(', target_label: x}]}]", "A parenthesis is not closed"},
	{"a backreference", `scrape_configs: [{job_name: a, relabel_configs: [{regex: '(a)\1', target_label: x}]}]`, "Backreferences are not supported"},
	{"an action", "scrape_configs: [{job_name: a, relabel_configs: [{action: rename}]}]", "There is no such action"},
	{"a profile without a path", "scrape_configs: [{job_name: a, profiling_config: {pprof_config: {x: {enabled: true}}}}]", "has no path"},
	{"another account without a cluster", "scrape_configs: [{job_name: a, kubernetes_sd_configs: [{role: pod, tls_config: {insecure_skip_verify: true}}]}]", "Settings of the HTTP client require api_server"},
	{"OAuth without a secret", "scrape_configs: [{job_name: a, oauth2: {client_id: x, token_url: 'http://a'}}]", "client_secret is missing"},
	{"OAuth without a URL", "scrape_configs: [{job_name: a, oauth2: {client_id: x, client_secret: y, token_url: a}}]", "token_url must begin with http:// or https://"},
	{"OAuth's other grant", "scrape_configs: [{job_name: a, oauth2: {grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer'}}]", "The only grant that is supported is client_credentials"},
	{"a secret twice", "scrape_configs: [{job_name: a, oauth2: {client_id: x, client_secret: y, client_secret_file: z, token_url: 'http://a'}}]", "The client's secret is set twice"},
	{"OAuth and a token", "scrape_configs: [{job_name: a, bearer_token: t, oauth2: {client_id: x, client_secret: y, token_url: 'http://a'}}]", "At most one of"},
	{"an alias bomb", "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n" +
		"e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f,*f]\n", "It contains too many nodes"},
	{"depth", strings.Repeat("[", 1000), "It is nested too deeply"},
}

func testConfig() {
	for _, wrong := range wrongConfigs {
		code, log := refused("wrong", wrong.config)
		ok(code == 3 && strings.Contains(log, wrong.words), "config: "+wrong.name+" is refused with its place", code, log)
	}
	code, log := refused("wrong", "scrape_configs: [{job_name: a}]")
	ok(code == -1, "config: a job without targets is none of them", log)
	s := startScraper("parca", parcaExample)
	good := eventually(10, func() bool { return strings.Contains(s.log.String(), "msg=scraping") })
	ok(good && strings.Contains(s.log.String(), "setting=object_storage"), "config: Parca's example is taken, and what has no meaning here is logged", s.log)
	ok(s.stop() == 0, "config: it ends with exit code 0", s.log)
	output, err := exec.Command(os.Getenv("COLLECTOR"), "scrape").CombinedOutput()
	ok(err != nil && err.(*exec.ExitError).ExitCode() == 2, "config: without a file, exit code 2", string(output))
}

// Relabelling against Prometheus' own package.
func testRelabel() {
	work := filepath.Join(directory, "relabel")
	_ = os.RemoveAll(work)
	if err := os.MkdirAll(work, 0o700); err != nil {
		fatal("%v", err)
	}
	for _, name := range []string{"go.mod", "main.go"} {
		text, err := os.ReadFile(filepath.Join("relabel", name))
		if err != nil {
			fatal("%v", err)
		}
		_ = os.WriteFile(filepath.Join(work, name), text, 0o600)
	}
	program := filepath.Join(filepath.Dir(os.Getenv("COLLECTOR")), "test", "relabel_cases")
	for seed := 1; seed <= 3; seed++ {
		command := exec.Command("go", "run", "-mod=mod", ".", program, fmt.Sprint(seed))
		command.Dir = work
		output, err := command.CombinedOutput()
		lines := strings.Split(strings.TrimSpace(string(output)), "\n")
		last := lines[len(lines)-1]
		ok(err == nil && strings.HasPrefix(last, "ok - "), fmt.Sprintf("relabel: seed %d: %s", seed, strings.TrimPrefix(last, "ok - ")), err, string(output))
	}
}

// The names of targets in a state.
func targets(job, health string) string {
	return value("SELECT coalesce(string_agg(labels->>'instance', ' ' ORDER BY labels->>'instance'), '') FROM profstore.targets"+
		" WHERE labels->>'job' = '%s' AND health = '%s'", job, health)
}

const onlyGoroutines = "{pprof_config: {memory: {enabled: false}, block: {enabled: false}, mutex: {enabled: false}, process_cpu: {enabled: false}}}"

// Files, HTTP and DNS find targets, and lose them; the configuration is read again.
func testDiscovery() {
	server, port := serveEverywhere(&recorder{bodies: map[string][][]byte{}})
	defer server.Close()
	var groups atomic.Value
	groups.Store([]any{map[string]any{"targets": []string{"127.0.0.2:" + port}, "labels": map[string]string{"from": "http"}}})
	sd := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_ = json.NewEncoder(w).Encode(groups.Load())
	}))
	defer sd.Close()
	file := writeFile("found.json", fmt.Sprintf(`[{"targets": ["127.0.0.3:%s"], "labels": {"from": "file"}}]`, port))
	config := fmt.Sprintf(`
scrape_configs:
  - job_name: found
    scrape_interval: 1s
    scrape_timeout: 5s
    profiling_config: %s
    file_sd_configs: [{files: ['found*.json']}]
    http_sd_configs: [{url: '%s', refresh_interval: 1s}]
    dns_sd_configs: [{names: [localhost], type: A, port: %s, refresh_interval: 1s}]
    relabel_configs:
      - {source_labels: [__meta_filepath], regex: '.*/(\w+).json', target_label: file}
      - {source_labels: [from], regex: unwanted, action: drop}
`, onlyGoroutines, sd.URL, port)
	s := startScraper("discovery", config)
	want := func(instances ...string) string {
		for i, host := range instances {
			instances[i] = host + ":" + port
		}
		return strings.Join(instances, " ")
	}
	file2 := want("127.0.0.2", "127.0.0.3")
	// "localhost" is in /etc/hosts, not in DNS: whether a server knows it is its own affair
	with := func(expected string) func() bool {
		return func() bool { return strings.TrimPrefix(targets("found", "up"), want("127.0.0.1")+" ") == expected }
	}
	ok(eventually(20, with(file2)), "discovery: targets of a file and of HTTP are scraped", targets("found", "up"), s.log)
	ok(value("SELECT (labels->>'from') || (labels->>'file') FROM profstore.targets WHERE name LIKE 'found %%127.0.0.3%%'") == "filefound", "discovery: labels of the group, and of the file's path")
	groups.Store([]any{
		map[string]any{"targets": []string{"127.0.0.4:" + port}},
		map[string]any{"targets": []string{"127.0.0.5:" + port}, "labels": map[string]string{"from": "unwanted"}},
	})
	_ = os.WriteFile(file, []byte("[{"), 0o600)
	ok(eventually(20, with(want("127.0.0.3", "127.0.0.4"))), "discovery: another answer replaces the one before; a rule drops; a broken file keeps its targets", targets("found", "up"), s.log)
	ok(strings.Contains(s.log.String(), "found.json"), "discovery: the log names the broken file")
	_ = os.Remove(file)
	ok(eventually(20, with(want("127.0.0.4"))), "discovery: a file that is gone takes its targets along", targets("found", "up"), s.log)
	ok(eventually(10, func() bool { return strings.Contains(targets("found", "unknown"), "127.0.0.3") }), "discovery: their rows stay as unknown", targets("found", "unknown"))

	_ = os.WriteFile(s.config, []byte("scrape_configs: [{job_name: found, what: 1}]"), 0o600)
	ok(eventually(10, func() bool { return strings.Contains(s.log.String(), "keeping the old one") }), "reload: a wrong file is told of", s.log)
	const last = "SELECT max(last_scrape) FROM profstore.targets WHERE labels->>'job' = 'found'"
	before := value(last)
	ok(eventually(10, func() bool { return value(last) > before }), "reload: and the old one goes on")
	_ = os.WriteFile(s.config, []byte(fmt.Sprintf("scrape_configs: [{job_name: other, scrape_interval: 1s, profiling_config: %s, static_configs: [{targets: ['127.0.0.6:%s']}]}]", onlyGoroutines, port)), 0o600)
	ok(eventually(20, func() bool { return targets("other", "up") == want("127.0.0.6") && targets("found", "up") == "" }),
		"reload: another file replaces all jobs", targets("other", "up"), targets("found", "up"), s.log)
	_ = s.command.Process.Signal(syscall.SIGHUP)
	ok(eventually(10, func() bool { return strings.Count(s.log.String(), "reloaded the configuration") == 2 }), "reload: SIGHUP reads it again", s.log)
	ok(s.stop() == 0, "discovery: it ends with exit code 0", s.log)
}
