{{- define "profstore.name" -}}
{{- default .Release.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- /* Labels that select the pods of a component: (list $ "agent"). They never change, because selectors cannot. */ -}}
{{- define "profstore.selector" -}}
app.kubernetes.io/name: profstore
app.kubernetes.io/instance: {{ include "profstore.name" (first .) }}
app.kubernetes.io/component: {{ last . }}
{{- end -}}

{{- /* Name, namespace and labels of an object of a component: (list $ "agent"). */ -}}
{{- define "profstore.metadata" -}}
name: {{ include "profstore.name" (first .) }}-{{ last . }}
namespace: {{ (first .).Release.Namespace }}
labels:
  {{- include "profstore.selector" . | nindent 2 }}
  app.kubernetes.io/version: {{ (first .).Chart.AppVersion | quote }}
{{- end -}}

{{- /* Likewise for an object without a namespace. */ -}}
{{- define "profstore.clusterMetadata" -}}
name: {{ include "profstore.name" (first .) }}-{{ last . }}
labels:
  {{- include "profstore.selector" . | nindent 2 }}
  app.kubernetes.io/version: {{ (first .).Chart.AppVersion | quote }}
{{- end -}}

{{- define "profstore.image" -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag }}{{ end }}
{{- end -}}

{{- /* Resources, and the flags that must fit them. A limit of memory is a third above --max-memory, or leaves as much for all that a
       receiver or scraper holds, because it also counts BPF maps, cached files and the program itself. */ -}}
{{- define "profstore.presets" -}}
agent:
  small: {cpu: 20m, cpus: "2", request: 128Mi, memory: 256Mi, flags: {max-memory: 192MB}}
  medium: {cpu: 50m, cpus: "2", request: 256Mi, memory: 512Mi, flags: {max-memory: 384MB}}
  large: {cpu: 100m, cpus: "4", request: 512Mi, memory: 1Gi, flags: {max-memory: 768MB}}
scraper:
  small: {cpu: 50m, cpus: "1", request: 128Mi, memory: 512Mi, flags: {max-held: 64MB, queue-size: 32MB}}
  medium: {cpu: 100m, cpus: "2", request: 256Mi, memory: 1Gi, flags: {max-held: 128MB, queue-size: 64MB}}
  large: {cpu: 200m, cpus: "4", request: 512Mi, memory: 2Gi, flags: {max-held: 256MB, queue-size: 256MB}}
receiver:
  small: {cpu: 50m, cpus: "1", request: 128Mi, memory: 512Mi, flags: {max-memory: 128MB, queue-size: 128MB}}
  medium: {cpu: 100m, cpus: "2", request: 256Mi, memory: 1Gi, flags: {max-memory: 256MB, queue-size: 256MB}}
  large: {cpu: 200m, cpus: "4", request: 512Mi, memory: 2Gi, flags: {max-memory: 512MB, queue-size: 512MB}}
symbolizer:
  small: {cpu: 20m, cpus: "1", request: 64Mi, memory: 512Mi, flags: {max-memory: 256MB}}
  medium: {cpu: 20m, cpus: "1", request: 128Mi, memory: 1Gi, flags: {max-memory: 512MB}}
  large: {cpu: 20m, cpus: "2", request: 256Mi, memory: 2Gi, flags: {max-memory: 1GB}}
{{- end -}}

{{- /* Items of args: the flags of the preset and of the component's values, which override them: (list $ "agent"). */ -}}
{{- define "profstore.flags" -}}
{{- $values := index (first .).Values (last .) -}}
{{- $preset := index (include "profstore.presets" . | fromYaml) (last .) $values.preset -}}
{{- range $flag, $value := merge (deepCopy $values.flags) $preset.flags }}
{{- if kindIs "bool" $value }}
{{- if $value }}
- --{{ $flag }}
{{- end }}
{{- else }}
- --{{ $flag }}={{ $value }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "profstore.resources" -}}
{{- $values := index (first .).Values (last .) -}}
{{- $preset := index (include "profstore.presets" . | fromYaml) (last .) $values.preset -}}
{{- if $values.resources -}}
{{ toYaml $values.resources }}
{{- else -}}
requests:
  cpu: {{ $preset.cpu }}
  memory: {{ $preset.request }}
limits:
  cpu: {{ $preset.cpus | quote }} # far above the use, because a throttled collector loses samples
  memory: {{ $preset.memory }}
{{- end }}
{{- end -}}

{{- define "profstore.connection" -}}
- secretRef:
    name: {{ include "profstore.connectionSecret" . }}
{{- end -}}

{{- define "profstore.connectionSecret" -}}
{{- $root := first . -}}
{{- $values := index $root.Values (last .) -}}
{{- if $values.existingSecret -}}
{{ $values.existingSecret }}
{{- else if $root.Values.database.secret -}}
{{ include "profstore.name" $root }}-database
{{- else -}}
{{ required "database.existingSecret: the name of a secret with PGHOST and other variables of libpq" $root.Values.database.existingSecret }}
{{- end -}}
{{- end -}}

{{- /* Where pods run: (list $ "agent"). */ -}}
{{- define "profstore.placement" -}}
{{- $values := index (first .).Values (last .) -}}
{{- with (first .).Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{- /* Pods and containers that need no privilege: those of the pod security level "restricted". */ -}}
{{- define "profstore.unprivilegedPod" -}}
runAsNonRoot: true
runAsUser: 65534
runAsGroup: 65534
fsGroup: 65534 # owns the volumes
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "profstore.unprivilegedContainer" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- /* Why the agent needs a capability, and what is lost without it. */ -}}
{{- define "profstore.capabilityReasons" -}}
BPF: "load programs and maps; without it the agent ends with exit code 4"
PERFMON: "sample all processes; without it the agent ends with exit code 4"
SYS_PTRACE: "/proc/PID/maps and /proc/PID/root of others; without it: [process gone] instead of names"
DAC_READ_SEARCH: "binaries that only their users may read; without it these have no names"
CHECKPOINT_RESTORE: "/proc/PID/map_files; without it deleted binaries have no names, such as those of an update"
SYS_NICE: "priority on a busy node; without it samples of short-lived programs are lost"
SYSLOG: "addresses in /proc/kallsyms; without it the kernel's functions are [kernel]"
SETUID: "workers that read foreign files or use the API run as nobody; without it as root without capabilities"
SETGID: "and nogroup; as above"
KILL: "the agent ends such workers; without it a worker that hangs stays"
SYS_RESOURCE: "locked memory for maps before Linux 5.11; without it the agent ends there"
{{- end -}}

{{- /* The rules of a network policy that lets out DNS, the API and the database. */ -}}
{{- define "profstore.egress" -}}
- ports:
    - {port: 53, protocol: UDP}
    - {port: 53, protocol: TCP}
- ports:
    - {port: {{ .databasePort }}, protocol: TCP}
  {{- with .database }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{- /* A file system for a spool, or a claim's name: the volume, if there is no claim. */ -}}
{{- define "profstore.spoolVolume" -}}
- name: spool
  emptyDir:
    sizeLimit: {{ add .size 256 }}Mi
{{- end -}}

{{- define "profstore.spoolClaim" -}}
volumeClaimTemplates:
  - metadata:
      name: spool
    spec:
      accessModes: [ReadWriteOnce]
      {{- with .storageClassName }}
      storageClassName: {{ . }}
      {{- end }}
      resources:
        requests:
          storage: {{ add .size 256 }}Mi
{{- end -}}
