package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"sort"
	"strings"

	"helm.sh/helm/v3/pkg/strvals"
	"sigs.k8s.io/yaml"
)

// same compares two sets of objects, and returns the ids of those that differ or are in one alone.
func same(one, other []object) (differences []string) {
	byID := map[string]object{}
	for _, o := range other {
		byID[o.id()] = o
	}
	for _, o := range one {
		if !reflect.DeepEqual(o, byID[o.id()]) {
			differences = append(differences, o.id())
		}
		delete(byID, o.id())
	}
	for id := range byID {
		differences = append(differences, id)
	}
	sort.Strings(differences)
	return differences
}

// testSameObjects compares chart and kustomization, and the files with those that the chart generates.
func testSameObjects(directory, scratch string) {
	chart := filepath.Join(directory, "chart")
	helm, err := renderChart(chart, nil)
	built, err2 := buildKustomization(filepath.Join(directory, "base"))
	ok(err == nil && err2 == nil && len(helm) > 4, "the chart with default values and the base are built", err, err2)
	differences := same(helm, built)
	ok(len(differences) == 0, "the base is the chart with default values, object by object", differences)

	values, err := os.ReadFile(filepath.Join(directory, everything))
	helm, err2 = renderChart(chart, values)
	names, err3 := components(directory)
	relative, err4 := filepath.Rel(filepath.Join(scratch, "overlay"), directory)
	overlay := "resources: [" + relative + "/base]\ncomponents:\n"
	for _, name := range names {
		overlay += "  - " + relative + "/components/" + name + "\n"
	}
	built, err5 := buildOverlay(filepath.Join(scratch, "overlay"), overlay)
	ok(err == nil && err2 == nil && err3 == nil && err4 == nil && err5 == nil, "the chart with everything and all components are built", err, err2, err3, err4, err5)
	differences = same(helm, built)
	ok(len(differences) == 0 && len(names) > 4, "the components are the rest of the chart, object by object", differences, names)
	writeObjects(filepath.Join(scratch, "rendered/kustomization.yaml"), built)

	files, err := generated(directory)
	onDisk, err2 := generatedOnDisk(directory)
	ok(err == nil && err2 == nil && len(files) == len(onDisk), "the kustomization has the files of the chart", onDisk)
	for path, content := range files {
		have, err := os.ReadFile(filepath.Join(directory, path))
		ok(err == nil && string(have) == content, path+" is that of the chart (make kubernetes)")
	}

	overlay += "namespace: elsewhere\nimages: [{name: profstore-collector, newName: registry.example/profstore-collector, newTag: abc}]\n"
	built, err = buildOverlay(filepath.Join(scratch, "overlay"), overlay)
	images, namespaces := map[string]bool{}, map[string]bool{}
	for _, o := range built {
		pod, _ := podOf(o)
		for _, container := range list(pod, "containers") {
			images[text(container, "image")] = true
		}
		for _, subject := range list(o, "subjects") {
			namespaces[text(subject, "namespace")] = true
		}
	}
	ok(err == nil && images["registry.example/profstore-collector:abc"] && len(images) == 2 && len(namespaces) == 1 && namespaces["elsewhere"],
		"an overlay names other images and another namespace", err, images, namespaces)
}

func writeObjects(path string, all []object) {
	var documents []string
	for _, o := range all {
		document, err := yaml.Marshal(o)
		if err != nil {
			fail(err)
		}
		documents = append(documents, string(document))
	}
	sort.Strings(documents)
	if err := os.WriteFile(path, []byte(strings.Join(documents, "---\n")), 0o644); err != nil {
		fail(err)
	}
}

// helpOf returns the flags that a command of the collector lists.
func helpOf(collector, command string) map[string]bool {
	output, _ := exec.Command(collector, command, "--help").CombinedOutput()
	flags := map[string]bool{}
	for _, match := range regexp.MustCompile(`(?m)^ +(--[a-z-]+)`).FindAllStringSubmatch(string(output), -1) {
		flags[match[1]] = true
	}
	return flags
}

// documentedCapabilities returns those of the table in README.md.
func documentedCapabilities(directory string) map[string]bool {
	readme, err := os.ReadFile(filepath.Join(directory, "README.md"))
	if err != nil {
		fail(err)
	}
	names := map[string]bool{}
	for _, match := range regexp.MustCompile("(?m)^\\| `([A-Z_]+)` \\|").FindAllStringSubmatch(string(readme), -1) {
		names[match[1]] = true
	}
	return names
}

// secretValues returns the texts of a values file that no container may have among its arguments.
func secretValues(values []byte) (secrets []string) {
	var all struct {
		Database struct{ Secret map[string]string }
	}
	if err := yaml.Unmarshal(values, &all); err != nil {
		fail(err)
	}
	for _, value := range all.Database.Secret {
		secrets = append(secrets, value)
	}
	return secrets
}

// flagFaults returns the arguments of containers that the collector does not have, or that do not fit the container's limits.
func flagFaults(all []object, collector string) (faults []string) {
	commands, limits := arguments(all)
	for command, flags := range commands {
		known := helpOf(collector, command)
		for flag, value := range flags {
			if !known[flag] {
				faults = append(faults, command+" has no "+flag)
			}
			if flag == "--max-memory" && bytesOf(value) > limits[command]*3/4 {
				faults = append(faults, fmt.Sprintf("%s: --max-memory %s of a limit of %d bytes", command, value, limits[command]))
			}
		}
		if command == "receive" && bytesOf(flags["--max-memory"])+bytesOf(flags["--queue-size"]) > limits[command]*3/4 {
			faults = append(faults, "receive: requests and queue take more than three quarters of the limit")
		}
	}
	return faults
}

// mountOf returns where a container mounts a volume, and whether read-only.
func mountOf(container any, volume string) (path string, readOnly bool) {
	for _, mount := range list(container, "volumeMounts") {
		if text(mount, "name") == volume {
			path, readOnly = text(mount, "mountPath"), at(mount, "readOnly") == true
		}
	}
	return path, readOnly
}

// testGpuProgram checks the example of a program with a GPU, and runs the command of its init container: the file that the program's
// environment names must be there afterwards.
func testGpuProgram(directory, scratch, collector string) {
	document, err := os.ReadFile(filepath.Join(directory, "examples/gpu-program.yaml"))
	if err != nil {
		fail(err)
	}
	all, err := objects(string(document))
	ok(err == nil && len(all) == 1, "the example of a program with a GPU is one object", err)
	writeObjects(filepath.Join(scratch, "rendered/gpu-program.yaml"), all)
	faults := append(referenceFaults(all), privilegeFaults(all, nil)...)
	faults = append(faults, flagFaults(all, collector)...)
	ok(len(faults) == 0, "it has no privilege, and flags of the collector", strings.Join(faults, "\n# "))

	pod, _ := podOf(all[0])
	first, program := list(pod, "initContainers")[0], list(pod, "containers")[0]
	volume := text(list(pod, "volumes")[0], "name")
	source, isReadOnly := mountOf(first, volume)
	mounted, programReadsOnly := mountOf(program, volume)
	variable := list(program, "env")[0]
	ok(!isReadOnly && programReadsOnly, "the program cannot change the library that it loads")
	ok(text(variable, "name") == "CUDA_INJECTION64_PATH" && text(variable, "value") == mounted+"/libprofstore-gpu.so",
		"its environment names the library", variable)
	target := filepath.Join(scratch, "gpu-library")
	if err := os.MkdirAll(target, 0o755); err != nil {
		fail(err)
	}
	var args []string
	for _, arg := range list(first, "args") {
		args = append(args, strings.Replace(fmt.Sprint(arg), "="+source, "="+target, 1))
	}
	output, err := exec.Command(collector, args...).CombinedOutput()
	ok(err == nil && strings.Contains(strings.Join(args, " "), target), "the init container copies to its volume", err, string(output))
	status, err := os.Stat(filepath.Join(target, strings.TrimPrefix(text(variable, "value"), mounted)))
	ok(err == nil && status.Size() > 0 && status.Mode() == 0o644, "the library is there for the program", err)
}

// testValues renders the chart with each file of values and looks for faults that schemas do not show.
func testValues(directory, scratch, valuesDirectory, collector string) {
	capabilities := documentedCapabilities(directory)
	paths, _ := filepath.Glob(filepath.Join(valuesDirectory, "*.yaml"))
	ok(len(paths) >= 10, "there are ten files of values", len(paths))
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		values, err := os.ReadFile(path)
		if err != nil {
			fail(err)
		}
		all, err := renderChart(filepath.Join(directory, "chart"), values)
		ok(err == nil && len(all) > 0, name+" is rendered", err)
		writeObjects(filepath.Join(scratch, "rendered", name+".yaml"), all)
		faults := referenceFaults(all)
		ok(len(faults) == 0, name+": every name has its object", strings.Join(faults, "\n# "))
		faults = privilegeFaults(all, capabilities)
		ok(len(faults) == 0, name+": no privilege without a reason", strings.Join(faults, "\n# "))
		faults = flagFaults(all, collector)
		ok(len(faults) == 0, name+": flags are those of the collector, and fit the limits", strings.Join(faults, "\n# "))
		faults = nil
		for _, secret := range secretValues(values) {
			for _, o := range all {
				if encoded, _ := json.Marshal(o); o.kind() != "Secret" && strings.Contains(string(encoded), secret) {
					faults = append(faults, o.id())
				}
			}
		}
		ok(len(faults) == 0, name+": secrets are in secrets alone", faults)
	}
}

// testRefusals renders values of which each is wrong, and must be refused by the schema.
func testRefusals(chart string) {
	for _, values := range []string{
		"agnet: {enabled: false}",
		"agent: {spol: {}}",
		"agent: {spool: {kind: disk}}",
		"agent: {capabilities: [SYS_ADMIN, BPF, PERFMON]}",
		"agent: {capabilities: [BPF]}",
		"agent: {preset: huge}",
		"agent: {flags: {db: host=db password=x}}",
		"agent: {flags: {--frequency: 49}}",
		"agent: {flags: {frequency: [49]}}",
		"database: {secret: {PASSWORD: x}}",
		"database: {secret: {PGPASSWORD: 17}}",
		"image: {tag: 'a b'}",
		"image: {digest: 'abc'}",
		"receiver: {acknowledge: spool}",
		"receiver: {tls: {clientCA: true}}",
		"receiver: {replicas: 0}",
		"migrate: {write: [\"a'); DROP TABLE b; --\"]}",
		"symbolizer: {debuginfod: ['file:///etc']}",
		"networkPolicy: {egress: {databasePort: 70000}}",
		"metrics: {serviceMonitor: {interval: often}}",
	} {
		_, err := renderChart(chart, []byte(values))
		ok(err != nil && strings.Contains(err.Error(), "don't meet the specifications of the schema"), "refused: "+values, err)
	}
	_, err := renderChart(chart, []byte("database: {existingSecret: ''}"))
	ok(err != nil && strings.Contains(err.Error(), "database.existingSecret"), "refused: no connection", err)
}

// testReadmes tries the commands with which the READMEs name an image, and the node's files that the agent sees.
func testReadmes(top, chart string) {
	readme, err := os.ReadFile(filepath.Join(top, "docker/README.md"))
	if err != nil {
		fail(err)
	}
	const wanted = "registry.example/mine/profstore-collector:abc"
	names := strings.NewReplacer("$registry", "registry.example/mine", "$commit", "abc")
	set := regexp.MustCompile(`(?m)^helm install profstore docker/kubernetes/chart .*--set (\S+)$`).FindSubmatch(readme)
	given := map[string]any{}
	if set == nil || strvals.ParseInto(names.Replace(string(set[1])), given) != nil {
		ok(false, "docker/README.md has a command of Helm")
		return
	}
	values, err := yaml.Marshal(given)
	if err != nil {
		fail(err)
	}
	all, err := renderChart(chart, values)
	image, debug := "", map[string]any{}
	for _, o := range all {
		if pod, _ := podOf(o); o.kind() == "DaemonSet" {
			container := list(pod, "containers")[0]
			image = text(container, "image")
			for _, part := range append(list(container, "volumeMounts"), list(pod, "volumes")...) {
				if text(part, "name") == "debug" {
					for key, value := range part.(map[string]any) {
						debug[key] = value
					}
				}
			}
		}
	}
	ok(err == nil && image == wanted, "docker/README.md's command of Helm names another image", err, image)
	ok(debug["mountPath"] == "/usr/lib/debug" && debug["readOnly"] == true && text(debug, "hostPath", "path") == "/usr/lib/debug",
		"the agent sees the node's debug files, and cannot change them", debug)

	command := regexp.MustCompile(`(?m)^sed "s,.*base/agent\.yaml`).Find(readme)
	run := exec.Command("bash", "-c", names.Replace(string(command)))
	run.Dir = top
	output, err := run.CombinedOutput()
	ok(err == nil && strings.Count(string(output), "image: "+wanted+"\n") == 1, "docker/README.md's command without Helm names another image", err, output)
}

// testVersion compares the chart's version with VERSION.
func testVersion(top, chart string) {
	version, err := os.ReadFile(filepath.Join(top, "VERSION"))
	file, err2 := os.ReadFile(filepath.Join(chart, "Chart.yaml"))
	var meta struct{ Version, AppVersion string }
	err3 := yaml.Unmarshal(file, &meta)
	number := strings.TrimSpace(string(version))
	ok(err == nil && err2 == nil && err3 == nil && meta.AppVersion == number && strings.HasPrefix(meta.Version, number), "the chart has the version of VERSION", meta, number)
}

func runTests(top, scratch, collector string) {
	directory := filepath.Join(top, "docker/kubernetes")
	if err := os.MkdirAll(filepath.Join(scratch, "rendered"), 0o755); err != nil {
		fail(err)
	}
	testSameObjects(directory, scratch)
	testValues(directory, scratch, filepath.Join(top, "docker/test/kubernetes/values"), collector)
	testGpuProgram(directory, scratch, collector)
	testRefusals(filepath.Join(directory, "chart"))
	testReadmes(top, filepath.Join(directory, "chart"))
	testVersion(top, filepath.Join(directory, "chart"))
}
