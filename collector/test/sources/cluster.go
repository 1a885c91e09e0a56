package main

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
)

type object = map[string]any

// A fake of Kubernetes' API, since none can run here: lists in pages of two, and watches with bookmarks, as the real one speaks.
type kubernetes struct {
	lock    sync.Mutex
	version int
	objects map[string]map[string]object // by path, by name
	events  map[string][]event
	expired int // watches of versions before it are told 410
	lists   map[string]int
	watches map[string]int
	cut     chan bool // closed: all watches end
	status  bool      // an old version is told by the answer's status, not by an event
	denied  string    // paths with this in them are forbidden
	broken  string    // those with this in them have no answer for now
	token   string
	queries []string // of lists and watches
	active  int      // watches that run
}

type event struct {
	version int
	line    object
}

func newKubernetes() *kubernetes {
	return &kubernetes{objects: map[string]map[string]object{}, events: map[string][]event{}, lists: map[string]int{}, watches: map[string]int{}, cut: make(chan bool), token: "account"}
}

// Adds, changes or (nil) removes an object; told to watches unless silent.
func (k *kubernetes) set(at, name string, o object, silent bool) {
	k.lock.Lock()
	defer k.lock.Unlock()
	k.version++
	if k.objects[at] == nil {
		k.objects[at] = map[string]object{}
	}
	kind, old := "MODIFIED", k.objects[at][name]
	if old == nil {
		kind = "ADDED"
	}
	if o == nil {
		kind, o = "DELETED", old
		delete(k.objects[at], name)
	} else {
		o["metadata"].(object)["resourceVersion"] = strconv.Itoa(k.version)
		k.objects[at][name] = o
	}
	if !silent {
		k.events[at] = append(k.events[at], event{k.version, object{"type": kind, "object": o}})
	}
}

// Ends all watches; those that come back with an old version are told that it is gone.
func (k *kubernetes) expire() {
	k.lock.Lock()
	defer k.lock.Unlock()
	k.version++
	k.expired = k.version
	k.events = map[string][]event{}
	close(k.cut)
	k.cut = make(chan bool)
}

var selectorTerm = regexp.MustCompile(`^(!?)([^ =!]+)(?:=(.*)| (in|notin) \(([^)]*)\))?$`)

// Whether an object's labels are what a selector asks for, as the API has it: "a=b,a in (b,c),a notin (b,c),a,!a".
func selected(o object, selector string) bool {
	depth := 0
	terms := strings.FieldsFunc(selector, func(r rune) bool {
		depth += map[rune]int{'(': 1, ')': -1}[r]
		return r == ',' && depth == 0
	})
	for _, term := range terms {
		parts := selectorTerm.FindStringSubmatch(term)
		if parts == nil {
			fatal("%s is no selector of labels", selector)
		}
		labels, _ := o["metadata"].(object)["labels"].(object)
		text, is := labels[parts[2]]
		in := is && slices.Contains(strings.Split(parts[5], ","), text.(string))
		good := map[string]bool{"": is, "in": in, "notin": !in}[parts[4]]
		if strings.Contains(term, "=") {
			good = is && text == parts[3]
		}
		if good == (parts[1] == "!") {
			return false
		}
	}
	return true
}

func (k *kubernetes) list(w http.ResponseWriter, r *http.Request) {
	k.lock.Lock()
	defer k.lock.Unlock()
	var names []string
	for name, o := range k.objects[r.URL.Path] {
		if selected(o, r.URL.Query().Get("labelSelector")) {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	begin, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	if begin == 0 {
		k.lists[r.URL.Path]++
	}
	meta, items := object{"resourceVersion": strconv.Itoa(k.version)}, []object{}
	for i := begin; i < len(names) && i < begin+2; i++ {
		items = append(items, k.objects[r.URL.Path][names[i]])
	}
	if begin+2 < len(names) {
		meta["continue"] = strconv.Itoa(begin + 2)
	}
	_ = json.NewEncoder(w).Encode(object{"metadata": meta, "items": items})
}

func (k *kubernetes) watch(w http.ResponseWriter, r *http.Request) {
	encoder, at := json.NewEncoder(w), r.URL.Path
	version, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	k.lock.Lock()
	k.watches[at]++
	cut, expired := k.cut, version < k.expired
	k.lock.Unlock()
	if expired && k.status {
		w.WriteHeader(http.StatusGone)
		return
	}
	if expired {
		_ = encoder.Encode(object{"type": "ERROR", "object": object{"kind": "Status", "code": 410, "reason": "Expired"}})
		return
	}
	k.lock.Lock()
	k.active++
	k.lock.Unlock()
	defer func() {
		k.lock.Lock()
		k.active--
		k.lock.Unlock()
	}()
	for {
		k.lock.Lock()
		for _, e := range k.events[at] {
			if e.version > version {
				version = e.version
				line := e.line
				if !selected(line["object"].(object), r.URL.Query().Get("labelSelector")) {
					line = object{"type": "DELETED", "object": line["object"]} // for this watch
				}
				_ = encoder.Encode(line)
			}
		}
		if version < k.version {
			version = k.version
			_ = encoder.Encode(object{"type": "BOOKMARK", "object": object{"metadata": object{"resourceVersion": strconv.Itoa(version)}}})
		}
		k.lock.Unlock()
		w.(http.Flusher).Flush()
		select {
		case <-cut:
			return
		case <-r.Context().Done():
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (k *kubernetes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k.lock.Lock()
	siblings, single := k.objects[path.Dir(r.URL.Path)]
	forbidden := r.Header.Get("Authorization") != "Bearer "+k.token || (k.denied != "" && strings.Contains(r.URL.Path, k.denied))
	broken := k.broken != "" && strings.Contains(r.URL.Path, k.broken)
	k.queries = append(k.queries, r.URL.RawQuery)
	k.lock.Unlock()
	if forbidden {
		w.WriteHeader(http.StatusForbidden)
	} else if broken {
		w.WriteHeader(http.StatusServiceUnavailable)
	} else if object := siblings[path.Base(r.URL.Path)]; object != nil {
		_ = json.NewEncoder(w).Encode(object)
	} else if single {
		w.WriteHeader(http.StatusNotFound)
	} else if r.URL.Query().Get("watch") == "1" {
		k.watch(w, r)
	} else {
		k.list(w, r)
	}
}

func pod(name, ip, port string) object {
	number, _ := strconv.Atoi(port)
	return object{
		"metadata": object{"name": name, "namespace": "shop", "uid": "u-" + name, "labels": object{"app.kubernetes.io/name": "api"}, "managedFields": []object{{"x": 1}},
			"ownerReferences": []object{{"kind": "ReplicaSet", "name": "api-1", "controller": true}}},
		"spec":   object{"nodeName": "n1", "containers": []object{{"name": "main", "image": "api:1", "ports": []object{{"name": "http", "containerPort": number}}}}},
		"status": object{"podIP": ip, "phase": "Running", "conditions": []object{{"type": "Ready", "status": "True"}}, "containerStatuses": []object{{"name": "main", "containerID": "c-" + name}}},
	}
}

func testKubernetes() {
	server, port := serveEverywhere(&recorder{bodies: map[string][][]byte{}})
	defer server.Close()
	number, _ := strconv.Atoi(port)
	api := newKubernetes()
	apiServer := httptest.NewServer(api)
	defer apiServer.Close()
	defer apiServer.CloseClientConnections()
	const pods, services, endpoints = "/api/v1/namespaces/shop/pods", "/api/v1/namespaces/shop/services", "/api/v1/namespaces/shop/endpoints"
	endpointSlices := "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices"
	for i := 1; i <= 3; i++ {
		api.set(pods, fmt.Sprint("p", i), pod(fmt.Sprint("p", i), fmt.Sprint("127.0.2.", i), port), false)
	}
	api.set(services, "api", object{"metadata": object{"name": "api", "namespace": "shop", "labels": object{"tier": "front"}}, "spec": object{"ports": []object{{"port": 80}}}}, false)
	api.set(endpoints, "api", object{"metadata": object{"name": "api", "namespace": "shop"}, "subsets": []object{{
		"addresses":         []object{{"ip": "127.0.2.1", "targetRef": object{"kind": "Pod", "name": "p1", "namespace": "shop"}}},
		"notReadyAddresses": []object{{"ip": "127.0.2.9"}}, "ports": []object{{"name": "http", "port": number}}}}}, false)
	api.set(endpointSlices, "api-x", object{"metadata": object{"name": "api-x", "namespace": "shop", "labels": object{"kubernetes.io/service-name": "api"}}, "addressType": "IPv4",
		"ports":     []object{{"name": "http", "port": number}},
		"endpoints": []object{{"addresses": []string{"127.0.2.2"}, "conditions": object{"ready": true}, "targetRef": object{"kind": "Pod", "name": "p2"}}}}, false)
	api.set("/api/v1/nodes", "n1", object{"metadata": object{"name": "n1"}, "status": object{"addresses": []object{{"type": "InternalIP", "address": "127.0.2.8"}},
		"daemonEndpoints": object{"kubeletEndpoint": object{"Port": number}}}}, false)

	api.set("/apis/networking.k8s.io/v1/namespaces/shop/ingresses", "way", object{"metadata": object{"name": "way", "namespace": "shop", "labels": object{"tier": "edge"}}, "spec": object{
		"ingressClassName": "nginx", "tls": []object{{"hosts": []string{"*.shop.example"}}}, "rules": []object{
			{"host": "16.shop.example", "http": object{"paths": []object{{"path": "/cart"}, {}}}},
			{"host": "17.not.shop.example"}, {"host": "18.shop.example", "http": object{"paths": []object{}}}}}}, false)

	config := "scrape_configs:\n"
	for _, role := range []string{"pod", "endpoints", "endpointslice", "node"} {
		config += fmt.Sprintf(`
  - job_name: k8s_%s
    scrape_interval: 1s
    scrape_timeout: 5s
    profiling_config: %s
    kubernetes_sd_configs: [{role: %s, api_server: '%s', namespaces: {names: [shop]}, authorization: {credentials: account}}]
    relabel_configs:
      - {action: labelmap, regex: __meta_kubernetes_(pod_name|pod_container_id|pod_controller_name|pod_label_app_kubernetes_io_name|service_label_tier|endpoint_ready|node_name)}
`, role, onlyGoroutines, role, apiServer.URL)
	}
	config += fmt.Sprintf(`
  - job_name: k8s_ingress
    scrape_interval: 1s
    scrape_timeout: 5s
    profiling_config: %s
    kubernetes_sd_configs: [{role: ingress, api_server: '%s', namespaces: {names: [shop]}, authorization: {credentials: account}}]
    relabel_configs:
      - {source_labels: [__address__], regex: '(\d+)\..*', target_label: __address__, replacement: '127.0.2.${1}:%s'}
      - {action: labelmap, regex: __meta_kubernetes_(namespace|ingress_.+)}
`, onlyGoroutines, apiServer.URL, port)
	s := startScraper("kubernetes", config)
	at := func(job string, hosts ...string) func() bool {
		for i, host := range hosts {
			hosts[i] = "127.0.2." + host + ":" + port
		}
		return func() bool { return targets(job, "up") == strings.Join(hosts, " ") }
	}
	ok(eventually(20, at("k8s_pod", "1", "2", "3")), "kubernetes (fake API): pods of three pages are scraped", targets("k8s_pod", "up"), s.log)
	ok(eventually(20, at("k8s_endpoints", "1", "9")), "kubernetes (fake API): endpoints", targets("k8s_endpoints", "up"), s.log)
	ok(eventually(20, at("k8s_endpointslice", "2")), "kubernetes (fake API): endpointslices", targets("k8s_endpointslice", "up"), s.log)
	ok(eventually(20, func() bool { return targets("k8s_node", "up") == "n1" }), "kubernetes (fake API): nodes", targets("k8s_node", "up"), s.log)
	ok(eventually(20, at("k8s_ingress", "16", "16", "17")), "kubernetes (fake API): a target for each path of an ingress", targets("k8s_ingress", "up"), s.log)
	rows := query("SELECT DISTINCT concat_ws(' ', labels->>'ingress_host', labels->>'ingress_scheme', labels->>'ingress_path', labels->>'ingress_class_name', labels->>'ingress_name'," +
		" labels->>'ingress_label_tier', labels->>'ingress_labelpresent_tier', labels->>'namespace') FROM profstore.targets WHERE labels->>'job' = 'k8s_ingress' ORDER BY 1")
	ok(fmt.Sprint(rows) == "[[16.shop.example https / nginx way edge true shop] [16.shop.example https /cart nginx way edge true shop] [17.not.shop.example http / nginx way edge true shop]]",
		"kubernetes (fake API): labels of k8s_ingress", rows)
	for job, want := range map[string]string{
		"k8s_pod":           "api c-p1 api-1 p1",
		"k8s_endpoints":     "true c-p1 api-1 api p1 front",
		"k8s_endpointslice": "c-p2 api-1 api p2 front",
	} {
		got := value("SELECT coalesce(string_agg(value, ' ' ORDER BY key), '') FROM profstore.targets, jsonb_each_text(labels)"+
			" WHERE labels->>'job' = '%s' AND labels ? 'pod_name' AND labels->>'pod_name' IN ('p1', 'p2') AND NOT (labels->>'job' = 'k8s_pod' AND labels->>'pod_name' = 'p2')"+
			" AND key ~ '^(pod_|service_|endpoint_)'", job)
		sorted := func(words string) string {
			list := strings.Fields(words)
			sort.Strings(list)
			return strings.Join(list, " ")
		}
		ok(sorted(got) == sorted(want), "kubernetes (fake API): labels of "+job, got)
	}
	api.set(pods, "p4", pod("p4", "127.0.2.4", port), false)
	api.set(pods, "p1", nil, false)
	ok(eventually(20, at("k8s_pod", "2", "3", "4")), "kubernetes (fake API): a watch tells of pods that come and go", targets("k8s_pod", "up"), s.log)
	ok(eventually(20, func() bool {
		return value("SELECT labels ? 'pod_name' FROM profstore.targets WHERE labels->>'job' = 'k8s_endpoints' AND labels->>'instance' LIKE '127.0.2.1:%%' AND health = 'up'") == "f"
	}), "kubernetes (fake API): endpoints follow their pods")
	api.lock.Lock()
	lists := api.lists[pods]
	api.lock.Unlock()
	api.set(pods, "p5", pod("p5", "127.0.2.5", port), true)
	api.set(pods, "p2", nil, true)
	api.expire()
	ok(eventually(20, at("k8s_pod", "3", "4", "5")), "kubernetes (fake API): 410 lists again, and what went meanwhile is gone", targets("k8s_pod", "up"), s.log)
	api.lock.Lock()
	ok(api.lists[pods] > lists, "kubernetes (fake API): by a list", api.lists)
	api.lock.Unlock()
	ok(s.stop() == 0, "kubernetes (fake API): it ends with exit code 0", s.log)
	code, log := refused("wrong", "scrape_configs: [{job_name: a, kubernetes_sd_configs: [{role: pods}]}]")
	ok(code == 3 && strings.Contains(log, "The role must be one of"), "kubernetes: an unknown role is refused", log)
}

// As a pod of the cluster: by its own account, in its own namespace, of the pods that a selector names.
func testAccount() {
	if os.Getuid() != 0 {
		ok(true, "account: of a pod # SKIP its files need root")
		return
	}
	server, port := serveEverywhere(&recorder{bodies: map[string][][]byte{}})
	defer server.Close()
	api := newKubernetes()
	for i, app := range []string{"api", "api", "other"} {
		p := pod(fmt.Sprint("p", i), fmt.Sprint("127.0.8.", i+1), port)
		p["metadata"].(object)["labels"] = object{"app": app}
		api.set("/api/v1/namespaces/shop/pods", fmt.Sprint("p", i), p, false)
	}
	apiServer := httptest.NewTLSServer(api)
	defer apiServer.Close()
	defer apiServer.CloseClientConnections()
	host, apiPort, _ := strings.Cut(strings.TrimPrefix(apiServer.URL, "https://"), ":")
	files := filepath.Join(directory, "account")
	_ = os.MkdirAll(files, 0o700)
	writeFile("account/ca.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: apiServer.Certificate().Raw})))
	writeFile("account/token", "account\n")
	writeFile("account/namespace", "shop")
	s := &scraper{log: &lockedBuffer{}, ended: make(chan error, 1), config: writeFile("account.yaml", fmt.Sprintf(`
scrape_configs:
  - job_name: k8s_account
    scrape_interval: 1s
    scrape_timeout: 5s
    profiling_config: %s
    kubernetes_sd_configs: [{role: pod, namespaces: {own_namespace: true}, selectors: [{role: pod, label: app=api, field: spec.nodeName=n1}]}]
`, onlyGoroutines))}
	s.command = exec.Command("unshare", "--mount", "sh", "-c", `mount -t tmpfs none /run && mkdir -p /run/secrets/kubernetes.io && ln -s "$0" /run/secrets/kubernetes.io/serviceaccount && exec "$@"`,
		files, os.Getenv("COLLECTOR"), "scrape", "--config", s.config)
	s.command.Env = append(os.Environ(), "KUBERNETES_SERVICE_HOST="+host, "KUBERNETES_SERVICE_PORT="+apiPort)
	s.command.Stderr = s.log
	if err := s.command.Start(); err != nil {
		fatal("%v", err)
	}
	note(s, true)
	go func() { s.ended <- s.command.Wait() }()
	want := fmt.Sprintf("127.0.8.1:%s 127.0.8.2:%s", port, port)
	ok(eventually(20, func() bool { return targets("k8s_account", "up") == want }), "account (fake API): its address, token, authority and namespace are those of the pod", targets("k8s_account", "up"), s.log)
	api.lock.Lock()
	selects := true
	for _, query := range api.queries {
		selects = selects && strings.Contains(query, "labelSelector=app%3Dapi") && strings.Contains(query, "fieldSelector=spec.nodeName%3Dn1")
	}
	ok(selects && len(api.queries) > 1, "account (fake API): lists and watches ask for what selectors say", api.queries)
	api.token = "rotated"
	close(api.cut) // watches end
	api.cut = make(chan bool)
	api.lock.Unlock()
	writeFile("account/token", "rotated")
	api.set("/api/v1/namespaces/shop/pods", "p0", nil, false)
	ok(eventually(40, func() bool { return targets("k8s_account", "up") == fmt.Sprintf("127.0.8.2:%s", port) }), "account (fake API): a token that changes is read again", targets("k8s_account", "up"), s.log)
	ok(s.stop() == 0, "account (fake API): it ends with exit code 0", s.log)
}

// A fake of Consul's HTTP interface: blocking queries by index.
type consul struct {
	lock     sync.Mutex
	index    int
	services map[string][]object
}

func (c *consul) set(name string, instances []object) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.index++
	if instances == nil {
		delete(c.services, name)
	} else {
		c.services[name] = instances
	}
}

func (c *consul) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	index, _ := strconv.Atoi(r.URL.Query().Get("index"))
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end) && r.Context().Err() == nil; time.Sleep(20 * time.Millisecond) {
		c.lock.Lock()
		changed := c.index > index
		c.lock.Unlock()
		if changed {
			break
		}
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	if r.Header.Get("X-Consul-Token") != "t" {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	w.Header().Set("X-Consul-Index", strconv.Itoa(c.index))
	if name, is := strings.CutPrefix(r.URL.Path, "/v1/health/service/"); is {
		instances := c.services[name]
		if instances == nil {
			instances = []object{}
		}
		_ = json.NewEncoder(w).Encode(instances)
		return
	}
	names := object{}
	for name := range c.services {
		names[name] = []string{"go"}
	}
	_ = json.NewEncoder(w).Encode(names)
}

func testConsul() {
	server, port := serveEverywhere(&recorder{bodies: map[string][][]byte{}})
	defer server.Close()
	number, _ := strconv.Atoi(port)
	instance := func(name, host string) object {
		return object{"Node": object{"Node": "n", "Address": host, "Datacenter": "d"}, "Service": object{"ID": name + "-1", "Service": name, "Port": number, "Tags": []string{"go", "x"}, "Meta": object{"a b": "c"}},
			"Checks": []object{{"CheckID": "c", "Status": "warning"}}}
	}
	fake := &consul{services: map[string][]object{}}
	fake.set("web", []object{instance("web", "127.0.3.1"), instance("web", "127.0.3.2")})
	fake.set("other", []object{instance("other", "127.0.3.9")})
	agent := httptest.NewServer(fake)
	defer agent.Close()
	defer agent.CloseClientConnections()
	var lock sync.Mutex
	var came []string // to another host, with its token
	elsewhere, elsewherePort := serveEverywhere(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lock.Lock()
		defer lock.Unlock()
		came = append(came, r.URL.Path+" "+r.Header.Get("X-Consul-Token"))
		_, _ = w.Write([]byte("{}"))
	}))
	defer elsewhere.Close()
	moved := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://127.0.0.2:"+elsewherePort+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer moved.Close()
	s := startScraper("consul", fmt.Sprintf(`
scrape_configs:
  - {job_name: consul_moved, consul_sd_configs: [{server: '%s', token: moving, services: [web]}]}
  - {job_name: consul_moved_open, consul_sd_configs: [{server: '%s', services: [open]}]}
  - job_name: consul
    scrape_interval: 1s
    scrape_timeout: 5s
    profiling_config: %s
    consul_sd_configs: [{server: '%s', token: t, services: [web, late]}]
    relabel_configs:
      - {action: labelmap, regex: __meta_consul_(service|tags|health|service_metadata_a_b)}
`, strings.TrimPrefix(moved.URL, "http://"), strings.TrimPrefix(moved.URL, "http://"), onlyGoroutines, strings.TrimPrefix(agent.URL, "http://")))
	up := func(hosts ...string) func() bool {
		for i, host := range hosts {
			hosts[i] = host + ":" + port
		}
		return func() bool { return targets("consul", "up") == strings.Join(hosts, " ") }
	}
	ok(eventually(20, up("127.0.3.1", "127.0.3.2")), "consul (fake): instances of the services that are wanted", targets("consul", "up"), s.log)
	ok(value("SELECT DISTINCT concat_ws(' ', labels->>'service', labels->>'tags', labels->>'health', labels->>'service_metadata_a_b') FROM profstore.targets WHERE labels->>'job' = 'consul'") ==
		"web ,go,x, warning c", "consul (fake): their labels")
	fake.set("web", []object{instance("web", "127.0.3.2")})
	fake.set("late", []object{instance("late", "127.0.3.3")})
	ok(eventually(20, up("127.0.3.2", "127.0.3.3")), "consul (fake): instances and services come and go", targets("consul", "up"), s.log)
	fake.set("web", nil)
	ok(eventually(20, up("127.0.3.3")), "consul (fake): a service that is gone takes its instances along", targets("consul", "up"), s.log)
	ok(eventually(10, func() bool { return strings.Contains(s.log.String(), "A redirect leads to another host") }), "consul (fake): that it leads to another host is logged", s.log)
	lock.Lock()
	ok(slices.Contains(came, "/v1/catalog/services ") && !slices.Contains(came, "/v1/catalog/services moving"), "consul (fake): a token does not go there, and who has none does", came)
	lock.Unlock()
	ok(s.stop() == 0, "consul (fake): it ends with exit code 0", s.log)
}
