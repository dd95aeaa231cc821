{{- /* Values that are right alone, and wrong together; and what a schema cannot say in words. */ -}}
{{- define "tidegate.check" -}}
{{- include "tidegate.checkListen" . -}}
{{- include "tidegate.checkPorts" . -}}
{{- include "tidegate.checkSizes" . -}}
{{- include "tidegate.checkNames" . -}}
{{- if and .Values.admin.token (lt (len .Values.admin.token) 16) -}}
{{- fail "admin.token: it has fewer than 16 characters: `openssl rand -hex 16` makes one" -}}
{{- end -}}
{{- if and .Values.admin.token .Values.admin.existingSecret -}}
{{- fail "admin.existingSecret: admin.token is set, too: leave one of them out" -}}
{{- end -}}
{{- /* `${credential:NAME}` is no password, but the name of a file. */ -}}
{{- $open := regexReplaceAll "\\$\\{credential:[^}]*\\}" .Values.config "" -}}
{{- $secrets := "://[^\\s/:@\"']*:[^\\s/@\"']+@|(?i)authorization[\"']?\\s*=\\s*[\"'](\\w+ )?[^\\s\"']+[\"']" -}}
{{- if and (not .Values.configIsSecret) (regexMatch $secrets $open) -}}
{{- fail "configIsSecret: config has a password in an URL, or an authorization: set configIsSecret=true, so that it is in a Secret" -}}
{{- end -}}
{{- $metric := default dict .Values.autoscaling.metric -}}
{{- if ne (empty $metric.name) (empty $metric.averageValue) -}}
{{- fail "autoscaling.metric: name and averageValue belong together" -}}
{{- end -}}
{{- if and .Values.service.externalTrafficPolicy (eq .Values.service.type "ClusterIP") -}}
{{- fail "service.externalTrafficPolicy: service.type is ClusterIP, which takes none: leave it out, or set NodePort or LoadBalancer" -}}
{{- end -}}
{{- range $key := list "loadBalancerClass" "loadBalancerSourceRanges" -}}
{{- if and (index $.Values.service $key) (ne $.Values.service.type "LoadBalancer") -}}
{{- fail (printf "service.%s: service.type is %s: leave it out, or set LoadBalancer" $key $.Values.service.type) -}}
{{- end -}}
{{- end -}}
{{- if gt (int64 .Values.autoscaling.minReplicas) (int64 .Values.autoscaling.maxReplicas) -}}
{{- fail "autoscaling.minReplicas: it is more than autoscaling.maxReplicas" -}}
{{- end -}}
{{- end -}}

{{- define "tidegate.checkListen" -}}
{{- $public := include "tidegate.public" . -}}
{{- $admin := include "tidegate.admin" . -}}
{{- $listen := get (fromToml .Values.config) "listen" | default dict -}}
{{- if include "tidegate.isLoopback" $public -}}
{{- fail (printf "config: listen.public is %s, which no other pod reaches: leave it out, or set 0.0.0.0:8080" $public) -}}
{{- end -}}
{{- if hasKey $listen "drain_timeout" -}}
{{- fail "config: listen.drain_timeout is set by the value stop.drainSeconds here, so that the pod lives long enough" -}}
{{- end -}}
{{- if hasKey $listen "admin_token" -}}
{{- fail "config: listen.admin_token is set by the value admin.token or admin.existingSecret here, so that it is in a Secret" -}}
{{- end -}}
{{- if include "tidegate.isLoopback" $admin -}}
{{- if .Values.serviceMonitor.enabled -}}
{{- fail (printf "serviceMonitor.enabled: Prometheus does not reach listen.admin, which is %s: set 0.0.0.0:8081 in config, and admin.token" $admin) -}}
{{- end -}}
{{- else if not (include "tidegate.hasToken" .) -}}
{{- fail (printf "admin.token: listen.admin is %s, so a token is needed: set admin.token or admin.existingSecret" $admin) -}}
{{- end -}}
{{- if and .Values.serviceMonitor.enabled .Values.networkPolicy.enabled (not .Values.networkPolicy.adminFrom) -}}
{{- fail "networkPolicy.adminFrom: nobody may scrape: name Prometheus' namespace or pods" -}}
{{- end -}}
{{- end -}}

{{- /* An extra port is open to all that the public one is open to, so it must not be the admin port. */ -}}
{{- define "tidegate.checkPorts" -}}
{{- $public := include "tidegate.portOf" (include "tidegate.public" .) -}}
{{- $admin := include "tidegate.portOf" (include "tidegate.admin" .) -}}
{{- if eq $public $admin -}}
{{- fail (printf "port: %s is the port of listen.admin, too: change port, or listen.public in config" $public) -}}
{{- end -}}
{{- $names := list "http" "admin" -}}
{{- $ports := list (printf "TCP %s" $public) (printf "TCP %s" $admin) (printf "TCP %d" (int64 .Values.service.port)) -}}
{{- range .Values.service.extraPorts -}}
{{- $port := printf "%s %d" (default "TCP" .protocol) (int64 .port) -}}
{{- if has .name $names -}}
{{- fail (printf "service.extraPorts: the name %s is taken, by the chart or twice here" .name) -}}
{{- end -}}
{{- if has $port $ports -}}
{{- fail (printf "service.extraPorts: %s of %s is taken, by a listener, by service.port or twice here" $port .name) -}}
{{- end -}}
{{- $names = append $names .name -}}
{{- $ports = append $ports $port -}}
{{- end -}}
{{- end -}}

{{- define "tidegate.checkSizes" -}}
{{- $sizes := dict "data.size" .Values.data.size "sharedMemory.size" .Values.sharedMemory.size -}}
{{- range $key, $size := $sizes -}}
{{- if not (has (kindOf $size) (list "string" "invalid")) -}}
{{- fail (printf "%s: %v is a number: write a size in quotes, such as \"1536Mi\" or \"25Gi\"" $key $size) -}}
{{- end -}}
{{- $fits := regexMatch "^[0-9]+(\\.[0-9]+)?(k|[MGTPE]|[KMGTPE]i)?$" (toString $size) -}}
{{- if and $size (not (and $fits (ge (include "tidegate.bytes" $size | float64) 1.0))) -}}
{{- fail (printf "%s: %s is no size of Kubernetes: write a number with Mi or Gi, such as 1536Mi or 25Gi" $key $size) -}}
{{- end -}}
{{- end -}}
{{- $limit := dig "limits" "memory" "" (default dict .Values.resources) -}}
{{- $shared := .Values.sharedMemory.size -}}
{{- if and $limit $shared (le (include "tidegate.bytes" $limit | float64) (include "tidegate.bytes" $shared | float64)) -}}
{{- fail (printf "resources.limits.memory: %v is not more than sharedMemory.size, %s, whose pages count as memory of the container" $limit $shared) -}}
{{- end -}}
{{- end -}}

{{- /* What the chart writes itself would stand there twice. */ -}}
{{- define "tidegate.checkNames" -}}
{{- $labels := keys (fromYaml (include "tidegate.labels" .)) -}}
{{- $tables := dict
  "podLabels" .Values.podLabels
  "podAnnotations" .Values.podAnnotations
  "serviceMonitor.labels" .Values.serviceMonitor.labels
  "prometheusRule.labels" .Values.prometheusRule.labels
  "grafanaDashboard.labels" .Values.grafanaDashboard.labels -}}
{{- range $table, $entries := $tables -}}
{{- range $key, $_ := $entries -}}
{{- if has $key (concat $labels (list "checksum/config" "checksum/admin-token")) -}}
{{- fail (printf "%s: the chart sets %s itself" $table $key) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $taken := dict
  "extraEnv" (list "PORT" "BIND" "GRACEFUL_TIMEOUT" "TIDEGATE_ADMIN_TOKEN")
  "extraVolumes" (list "config" "data" "tmp" "shm")
  "initContainers" (list "tidegate") -}}
{{- range $list, $names := $taken -}}
{{- range index $.Values $list -}}
{{- if has .name $names -}}
{{- fail (printf "%s: the chart sets %s itself" $list .name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
