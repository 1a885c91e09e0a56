package main

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const clientSecret = "s3cret/+ &=%"

// A token's endpoint, as RFC 6749 has it.
type tokenServer struct {
	lock     sync.Mutex
	inBody   bool // the client's name and secret are taken from the body alone
	life     any  // expires_in
	fixed    string
	requests int
	form     url.Values // of the last request
	valid    []string   // tokens that are good
	issued   int
}

func (t *tokenServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	t.lock.Lock()
	defer t.lock.Unlock()
	t.requests++
	_ = r.ParseForm()
	t.form = r.PostForm
	id, secret, _ := r.BasicAuth()
	id, _ = url.QueryUnescape(id)
	secret, _ = url.QueryUnescape(secret)
	if t.inBody {
		id, secret = r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
	}
	w.Header().Set("Content-Type", "application/json")
	if r.Method != http.MethodPost || id != "me & you" || secret != clientSecret || r.PostForm.Get("grant_type") != "client_credentials" {
		w.WriteHeader(http.StatusUnauthorized)
		_ = json.NewEncoder(w).Encode(object{"error": "invalid_client"})
		return
	}
	t.issued++
	token := t.fixed
	if token == "" {
		token = fmt.Sprintf("t0ken-%d", t.issued)
	}
	t.valid = append(t.valid, token)
	_ = json.NewEncoder(w).Encode(object{"access_token": token, "token_type": "bearer", "expires_in": t.life})
}

func (t *tokenServer) allows(r *http.Request) bool {
	t.lock.Lock()
	defer t.lock.Unlock()
	token, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return is && slices.Contains(t.valid, token)
}

func (t *tokenServer) counts() (requests, issued int) {
	t.lock.Lock()
	defer t.lock.Unlock()
	return t.requests, t.issued
}

func (t *tokenServer) revoke() {
	t.lock.Lock()
	defer t.lock.Unlock()
	t.valid = nil
}

// Only for those with a token of that server.
func (t *tokenServer) guard(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !t.allows(r) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// OAuth 2.0: tokens are had, shared, used until they expire, had anew; whose server fails is down alone.
func testOauth() {
	var profile bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&profile, 0)
	servers := map[string]*tokenServer{
		"header":  {life: 4},
		"body":    {life: "3600", inBody: true},
		"secure":  {life: 3600},
		"revoked": {},
		"found":   {life: 3600, fixed: "account"},
	}
	var lock sync.Mutex
	hits := map[string][]time.Time{}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.Trim(r.URL.Path, "/")
		lock.Lock()
		hits[name] = append(hits[name], time.Now())
		lock.Unlock()
		if tokens := servers[name]; tokens != nil && !tokens.allows(r) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write(profile.Bytes())
	}))
	defer web.Close()
	address := strings.TrimPrefix(web.URL, "http://")
	start := func(name string) string {
		server := httptest.NewServer(servers[name])
		return server.URL
	}
	secure := httptest.NewTLSServer(servers["secure"])
	defer secure.Close()
	ca := writeFile("token.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})))
	through := &proxy{}
	middle := httptest.NewServer(through)
	defer middle.Close()
	hanging := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm() // so that the end of the connection is seen
		<-r.Context().Done()
	}))
	defer hanging.Close()
	defer hanging.CloseClientConnections()
	garbage := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("<html>no token</html>")) }))
	defer garbage.Close()
	writeFile("client", clientSecret+"\n")
	header, body, revoked, found := start("header"), start("body"), start("revoked"), start("found")

	client := func(tokenURL, rest string) string {
		return fmt.Sprintf("oauth2: {client_id: 'me & you', client_secret: '%s', token_url: '%s'%s}", clientSecret, tokenURL, rest)
	}
	config := "scrape_configs:\n"
	job := func(name, rest string) {
		config += fmt.Sprintf("  - {job_name: %s, scrape_interval: 1s, profiling_config: %s, %s}\n", name,
			strings.TrimSuffix(onlyGoroutines, "}}")+fmt.Sprintf(", goroutine: {path: /%s}}}", name), rest)
	}
	static := fmt.Sprintf("static_configs: [{targets: ['%s']}], ", address)
	job("plain", strings.TrimSuffix(static, ", "))
	job("header", static+fmt.Sprintf("oauth2: {client_id: 'me & you', client_secret_file: client, token_url: '%s'}", header))
	job("body", static+client(body, ", scopes: [read, write], endpoint_params: {audience: 'a b'}"))
	job("secure", static+client(secure.URL, fmt.Sprintf(", tls_config: {ca_file: %s}, proxy_url: '%s'", ca, middle.URL)))
	job("revoked", static+client(revoked, ""))
	job("refused", static+strings.Replace(client(header, ""), clientSecret, "wr0ng", 1))
	job("hanging", static+client(hanging.URL, ""))
	job("garbage", static+client(garbage.URL, ""))
	job("no_file", static+fmt.Sprintf("oauth2: {client_id: x, client_secret_file: nosuch, token_url: '%s'}", header))

	// discovery's own requests
	host, port, _ := strings.Cut(address, ":")
	number, _ := strconv.Atoi(port)
	listed := httptest.NewServer(servers["found"].guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode([]object{{"targets": []string{address}}})
	})))
	defer listed.Close()
	services := &consul{services: map[string][]object{}}
	services.set("web", []object{{"Node": object{"Node": "n", "Address": host}, "Service": object{"ID": "web-1", "Service": "web", "Port": number}}})
	catalog := httptest.NewServer(servers["found"].guard(services))
	defer catalog.Close()
	defer catalog.CloseClientConnections()
	cluster := newKubernetes()
	cluster.set("/api/v1/namespaces/shop/pods", "p1", pod("p1", host, port), false)
	api := httptest.NewServer(cluster)
	defer api.Close()
	defer api.CloseClientConnections()
	job("http_sd", fmt.Sprintf("http_sd_configs: [{url: '%s', refresh_interval: 1s, %s}]", listed.URL, client(found, "")))
	job("consul_sd", fmt.Sprintf("consul_sd_configs: [{server: '%s', token: t, %s}]", strings.TrimPrefix(catalog.URL, "http://"), client(found, "")))
	job("kubernetes_sd", fmt.Sprintf("kubernetes_sd_configs: [{role: pod, api_server: '%s', namespaces: {names: [shop]}, %s}]", api.URL, client(found, "")))

	s := startScraper("oauth", config)
	of := func(health string) string {
		return value("SELECT coalesce(string_agg(labels->>'job', ' ' ORDER BY labels->>'job'), '') FROM profstore.targets"+
			" WHERE labels->>'instance' = '%s' AND health = '%s'", address, health)
	}
	good, bad := "body consul_sd header http_sd kubernetes_sd plain revoked secure", "garbage hanging no_file refused"
	ok(eventually(20, func() bool { return of("up") == good && of("down") == bad }), "oauth: who gets a token, and who does not", of("up"), of("down"),
		query("SELECT name, last_error FROM profstore.targets WHERE labels->>'instance' = '%s'", address), s.log)
	for job, words := range map[string]string{"refused": header + `/": The server answered with HTTP status 401, invalid_client`, "hanging": "No token arrived within 4000 ms",
		"garbage": "The server's answer has no access_token", "no_file": "nosuch"} {
		problem := value("SELECT last_error FROM profstore.targets WHERE labels->>'job' = '%s' AND labels->>'instance' = '%s'", job, address)
		ok(strings.Contains(problem, words), "oauth: why not: "+job, problem)
	}
	ok(eventually(20, func() bool { _, issued := servers["header"].counts(); return issued >= 3 }), "oauth: a token that expires is had anew")
	_, issued := servers["header"].counts()
	lock.Lock()
	scrapes := len(hits["header"])
	lock.Unlock()
	ok(issued*2 <= scrapes, "oauth: and used as long as it lives", issued, scrapes)
	servers["revoked"].revoke()
	ok(eventually(20, func() bool { _, issued := servers["revoked"].counts(); return issued == 2 && of("up") == good }), "oauth: a token that is refused is had anew", of("up"), s.log)
	_ = s.command.Process.Signal(syscall.SIGHUP)
	ok(eventually(10, func() bool { return strings.Contains(s.log.String(), "reloaded the configuration") }), "oauth: the configuration is read again", s.log)
	lock.Lock()
	before := len(hits["body"])
	lock.Unlock()
	ok(eventually(10, func() bool { lock.Lock(); defer lock.Unlock(); return len(hits["body"]) > before }), "oauth: scrapes go on")
	requests, issued := servers["body"].counts()
	ok(requests == 2 && issued == 1, "oauth: one token for all: asked for by the header, then in the body, and kept when the configuration is read again", requests, issued)
	servers["body"].lock.Lock()
	ok(servers["body"].form.Get("scope") == "read write" && servers["body"].form.Get("audience") == "a b", "oauth: scopes and parameters", servers["body"].form)
	servers["body"].lock.Unlock()
	through.lock.Lock()
	ok(len(through.seen) > 0 && strings.HasPrefix(through.seen[0], "CONNECT "+strings.TrimPrefix(secure.URL, "https://")), "oauth: the token's own certificate and proxy", through.seen)
	through.lock.Unlock()
	lock.Lock()
	worst := time.Duration(0)
	for i := 1; i < len(hits["plain"]); i++ {
		worst = max(worst, hits["plain"][i].Sub(hits["plain"][i-1]))
	}
	lock.Unlock()
	ok(worst < 2500*time.Millisecond, fmt.Sprintf("oauth: others keep their interval of 1 s (longest pause %v)", worst))
	ok(s.stop() == 0, "oauth: it ends with exit code 0", s.log)
	for _, secret := range []string{"s3cret", "t0ken", "wr0ng"} {
		ok(!strings.Contains(s.log.String(), secret), "oauth: no secret is in the log: "+secret)
	}
	ok(value("SELECT count(*) FROM profstore.targets WHERE last_error ~ 's3cret|t0ken|wr0ng'") == "0", "oauth: nor in the table of targets")
}
