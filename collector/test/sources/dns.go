package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Where the tests' own server of names listens, on the port that resolvers ask.
const nameServer = "127.53.0.1"

// A real server of names, dnsmasq, with these records.
func startNames(records ...string) *exec.Cmd {
	command := exec.Command("/usr/sbin/dnsmasq", append([]string{"--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--user=root",
		"--pid-file=", "--listen-address=" + nameServer, "--bind-interfaces", "--except-interface=nosuch", "--local=/shop.test/", "--local-ttl=0"}, records...)...)
	errors, _ := command.StderrPipe()
	if err := command.Start(); err != nil {
		fatal("dnsmasq: %v", err)
	}
	if !eventually(10, func() bool {
		connection, err := net.Dial("tcp", nameServer+":53")
		if err == nil {
			connection.Close()
		}
		return err == nil
	}) {
		_ = command.Process.Kill()
		text, _ := io.ReadAll(errors)
		fatal("dnsmasq does not listen: %s", text)
	}
	return command
}

func stopNames(command *exec.Cmd) {
	_ = command.Process.Kill()
	_ = command.Wait()
}

// Records of a real server, which are as they are told, change, go, and stay while it does not answer.
func testDNS() {
	if os.Getuid() != 0 {
		ok(true, "dns: records of a real server # SKIP its port, and a resolver's file of our own, need root")
		return
	}
	server, port := serveEverywhere(&recorder{bodies: map[string][][]byte{}})
	defer server.Close()
	name := func(host string) string { // of a message
		wire := ""
		for _, part := range append(strings.Split(host, "."), "") {
			wire += fmt.Sprintf("%02x%x", len(part), part)
		}
		return wire
	}
	hosts := []string{"--address=/a.shop.test/127.0.6.1", "--address=/b.shop.test/127.0.6.2"}
	names := startNames(append(hosts, "--srv-host=_pprof._tcp.shop.test,a.shop.test,"+port, "--srv-host=_pprof._tcp.shop.test,b.shop.test,"+port,
		"--host-record=two.shop.test,127.0.6.3", "--host-record=two.shop.test,127.0.6.4", "--host-record=six.shop.test,fd00::6",
		"--mx-host=mail.shop.test,a.shop.test", "--dns-rr=zone.shop.test,2,"+name("b.shop.test"))...)
	defer func() { stopNames(names) }()
	resolver := writeFile("resolv.conf", "nameserver "+nameServer+"\noptions timeout:1\n")
	config := "scrape_configs:\n"
	for job, what := range map[string]string{
		"srv": "names: [_pprof._tcp.shop.test, _none._tcp.shop.test]", "a": "names: [two.shop.test], type: A, port: " + port, "aaaa": "names: [six.shop.test], type: AAAA, port: " + port,
		"mx": "names: [mail.shop.test], type: MX, port: " + port, "ns": "names: [zone.shop.test], type: NS, port: " + port} {
		config += fmt.Sprintf(`
  - job_name: dns_%s
    scrape_interval: 1s
    scrape_timeout: 5s
    profiling_config: %s
    dns_sd_configs: [{%s, refresh_interval: 1s}]
    relabel_configs:
      - {action: labelmap, regex: __meta_dns_(.+), replacement: dns_$1}
`, job, onlyGoroutines, what)
	}
	// a resolver's file of its own, in name spaces of its own
	s := &scraper{config: writeFile("dns.yaml", config), log: &lockedBuffer{}, ended: make(chan error, 1)}
	s.command = exec.Command("unshare", "--mount", "sh", "-c", `mount --bind "$0" /etc/resolv.conf && exec "$@"`, resolver, os.Getenv("COLLECTOR"), "scrape", "--config", s.config)
	s.command.Stderr = s.log
	if err := s.command.Start(); err != nil {
		fatal("%v", err)
	}
	note(s, true)
	go func() { s.ended <- s.command.Wait() }()

	labels := func(job string) string {
		return value("SELECT coalesce(string_agg(concat_ws(' ', health, labels->>'instance', (labels - 'job' - 'instance' - '__name__')), '; ' ORDER BY labels->>'instance'), '')"+
			" FROM profstore.targets WHERE labels->>'job' = 'dns_%s' AND health <> 'unknown'", job)
	}
	is := func(job string, wanted ...string) {
		want := strings.ReplaceAll(strings.Join(wanted, "; "), "PORT", port)
		ok(eventually(20, func() bool { return labels(job) == want }), "dns: "+strings.ToUpper(job)+fmt.Sprintf(" records (%d)", len(wanted)), labels(job), s.log)
	}
	srv := func(host string) string {
		return fmt.Sprintf(`up %s.shop.test:PORT {"dns_name": "_pprof._tcp.shop.test", "dns_srv_record_port": "PORT", "dns_srv_record_target": "%s.shop.test"}`, host, host)
	}
	is("srv", srv("a"), srv("b"))
	is("a", `up 127.0.6.3:PORT {"dns_name": "two.shop.test"}`, `up 127.0.6.4:PORT {"dns_name": "two.shop.test"}`)
	is("aaaa", `down [fd00::6]:PORT {"dns_name": "six.shop.test"}`)
	is("mx", `up a.shop.test:PORT {"dns_name": "mail.shop.test", "dns_mx_record_target": "a.shop.test"}`)
	is("ns", `up b.shop.test:PORT {"dns_name": "zone.shop.test", "dns_ns_record_target": "b.shop.test"}`)

	stopNames(names)
	ok(eventually(20, func() bool { return strings.Contains(s.log.String(), "No server answers.") }), "dns: a server that does not answer is told of", s.log)
	before := time.Now()
	ok(eventually(10, func() bool {
		return value("SELECT count(*) FROM profstore.targets WHERE labels->>'job' = 'dns_a' AND health = 'up' AND last_scrape > to_timestamp(%d)", before.Unix()+1) == "2"
	}), "dns: and its targets stay", labels("a"), s.log)
	// answers that tell of a record, and end
	broken, err := net.ListenPacket("udp", nameServer+":53")
	if err != nil {
		fatal("%v", err)
	}
	go func() {
		for message := make([]byte, 512); ; {
			length, from, err := broken.ReadFrom(message)
			if err != nil {
				return
			}
			if length > 12 {
				copy(message[2:12], []byte{0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0})
				_, _ = broken.WriteTo(message[:length], from)
			}
		}
	}()
	ok(eventually(20, func() bool { return strings.Contains(s.log.String(), "The server's answer is invalid.") }), "dns: an answer that cannot be read is told of", s.log)
	ok(labels("a") != "", "dns: and leaves targets as they were")
	broken.Close()
	names = startNames(append(hosts, "--srv-host=_pprof._tcp.shop.test,b.shop.test,"+port)...)
	is("srv", srv("b"))
	is("a")
	ok(s.stop() == 0, "dns: it ends with exit code 0", s.log)
}
