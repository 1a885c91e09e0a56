package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

const (
	resources = "/apis/parca.ricoberger.de/v1alpha1/parcascrapeconfigs"
	shopPods  = "/api/v1/namespaces/shop/pods"
)

// A resource of Parca Operator, which a scrape has only goroutines of.
func scrapeResource(space, name string, selector, scrape object) object {
	off, profiling := object{"enabled": false}, object{}
	if given, is := scrape["profilingConfig"].(object); is {
		profiling = given
	}
	kinds, _ := profiling["pprofConfig"].(object)
	if kinds == nil {
		kinds = object{}
	}
	for _, kind := range []string{"memory", "block", "mutex", "process_cpu"} {
		kinds[kind] = off
	}
	profiling["pprofConfig"] = kinds
	scrape["profilingConfig"] = profiling
	return object{"metadata": object{"name": name, "namespace": space}, "spec": object{"selector": selector, "scrapeConfig": scrape}}
}

// ParcaScrapeConfig resources are jobs, which come, change and go with them.
func testOperator() {
	served := &recorder{bodies: map[string][][]byte{}}
	var lock sync.Mutex
	seen := map[string]bool{}
	server, port := serveEverywhere(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lock.Lock()
		seen[r.URL.String()] = true
		lock.Unlock()
		r.URL.Path = "/debug/pprof/goroutine"
		served.ServeHTTP(w, r)
	}))
	defer server.Close()
	number, _ := strconv.Atoi(port)
	api := newKubernetes()
	apiServer := httptest.NewServer(api)
	defer apiServer.Close()
	defer apiServer.CloseClientConnections()
	addPod := func(space, name, host, tier, phase string) {
		p := pod(name, "127.0.4."+host, port)
		p["metadata"].(object)["namespace"] = space
		p["metadata"].(object)["labels"].(object)["tier"] = tier
		p["status"].(object)["phase"] = phase
		containers := p["spec"].(object)["containers"].([]object)
		containers[0]["ports"] = append(containers[0]["ports"].([]object), object{"name": "httpx", "containerPort": 1})
		api.set("/api/v1/namespaces/"+space+"/pods", name, p, false)
	}
	addPod("shop", "p1", "1", "front", "Running")
	addPod("shop", "p2", "2", "back", "Running")
	addPod("shop", "p3", "3", "front", "Succeeded")
	addPod("other", "p9", "9", "front", "Running")
	front := func() object {
		return scrapeResource("shop", "api", object{"matchLabels": object{"app.kubernetes.io/name": "api"}, "matchExpressions": []object{
			{"key": "tier", "operator": "NotIn", "values": []string{"back", "none"}}, {"key": "tier", "operator": "Exists"}, {"key": "gone", "operator": "DoesNotExist"}}},
			object{"job": "costs $1", "port": "http", "interval": "1s", "timeout": "5s", "params": object{"camelCase": []string{"1"}},
				"profilingConfig": object{"pathPrefix": "/x", "pprofConfig": object{"goroutine": object{"path": "/g", "keepSampleType": []object{{"type": "goroutine", "unit": "count"}}}}},
				"relabelConfigs":  []object{{"sourceLabels": []string{"__meta_kubernetes_pod_node_name"}, "targetLabel": "node", "regex": ""}}})
	}
	byNumber := func(space, name string) object {
		return scrapeResource(space, name, object{}, object{"portNumber": number, "interval": "1s"})
	}
	api.set(resources, "shop/api", front(), false)
	api.set(resources, "other/all", byNumber("other", "all"), false)
	api.set(resources, "shop/taken", byNumber("shop", "taken"), false)
	api.set(resources, "shop/slow", scrapeResource("shop", "slow", object{}, object{"interval": "10s", "timeout": "9s"}), false)
	api.set(resources, "shop/thief", scrapeResource("shop", "thief", object{}, object{"portNumber": number, "bearerTokenFile": "/etc/passwd"}), false)
	api.set(resources, "shop/odd", scrapeResource("shop", "odd", object{"matchLabels": object{"a": "b,c"}}, object{}), false)
	config := fmt.Sprintf("parca_operator_configs: [{api_server: '%s/', authorization: {credentials: account}}]\nscrape_configs: [{job_name: shop/taken}]\n", apiServer.URL)
	s := startScraper("operator", config)
	up := func(job string, hosts ...string) func() bool {
		for i, host := range hosts {
			hosts[i] = "127.0.4." + host + ":" + port
		}
		return func() bool { return targets(job, "up") == strings.Join(hosts, " ") }
	}
	logged := func(words ...string) int {
		count := 0
		for _, line := range strings.Split(s.log.String(), "\n") {
			all := true
			for _, word := range words {
				all = all && strings.Contains(line, word)
			}
			if all {
				count++
			}
		}
		return count
	}

	ok(eventually(20, up("costs $1", "1")), "operator (fake API): pods that a resource selects, by the port's name, are scraped, and none that has ended", targets("costs $1", "up"), s.log)
	ok(eventually(20, up("other/all", "9")), "operator (fake API): all pods of a namespace, by the port's number", targets("other/all", "up"), s.log)
	labels := value("SELECT DISTINCT labels - '__name__' - 'instance' FROM profstore.targets WHERE labels->>'job' = 'costs $1'")
	ok(labels == `{"job": "costs $1", "pod": "p1", "node": "n1", "endpoint": "http", "container": "main", "namespace": "shop"}`, "operator (fake API): labels", labels)
	lock.Lock()
	ok(seen["/x/g?camelCase=1"], "operator (fake API): path, prefix and parameters", seen)
	lock.Unlock()
	for name, words := range map[string]string{"shop/taken": "a job of that name exists", "shop/slow": "The timeout must be longer", "shop/thief": "bearerTokenFile", "shop/odd": "The selector is not a valid label selector"} {
		ok(logged("could not use a ParcaScrapeConfig", "resource="+name, words) == 1, "operator (fake API): what cannot be taken is told: "+name, s.log)
	}

	addPod("shop", "p2", "2", "front", "Running")
	ok(eventually(20, up("costs $1", "1", "2")), "operator (fake API): a pod whose labels change is selected", targets("costs $1", "up"), s.log)
	addPod("shop", "p1", "1", "none", "Running")
	ok(eventually(20, up("costs $1", "2")), "operator (fake API): and is not any more", targets("costs $1", "up"), s.log)
	changed := front()
	changed["status"] = object{"conditions": []object{{"type": "ParcaScrapeConfigReconciled"}}}
	api.set(resources, "shop/api", changed, false)
	changed = front()
	changed["spec"].(object)["scrapeConfig"].(object)["job"] = "renamed"
	api.set(resources, "shop/api", changed, false)
	ok(eventually(20, up("renamed", "2")) && targets("costs $1", "up") == "", "operator (fake API): a resource that changes", targets("renamed", "up"), targets("costs $1", "up"), s.log)
	ok(logged("using a ParcaScrapeConfig", "resource=shop/api") == 2, "operator (fake API): one whose status alone changes is as it was", s.log)
	wrong := front()
	wrong["spec"].(object)["scrapeConfig"].(object)["interval"] = "soon"
	api.set(resources, "shop/api", wrong, false)
	ok(eventually(20, func() bool {
		return logged("could not use a ParcaScrapeConfig", "resource=shop/api", "Expected a duration") == 1
	}), "operator (fake API): one that becomes wrong is told of", s.log)
	before := value("SELECT max(last_scrape) FROM profstore.targets WHERE labels->>'job' = 'renamed'")
	ok(eventually(10, func() bool {
		return value("SELECT max(last_scrape) FROM profstore.targets WHERE labels->>'job' = 'renamed'") > before
	}), "operator (fake API): and goes on as it was")
	api.set(resources, "shop/api", changed, false)

	// while the API tells nothing, nothing is forgotten
	api.lock.Lock()
	api.denied = "parcascrapeconfigs"
	api.lock.Unlock()
	_ = s.command.Process.Signal(syscall.SIGHUP)
	ok(eventually(20, func() bool { return logged("could not watch ParcaScrapeConfigs", "403") > 0 }), "operator (fake API): that resources cannot be listed is told", s.log)
	before = value("SELECT max(last_scrape) FROM profstore.targets WHERE labels->>'job' = 'renamed'")
	ok(eventually(10, func() bool {
		return value("SELECT max(last_scrape) FROM profstore.targets WHERE labels->>'job' = 'renamed'") > before
	}), "operator (fake API): after a reload jobs go on until resources are told again")
	api.set(resources, "other/all", nil, true)
	api.lock.Lock()
	api.denied = ""
	api.lock.Unlock()
	ok(eventually(40, func() bool {
		return targets("other/all", "up") == "" && targets("other/all", "unknown") != "" && up("renamed", "2")()
	}), "operator (fake API): a resource that went meanwhile takes its targets along", targets("other/all", "up"), targets("renamed", "up"), s.log)
	api.set(resources, "other/all", byNumber("other", "all"), false)
	ok(eventually(20, up("other/all", "9")), "operator (fake API): and one that comes brings them", targets("other/all", "up"), s.log)
	api.set(resources, "other/all", nil, false)
	ok(eventually(20, func() bool { return targets("other/all", "up") == "" }), "operator (fake API): a watch tells of one that goes", targets("other/all", "up"), s.log)
	_ = os.WriteFile(s.config, []byte("scrape_configs: []\n"), 0o600)
	ok(eventually(20, func() bool { return targets("renamed", "up") == "" }), "operator (fake API): without the setting there are none", targets("renamed", "up"), s.log)
	ok(s.stop() == 0, "operator (fake API): it ends with exit code 0", s.log)
	code, log := refused("wrong_operator", "parca_operator_configs: [{role: pod}]")
	ok(code == 3 && strings.Contains(log, `There is no setting \"role\"`), "operator: another setting is refused", log)
}
