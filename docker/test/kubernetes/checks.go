package main

import (
	"fmt"
	"strconv"
	"strings"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"sigs.k8s.io/yaml"
)

// podOf returns the pod of a workload and the labels that it gets, or nil.
func podOf(o object) (pod any, labels any) {
	if template := at(o, "spec", "template"); template != nil {
		return at(template, "spec"), at(template, "metadata", "labels")
	}
	return nil, nil
}

// selects reports whether the labels of a selector, of which there must be some, are among labels.
func selects(selector, labels any) bool {
	wanted, _ := selector.(map[string]any)
	for name, value := range wanted {
		if at(labels, name) != value {
			return false
		}
	}
	return len(wanted) > 0
}

// containersOf returns the containers of a pod, those included that run before the others.
func containersOf(pod any) []any {
	return append(append([]any{}, list(pod, "initContainers")...), list(pod, "containers")...)
}

// portNames returns the named ports of a pod.
func portNames(pod any) map[string]bool {
	names := map[string]bool{}
	for _, container := range list(pod, "containers") {
		for _, port := range list(container, "ports") {
			names[text(port, "name")] = true
		}
	}
	return names
}

// referenceFaults returns what an API server accepts and no controller can fulfil: selectors without pods, names without objects.
// Secrets are expected from elsewhere, except those that the chart makes.
func referenceFaults(all []object) (faults []string) {
	seen := map[string]bool{}
	fault := func(o object, format string, arguments ...any) {
		faults = append(faults, o.id()+": "+fmt.Sprintf(format, arguments...))
	}
	for _, o := range all {
		if seen[o.id()] {
			fault(o, "exists twice")
		}
		seen[o.id()] = true
	}
	namespaced := func(kind, name string) bool { return seen[kind+" profstore/"+name] }
	// the ports of the pods that a selector selects; nil: it selects none
	selected := func(selector any) map[string]bool {
		for _, o := range all {
			if pod, labels := podOf(o); pod != nil && selects(selector, labels) {
				return portNames(pod)
			}
		}
		return nil
	}
	for _, o := range all {
		if pod, labels := podOf(o); pod != nil {
			if selector := at(o, "spec", "selector"); selector != nil && !selects(at(selector, "matchLabels"), labels) {
				fault(o, "does not select its own pods")
			} else if selector == nil && o.kind() != "Job" {
				fault(o, "has no selector")
			}
			if account := text(pod, "serviceAccountName"); account != "" && !namespaced("ServiceAccount", account) {
				fault(o, "there is no account %s", account)
			}
			volumes := map[string]bool{}
			for _, volume := range list(pod, "volumes") {
				volumes[text(volume, "name")] = true
				if name := text(volume, "configMap", "name"); name != "" && !namespaced("ConfigMap", name) {
					fault(o, "there is no ConfigMap %s", name)
				}
			}
			for _, claim := range list(o, "spec", "volumeClaimTemplates") {
				volumes[text(claim, "metadata", "name")] = true
			}
			used := map[string]bool{}
			for _, container := range containersOf(pod) {
				for _, mount := range list(container, "volumeMounts") {
					used[text(mount, "name")] = true
					if !volumes[text(mount, "name")] {
						fault(o, "there is no volume %s", text(mount, "name"))
					}
				}
				for _, probe := range []string{"livenessProbe", "readinessProbe"} {
					if port := text(container, probe, "httpGet", "port"); port != "" && !portNames(pod)[port] {
						fault(o, "%s: there is no port %s", probe, port)
					}
				}
			}
			for name := range volumes {
				if !used[name] {
					fault(o, "nothing mounts volume %s", name)
				}
			}
		}
		switch o.kind() {
		case "Service":
			ports := selected(at(o, "spec", "selector"))
			if ports == nil {
				fault(o, "selects no pod")
			}
			for _, port := range list(o, "spec", "ports") {
				if !ports[text(port, "targetPort")] {
					fault(o, "pods have no port %s", text(port, "targetPort"))
				}
			}
		case "NetworkPolicy", "PodDisruptionBudget":
			selector := at(o, "spec", "podSelector", "matchLabels")
			if o.kind() == "PodDisruptionBudget" {
				selector = at(o, "spec", "selector", "matchLabels")
			}
			ports := selected(selector)
			if ports == nil {
				fault(o, "selects no pod")
			}
			for _, rule := range list(o, "spec", "ingress") {
				for _, port := range list(rule, "ports") {
					if name := text(port, "port"); name != "" && !ports[name] {
						fault(o, "pods have no port %s", name)
					}
				}
			}
		case "ServiceMonitor":
			// Kubernetes has no schema of it, so the operator's own type decides.
			var monitor monitoringv1.ServiceMonitor
			if document, err := yaml.Marshal(o); err != nil {
				fault(o, "%v", err)
			} else if err := yaml.UnmarshalStrict(document, &monitor); err != nil {
				fault(o, "%v", err)
			}
			found := false
			for _, service := range all {
				if service.kind() != "Service" || !selects(at(o, "spec", "selector", "matchLabels"), at(service, "metadata", "labels")) {
					continue
				}
				for _, port := range list(service, "spec", "ports") {
					found = found || text(port, "name") == text(list(o, "spec", "endpoints")[0], "port")
				}
			}
			if !found {
				fault(o, "selects no port of a Service")
			}
		case "ClusterRoleBinding":
			if !seen["ClusterRole /"+text(o, "roleRef", "name")] {
				fault(o, "there is no role %s", text(o, "roleRef", "name"))
			}
			for _, subject := range list(o, "subjects") {
				if !namespaced("ServiceAccount", text(subject, "name")) || text(subject, "namespace") != "profstore" {
					fault(o, "there is no account %s", text(subject, "name"))
				}
			}
		case "StatefulSet":
			if !namespaced("Service", text(o, "spec", "serviceName")) {
				fault(o, "there is no Service %s", text(o, "spec", "serviceName"))
			}
		}
	}
	return faults
}

// privilegeFaults returns what a container has beyond its need: the agent's capabilities, host paths and user are allowed to the agent.
func privilegeFaults(all []object, capabilities map[string]bool) (faults []string) {
	for _, o := range all {
		pod, _ := podOf(o)
		if pod == nil {
			continue
		}
		isAgent := o.kind() == "DaemonSet"
		for _, key := range []string{"hostNetwork", "hostIPC"} {
			if at(pod, key) != nil {
				faults = append(faults, o.id()+": "+key)
			}
		}
		if at(pod, "hostPID") != nil && !isAgent {
			faults = append(faults, o.id()+": hostPID")
		}
		if !isAgent && (at(pod, "securityContext", "runAsNonRoot") != true || text(pod, "securityContext", "seccompProfile", "type") != "RuntimeDefault") {
			faults = append(faults, o.id()+": not of the pod security level restricted")
		}
		for _, volume := range list(pod, "volumes") {
			if at(volume, "hostPath") != nil && !isAgent {
				faults = append(faults, o.id()+": hostPath")
			}
			if empty, is := at(volume, "emptyDir").(map[string]any); is && empty["sizeLimit"] == nil {
				faults = append(faults, o.id()+": a volume without a limit")
			}
		}
		for _, container := range containersOf(pod) {
			security := at(container, "securityContext")
			if at(security, "allowPrivilegeEscalation") != false || at(security, "readOnlyRootFilesystem") != true ||
				fmt.Sprint(at(security, "capabilities", "drop")) != "[ALL]" || at(security, "privileged") == true {
				faults = append(faults, o.id()+": privileges")
			}
			for _, capability := range list(security, "capabilities", "add") {
				if !isAgent || !capabilities[fmt.Sprint(capability)] {
					faults = append(faults, fmt.Sprintf("%s: capability %v", o.id(), capability))
				}
			}
			if at(container, "resources", "limits", "memory") == nil {
				faults = append(faults, o.id()+": no limit of memory")
			}
		}
	}
	return faults
}

// bytesOf reads a size such as 192MB, 1GB, 256Mi, 1Gi; the collector's MB are those of Kubernetes' Mi.
func bytesOf(size string) int64 {
	end := strings.IndexFunc(size, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		return 0
	}
	number, _ := strconv.ParseInt(size[:end], 10, 64)
	switch size[end:] {
	case "MB", "Mi":
		return number << 20
	case "GB", "Gi":
		return number << 30
	}
	return 0
}

// arguments returns the flags of each container that runs the collector, and their values, by its command.
func arguments(all []object) (commands map[string]map[string]string, limits map[string]int64) {
	commands, limits = map[string]map[string]string{}, map[string]int64{}
	for _, o := range all {
		pod, _ := podOf(o)
		for _, container := range containersOf(pod) {
			args := list(container, "args")
			if len(args) == 0 {
				continue
			}
			command, flags := fmt.Sprint(args[0]), map[string]string{}
			for _, arg := range args[1:] {
				flag, value, _ := strings.Cut(fmt.Sprint(arg), "=")
				flags[flag] = value
			}
			commands[command] = flags
			limits[command] = bytesOf(text(container, "resources", "limits", "memory"))
		}
	}
	return commands, limits
}
