package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
)

// A proxy that counts what goes through it, by CONNECT and by whole URLs.
type proxy struct {
	lock sync.Mutex
	seen []string
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.lock.Lock()
	p.seen = append(p.seen, r.Method+" "+r.Host+" "+r.Header.Get("X-Proxy")+r.Header.Get("Proxy-Authorization"))
	p.lock.Unlock()
	if r.Method != http.MethodConnect {
		r.RequestURI = ""
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer answer.Body.Close()
		w.WriteHeader(answer.StatusCode)
		_, _ = io.Copy(w, answer.Body)
		return
	}
	there, err := net.Dial("tcp", r.Host)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	here, _, _ := w.(http.Hijacker).Hijack()
	_, _ = here.Write([]byte("HTTP/1.1 200 OK\r\n\r\n"))
	go func() { _, _ = io.Copy(there, here); there.Close() }()
	go func() { _, _ = io.Copy(here, there); here.Close() }()
}

// TLS both ways, tokens, passwords, headers, a proxy; secrets from files.
func testSecure() {
	var profile bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&profile, 0)
	var lock sync.Mutex
	carried, secrets := "nobody came", "" // to another host
	elsewhere, elsewherePort := serveEverywhere(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lock.Lock()
		carried, secrets = r.Header.Get("Authorization"), secrets+r.Header.Get("X-Secret")
		lock.Unlock()
		_, _ = w.Write(profile.Bytes())
	}))
	defer elsewhere.Close()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if to := map[string]string{"/here": "/token", "/again": "/header", "/there": "http://127.0.0.2:" + elsewherePort + "/", "/file": "file:///etc/passwd"}[r.URL.Path]; to != "" {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		good := map[string]bool{
			"/token":  r.Header.Get("Authorization") == "Bearer s3cret",
			"/typed":  r.Header.Get("Authorization") == "Token t0ken",
			"/basic":  user == "u" && password == "p",
			"/header": r.Header.Get("X-Tenant") == "a" && r.Header.Get("X-Secret") == "s3cret",
			"/mutual": len(r.TLS.PeerCertificates) == 1,
			"/params": r.URL.RawQuery == "a=1&a=2&b=x%20y",
			"/http2":  r.ProtoMajor == 2,
			"/http1":  r.ProtoMajor == 1,
		}[r.URL.Path]
		if !good {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write(profile.Bytes())
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS13}
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	key, _ := x509.MarshalPKCS8PrivateKey(server.TLS.Certificates[0].PrivateKey)
	certificate := writeFile("server.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	private := writeFile("server.key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})))
	secret := writeFile("secret", "s3cret\n")
	through, ofEnvironment := &proxy{}, &proxy{}
	middle, other := httptest.NewServer(through), httptest.NewServer(ofEnvironment)
	defer middle.Close()
	defer other.Close()
	address := strings.TrimPrefix(server.URL, "https://")

	config := "scrape_configs:\n"
	job := func(name, path, rest string) {
		off := strings.TrimSuffix(onlyGoroutines, "}}") + fmt.Sprintf(", goroutine: {path: %s}}}", path)
		config += fmt.Sprintf("  - {job_name: %s, scheme: https, scrape_interval: 1s, profiling_config: %s, static_configs: [{targets: ['%s']}], %s}\n",
			name, off, address, rest)
	}
	// httptest's certificate is of example.com and 127.0.0.1
	ca := fmt.Sprintf("tls_config: {ca_file: %s}", certificate)
	job("token_file", "/token", ca+", authorization: {credentials_file: secret}")
	job("bearer_file", "/token", ca+fmt.Sprintf(", bearer_token_file: %s", secret))
	job("typed", "/typed", ca+", authorization: {type: Token, credentials: t0ken}")
	job("basic", "/basic", ca+", basic_auth: {username: u, password: p}")
	job("basic_files", "/basic", ca+fmt.Sprintf(", basic_auth: {username_file: %s, password_file: %s}", writeFile("username", "u\n"), writeFile("password", "p\n")))
	job("header", "/header", ca+", http_headers: {X-Tenant: {values: [a]}, X-Secret: {secrets: [s3cret]}}")
	job("header_follows", "/again", ca+", http_headers: {X-Tenant: {values: [a]}, X-Secret: {secrets: [s3cret]}}")
	job("header_there", "/there", ca+", http_headers: {X-Secret: {secrets: [s3cret]}}")
	job("header_file_there", "/there", ca+fmt.Sprintf(", http_headers: {X-Secret: {files: ['%s']}}", secret))
	job("mutual", "/mutual", fmt.Sprintf("tls_config: {ca_file: %s, cert_file: %s, key_file: %s, server_name: example.com}", certificate, certificate, private))
	job("params", "/params", ca+", params: {a: ['1', '2'], b: ['x y']}")
	job("proxied", "/token", ca+fmt.Sprintf(", bearer_token: s3cret, proxy_url: '%s', proxy_connect_header: {X-Proxy: [yes]}", middle.URL))
	job("proxied_otherwise", "/token", ca+fmt.Sprintf(", bearer_token: s3cret, proxy_url: '%s', proxy_connect_header: {X-Proxy: [otherwise]}", middle.URL))
	job("proxied_as_user", "/token", ca+fmt.Sprintf(", bearer_token: s3cret, proxy_url: '%s'", strings.Replace(middle.URL, "://", "://u:p@", 1)))
	job("not_proxied", "/token", ca+fmt.Sprintf(", bearer_token: s3cret, proxy_url: '%s', no_proxy: 127.0.0.1, proxy_connect_header: {X-Proxy: [never]}", middle.URL))
	job("environment", "/token", ca+", bearer_token: s3cret, proxy_from_environment: true")
	job("http2", "/http2", ca)
	// by settings of its own, since its connection would do for "http2", too
	job("http1", "/http1", "tls_config: {insecure_skip_verify: true}, enable_http2: false")
	job("follows", "/here", ca+", bearer_token: s3cret")
	job("follows_there", "/there", ca+", bearer_token: s3cret")
	job("follows_file", "/file", ca)
	job("stays", "/here", ca+", bearer_token: s3cret, follow_redirects: false")
	job("unverified", "/token", "tls_config: {insecure_skip_verify: true}, bearer_token: s3cret")
	job("untrusted", "/token", "bearer_token: s3cret")
	job("misnamed", "/token", fmt.Sprintf("bearer_token: s3cret, tls_config: {ca_file: %s, server_name: other.example}", certificate))
	job("old_tls", "/token", fmt.Sprintf("bearer_token: s3cret, tls_config: {ca_file: %s, max_version: TLS12}", certificate))
	job("nobody", "/token", ca)
	job("no_file", "/token", ca+", bearer_token_file: nosuch")

	os.Setenv("https_proxy", other.URL) // which nobody else here asks for
	s := startScraper("secure", config)
	os.Unsetenv("https_proxy")
	of := func(health string) string {
		return value("SELECT coalesce(string_agg(labels->>'job', ' ' ORDER BY labels->>'job'), '') FROM profstore.targets"+
			" WHERE labels->>'instance' = '%s' AND health = '%s'", address, health)
	}
	good, bad := "basic basic_files bearer_file environment follows follows_there header header_follows http1 http2 mutual not_proxied params proxied proxied_as_user proxied_otherwise token_file typed unverified", "follows_file header_file_there header_there misnamed no_file nobody old_tls stays untrusted"
	ok(eventually(20, func() bool { return of("up") == good && of("down") == bad }), "secure: who is let in, and who is not", of("up"), of("down"),
		query("SELECT name, last_error FROM profstore.targets WHERE labels->>'instance' = '%s'", address), s.log)
	for job, words := range map[string]string{"untrusted": "certificate", "misnamed": "other.example", "nobody": "401", "no_file": "nosuch", "stays": "302", "follows_file": `Protocol "file"`, "header_there": "to another host", "header_file_there": "to another host"} {
		problem := value("SELECT last_error FROM profstore.targets WHERE labels->>'job' = '%s' AND labels->>'instance' = '%s'", job, address)
		ok(strings.Contains(problem, words), "secure: why not: "+job, problem)
	}
	lock.Lock()
	ok(carried == "" && secrets == "", "secure: a redirect takes no credentials to another host, nor secret headers", carried, secrets)
	lock.Unlock()
	through.lock.Lock()
	slices.Sort(through.seen)
	ok(slices.Equal(slices.Compact(through.seen), []string{"CONNECT " + address + " Basic dTpw", "CONNECT " + address + " otherwise", "CONNECT " + address + " yes"}),
		"secure: only proxied jobs go through the proxy, each by a tunnel that it asked for itself", through.seen)
	through.lock.Unlock()
	ofEnvironment.lock.Lock()
	ok(slices.Equal(slices.Compact(ofEnvironment.seen), []string{"CONNECT " + address + " "}), "secure: only who asks for it goes through that of the environment", ofEnvironment.seen)
	ofEnvironment.lock.Unlock()
	_ = os.WriteFile(secret, []byte("other"), 0o600)
	ok(eventually(20, func() bool { return strings.Contains(of("down"), "bearer_file") }), "secure: a secret's file is read for each request", of("up"))
	ok(s.stop() == 0, "secure: it ends with exit code 0", s.log)
	ok(!strings.Contains(s.log.String(), "s3cret") && !strings.Contains(s.log.String(), "t0ken"), "secure: no secret is in the log", s.log)
}
