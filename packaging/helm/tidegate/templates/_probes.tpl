{{- /* Probes from within the pod: the admin listener may be loopback, and its token stays secret. */ -}}
{{- define "tidegate.probes" -}}
{{- $admin := include "tidegate.admin" . -}}
{{- /* The first probe is at once; n failures take n - 1 periods. */ -}}
{{- $starts := divf .Values.probes.startupSeconds .Values.probes.periodSeconds | ceil | add 1 -}}
{{- $pages := dict "startup" "live" "readiness" .Values.probes.readiness "liveness" "live" -}}
{{- $failures := dict "startup" $starts "readiness" .Values.probes.readinessFailures "liveness" .Values.probes.livenessFailures -}}
{{- range $index, $probe := list "startup" "readiness" "liveness" -}}
{{- if $index }}{{ "\n" }}{{ end -}}
{{ $probe }}Probe:
  exec:
    command: [tidegate, health, {{ index $pages $probe }}, --admin, {{ $admin | quote }}]
  periodSeconds: {{ int64 $.Values.probes.periodSeconds }}
  timeoutSeconds: {{ int64 $.Values.probes.timeoutSeconds }}
  failureThreshold: {{ index $failures $probe | int64 }}
{{- end -}}
{{- end -}}
