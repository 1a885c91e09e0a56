package main

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// What "pods" tells: its lines, as they come.
type podTeller struct {
	lock  sync.Mutex
	lines []string
}

func (p *podTeller) all() string {
	p.lock.Lock()
	defer p.lock.Unlock()
	return strings.Join(p.lines, "\n")
}

// The newest line of a pod.
func (p *podTeller) of(uid string) string {
	p.lock.Lock()
	defer p.lock.Unlock()
	for i := len(p.lines) - 1; i >= 0; i-- {
		if strings.HasPrefix(p.lines[i], "pod "+uid+"\t") || p.lines[i] == "gone "+uid {
			return p.lines[i]
		}
	}
	return ""
}

func (p *podTeller) tells(uid string, fields ...string) func() bool {
	return func() bool {
		line := p.of(uid) + "\t"
		for _, field := range fields {
			if !strings.Contains(line, "\t"+field+"\t") {
				return false
			}
		}
		return line != "\t"
	}
}

// Starts "pods", which ends with the tests.
func startPods(server, token string, flags ...string) (*podTeller, *scraper) {
	s := &scraper{log: &lockedBuffer{}, ended: make(chan error, 1)}
	s.command = exec.Command(filepath.Join(filepath.Dir(os.Getenv("COLLECTOR")), "profstore-sources"),
		append([]string{"pods", "--node", "n1", "--api-server", server, "--token-file", token}, flags...)...)
	s.command.Stderr = s.log
	output, err := s.command.StdoutPipe()
	if err == nil {
		err = s.command.Start()
	}
	if err != nil {
		fatal("%v", err)
	}
	teller := &podTeller{}
	running[s] = true
	go func() {
		for lines := bufio.NewScanner(output); lines.Scan(); {
			teller.lock.Lock()
			teller.lines = append(teller.lines, lines.Text())
			teller.lock.Unlock()
		}
		s.ended <- s.command.Wait()
	}()
	return teller, s
}

func owner(kind, name string) []object {
	return []object{{"kind": kind, "name": name, "uid": "uid-of-" + name, "controller": true}}
}

// A pod of the node with an owner and one container.
func ownedPod(name, kind, of string) object {
	return object{
		"metadata": object{"name": name, "namespace": "shop", "uid": "u-" + name, "ownerReferences": owner(kind, of),
			"labels": object{"app.kubernetes.io/name": "100%\tx", "pod-template-hash": "abc"}, "annotations": object{"team": "a", "secret": "s"}},
		"spec":   object{"nodeName": "n1"},
		"status": object{"containerStatuses": []object{{"name": "main", "image": "i:1", "containerID": "containerd://c-" + name}}},
	}
}

func owned(name, kind, of string) object {
	o := object{"metadata": object{"name": name, "namespace": "shop", "uid": "uid-of-" + name}}
	if kind != "" {
		o["metadata"].(object)["ownerReferences"] = owner(kind, of)
	}
	return o
}

// A file that nobody may read, which is who "pods" is; its directory goes with the tests.
func publicFile(path, text string) {
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		fatal("%v", err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		fatal("%v", err)
	}
}

// A watch of which nothing but a bookmark came lately: what ends it is the API's own time limit, and the next one begins at the bookmark.
func testBookmark(token string) {
	versions := make(chan string, 16)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		version := r.URL.Query().Get("resourceVersion")
		if r.URL.Query().Get("watch") != "1" {
			versions <- "list " + version
			fmt.Fprint(w, `{"metadata":{"resourceVersion":"7"},"items":[]}`)
			return
		}
		versions <- "watch " + version + " " + r.URL.Query().Get("allowWatchBookmarks")
		if version == "7" {
			fmt.Fprintln(w, `{"type":"ADDED","object":{"metadata":{"name":"x","uid":"u-x","namespace":"shop","resourceVersion":"8"}}}`)
			fmt.Fprintln(w, `{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"99"}}}`)
			return
		}
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	teller, s := startPods(server.URL, token)
	got := []string{}
	eventually(30, func() bool {
		for len(versions) > 0 {
			got = append(got, <-versions)
		}
		return len(got) >= 3
	})
	ok(slices.Equal(got, []string{"list 0", "watch 7 true", "watch 99 true"}), "pods (bookmark): the next watch begins where the bookmark was, without a list", got, s.log)
	ok(teller.tells("u-x", "pod_name=x")(), "pods (bookmark): and what came before it stays", teller.all())
	ok(s.stop() == 0, "pods (bookmark): it ends", s.log)
	server.CloseClientConnections()
	server.Close()
}

func testPods() {
	const pods = "/api/v1/pods"
	const sets, jobs = "/apis/apps/v1/namespaces/shop/replicasets", "/apis/batch/v1/namespaces/shop/jobs"
	api := newKubernetes()
	handler := http.Handler(api)
	server := httptest.NewServer(handler)
	address := server.Listener.Addr().String()
	api.set(sets, "web-abc", owned("web-abc", "Deployment", "web"), true)
	api.set(sets, "roll-abc", owned("roll-abc", "Rollout", "roll"), true)
	api.set(sets, "other-abc", object{"metadata": object{"name": "other-abc", "uid": "uid-of-another", "ownerReferences": owner("Wrong", "x")}}, true)
	api.set(sets, "alone-abc", owned("alone-abc", "", ""), true)
	api.set(jobs, "night-29000000", owned("night-29000000", "CronJob", "night"), true)
	api.set(jobs, "once", owned("once", "", ""), true)
	api.set(pods, "a", ownedPod("a", "ReplicaSet", "web-abc"), false)
	for name, owner := range map[string][2]string{"b": {"ReplicaSet", "roll-abc"}, "c": {"ReplicaSet", "alone-abc"}, "d": {"Job", "night-29000000"},
		"e": {"Job", "once"}, "f": {"StatefulSet", "db"}, "g": {"DaemonSet", "logs"}, "h": {"ReplicaSet", "lost-abc"}, "i": {"Job", "lost-29000001"}, "o": {"ReplicaSet", "other-abc"}} {
		api.set(pods, name, ownedPod(name, owner[0], owner[1]), false)
	}
	public, err := os.MkdirTemp("", "pods")
	if err != nil {
		fatal("%v", err)
	}
	defer os.RemoveAll(public)
	if err := os.Chmod(public, 0o755); err != nil {
		fatal("%v", err)
	}
	token := filepath.Join(public, "token")
	publicFile(token, "account")
	teller, s := startPods(server.URL, token, "--annotations", "x,team")
	synced := func() bool { return strings.Contains("\n"+teller.all()+"\n", "\nsynced\n") }
	ok(eventually(20, synced), "pods (fake API): all are told, and that they are", teller.all(), s.log)
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", s.command.Process.Pid))
	ok(err == nil && strings.Contains(string(limits), "Max data size             536870912 "), "pods (fake API): its memory has a limit", string(limits))
	for uid, workload := range map[string]string{"a": "Deployment web", "b": "Rollout roll", "c": "ReplicaSet alone-abc", "d": "CronJob night", "e": "Job once",
		"f": "StatefulSet db", "g": "DaemonSet logs", "h": "Deployment lost", "i": "CronJob lost", "o": "Deployment other"} {
		words := strings.Fields(workload)
		ok(teller.tells("u-"+uid, "workload_kind="+words[0], "workload_name="+words[1])(), "pods (fake API): the chain of owners ends at "+workload, teller.of("u-"+uid))
	}
	ok(teller.tells("u-a", "namespace=shop", "pod_name=a", "pod_label_app_kubernetes_io_name=100%25%09x", "container=c-a main i:1 0", "pod_annotation_team=a")(),
		"pods (fake API): fields of a pod", teller.of("u-a"))
	ok(!strings.Contains(teller.all(), "secret"), "pods (fake API): annotations that nobody asked for are not told")
	api.lock.Lock()
	ok(strings.Contains(api.queries[0], "fieldSelector=spec.nodeName%3Dn1") && strings.Contains(api.queries[0], "resourceVersion=0"),
		"pods (fake API): the node's alone, from the server's cache", api.queries)
	asked := 0
	for _, line := range api.queries {
		if line == "" {
			asked++
		}
	}
	ok(asked == 8, "pods (fake API): each owner is asked for once", asked)
	api.lock.Unlock()

	late := ownedPod("a", "ReplicaSet", "web-abc")
	late["status"] = object{
		"containerStatuses": []object{{"name": "main", "image": "i:1", "containerID": "cri-o://c-new", "state": object{"running": object{}},
			"lastState": object{"terminated": object{"containerID": "cri-o://c-old"}}}},
		"initContainerStatuses":      []object{{"name": "init", "image": "i:2", "state": object{"terminated": object{"containerID": "cri-o://c-init"}}}},
		"ephemeralContainerStatuses": []object{{"name": "debug", "image": "i:3", "containerID": "cri-o://c-debug"}}}
	api.set(pods, "a", late, false)
	ok(eventually(20, teller.tells("u-a", "container=c-new main i:1 0", "container=c-old main i:1 0", "container=c-init init i:2 1", "container=c-debug debug i:3 0")),
		"pods (fake API): restarted, init and ephemeral containers", teller.of("u-a"))
	static := ownedPod("j", "Node", "n1")
	static["metadata"].(object)["annotations"] = object{"kubernetes.io/config.hash": "0f1e"}
	api.set(pods, "j", static, false)
	ok(eventually(20, teller.tells("u-j", "static_uid=0f1e", "workload_kind=Node")), "pods (fake API): a static pod and its hash", teller.of("u-j"))
	again := ownedPod("f", "StatefulSet", "db")
	again["metadata"].(object)["uid"] = "u-f2"
	api.set(pods, "f", again, false)
	ok(eventually(20, teller.tells("u-f2", "pod_name=f")) && teller.of("u-f") == "gone u-f", "pods (fake API): another pod of the same name", teller.all())
	api.set(pods, "g", nil, false)
	ok(eventually(20, func() bool { return teller.of("u-g") == "gone u-g" }), "pods (fake API): one that is deleted", teller.all())

	// a token that rotates, 410 as an event and as a status, a server that is away
	api.lock.Lock()
	api.token = "fresh"
	api.lock.Unlock()
	publicFile(token, "fresh")
	for i, how := range []string{"an event", "a status"} {
		name := fmt.Sprint("k", i)
		// not between pages of a list, which the fake makes of what there is by then
		eventually(30, func() bool { api.lock.Lock(); defer api.lock.Unlock(); return api.active == 1 })
		api.lock.Lock()
		api.status = how == "a status"
		api.lock.Unlock()
		api.set(pods, name, ownedPod(name, "ReplicaSet", "web-abc"), true)
		api.set(pods, string("bc"[i]), nil, true)
		api.expire()
		ok(eventually(30, teller.tells("u-"+name, "pod_name="+name)), "pods (fake API): 410 as "+how+" lists again, by the token of then", teller.all(), s.log)
		gone := "u-" + string("bc"[i])
		ok(eventually(20, func() bool { return teller.of(gone) == "gone "+gone }), "pods (fake API): and what went meanwhile is gone", teller.of(gone))
	}
	server.CloseClientConnections()
	server.Listener.Close()
	api.set(pods, "l", ownedPod("l", "DaemonSet", "logs"), false)
	ok(eventually(30, func() bool { return strings.Contains(s.log.String(), "could not watch pods") }), "pods (fake API): a server that is away is told of", s.log)
	listener, err := net.Listen("tcp", address)
	if err != nil {
		fatal("%v", err)
	}
	restarted := &http.Server{Handler: api}
	go func() { _ = restarted.Serve(listener) }()
	ok(eventually(60, teller.tells("u-l", "pod_name=l")), "pods (fake API): and when it comes back the watch goes on", teller.all(), s.log)
	ok(s.stop() == 0, "pods (fake API): it ends with exit code 0", s.log)

	// without the right to read owners names tell
	api.lock.Lock()
	api.denied = "/apis/"
	api.lock.Unlock()
	teller, s = startPods("http://"+address+"/", token)
	ok(eventually(20, teller.tells("u-a", "workload_kind=Deployment", "workload_name=web")) && teller.tells("u-d", "workload_kind=CronJob", "workload_name=night")(),
		"pods (fake API): without the right to read owners", teller.all(), s.log)
	ok(s.stop() == 0, "pods (fake API): it ends", s.log)

	// while the API fails names tell, wrongly; and no longer
	api.lock.Lock()
	api.denied, api.broken = "", "/apis/"
	api.lock.Unlock()
	api.set(pods, "r", ownedPod("r", "ReplicaSet", "roll-abc"), false)
	teller, s = startPods("http://"+address, token)
	ok(eventually(20, synced) && teller.tells("u-r", "workload_kind=Deployment", "workload_name=roll")(), "pods (fake API): while owners cannot be read names tell", teller.all(), s.log)
	api.lock.Lock()
	api.broken = ""
	api.lock.Unlock()
	ok(eventually(30, teller.tells("u-r", "workload_kind=Rollout", "workload_name=roll")), "pods (fake API): and what they told wrongly is mended", teller.of("u-r"), s.log)
	ok(s.stop() == 0, "pods (fake API): it ends once more", s.log)
	_ = restarted.Close()

	testBookmark(token)

	// half a line, an object that is no pod, a line that never ends
	for name, answer := range map[string]string{
		"half a line": `{"type":"ADDED","object":{"metadata":{"name":"x","uid":"u-x"`, "no pod": `{"type":"ADDED","object":[1]}` + "\n",
		"no JSON": "hello\n", "an endless line": strings.Repeat("[", 9<<20)} {
		var lock sync.Mutex
		watches := 0
		hostile := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("watch") != "1" {
				fmt.Fprint(w, `{"metadata":{"resourceVersion":"1"},"items":[]}`)
				return
			}
			lock.Lock()
			watches++
			lock.Unlock()
			fmt.Fprint(w, answer)
		}))
		teller, s = startPods(hostile.URL, token)
		ok(eventually(30, func() bool { lock.Lock(); defer lock.Unlock(); return watches >= 2 }), "pods (hostile API): "+name+": it watches again", s.log)
		ok(!regexp.MustCompile("(?m)^pod ").MatchString(teller.all()), "pods (hostile API): "+name+": nothing is told", teller.all())
		ok(s.stop() == 0, "pods (hostile API): "+name+": it ends", s.log)
		hostile.CloseClientConnections()
		hostile.Close()
	}
}
