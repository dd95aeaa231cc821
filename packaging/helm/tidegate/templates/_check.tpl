{{- /* Values that are right alone, and wrong together; and what a schema cannot say in words. */ -}}
{{- define "tidegate.check" -}}
{{- include "tidegate.checkListen" . -}}
{{- include "tidegate.checkPorts" . -}}
{{- include "tidegate.checkSizes" . -}}
{{- include "tidegate.checkNames" . -}}
{{- include "tidegate.checkResources" . -}}
{{- include "tidegate.checkSecrets" . -}}
{{- if and .Values.admin.token (not (regexMatch "^[!-~]{16,}$" .Values.admin.token)) -}}
{{- fail "admin.token: it must have at least 16 characters of ASCII, without blanks: `openssl rand -hex 16` makes one" -}}
{{- end -}}
{{- if and .Values.admin.token .Values.admin.existingSecret -}}
{{- fail "admin.existingSecret: admin.token is set, too: leave one of them out" -}}
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
{{- if and .Values.serviceMonitor.statsd (not (kindIs "map" (fromToml .Values.config).statsd)) -}}
{{- fail "serviceMonitor.statsd: config has no [statsd], so nothing is there to be scraped" -}}
{{- end -}}
{{- if and .Values.autoscaling.enabled (gt (int64 .Values.autoscaling.minReplicas) (int64 .Values.autoscaling.maxReplicas)) -}}
{{- fail "autoscaling.minReplicas: it is more than autoscaling.maxReplicas" -}}
{{- end -}}
{{- end -}}

{{- define "tidegate.checkListen" -}}
{{- $public := include "tidegate.public" . -}}
{{- $admin := include "tidegate.admin" . -}}
{{- $listen := get (fromToml .Values.config) "listen" | default dict -}}
{{- if not (regexMatch "^(0\\.0\\.0\\.0|\\[::\\]):" $public) -}}
{{- fail (printf "config: listen.public is %s, which no other pod reaches: leave it out, or set 0.0.0.0:8080" $public) -}}
{{- end -}}
{{- if not (has (int64 .Values.port) (list (int64 8080) (include "tidegate.portOf" $public | int64))) -}}
{{- fail (printf "port: it is %d, and listen.public in config is %s: leave one of them out" (int64 .Values.port) $public) -}}
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
{{- if and (empty $size) (eq $key "data.size") -}}
{{- fail "data.size: it is empty: write a size, such as 25Gi" -}}
{{- end -}}
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
{{- $variables := list "PORT" "BIND" "GRACEFUL_TIMEOUT" "TIDEGATE_ADMIN_TOKEN" -}}
{{- $volumes := list "config" "data" "tmp" -}}
{{- $paths := list "/var/lib/tidegate" "/var/lib/tidegate/tidegate.toml" "/tmp" -}}
{{- if .Values.credentials.existingSecret -}}
{{- $variables = append $variables "CREDENTIALS_DIRECTORY" -}}
{{- $volumes = append $volumes "credentials" -}}
{{- $paths = append $paths "/run/credentials/tidegate" -}}
{{- end -}}
{{- if .Values.sharedMemory.size -}}
{{- $volumes = append $volumes "shm" -}}
{{- $paths = append $paths "/dev/shm" -}}
{{- end -}}
{{- $taken := dict
  "extraEnv" $variables
  "extraVolumes" $volumes
  "initContainers" (list "tidegate")
  "extraContainers" (list "tidegate") -}}
{{- range $list, $names := $taken -}}
{{- range index $.Values $list -}}
{{- if has .name $names -}}
{{- fail (printf "%s: %s is there already, by the chart or twice here" $list .name) -}}
{{- end -}}
{{- $names = append $names .name -}}
{{- end -}}
{{- end -}}
{{- range .Values.extraVolumes -}}
{{- $volumes = append $volumes .name -}}
{{- end -}}
{{- range .Values.extraVolumeMounts -}}
{{- $path := toString .mountPath | clean -}}
{{- if has $path $paths -}}
{{- fail (printf "extraVolumeMounts: %s is there already, by the chart or twice here" $path) -}}
{{- end -}}
{{- if not (has .name $volumes) -}}
{{- fail (printf "extraVolumeMounts: no volume is called %s: name it in extraVolumes" .name) -}}
{{- end -}}
{{- $paths = append $paths $path -}}
{{- end -}}
{{- end -}}

{{- /* What is asked for may not be more than the limit; the defaults of the chart count, too. */ -}}
{{- define "tidegate.checkResources" -}}
{{- $resources := default dict .Values.resources -}}
{{- $requests := default dict $resources.requests -}}
{{- range $name, $limit := default dict $resources.limits -}}
{{- $request := get $requests $name -}}
{{- if and (not (empty $request)) (gt (include "tidegate.bytes" $request | float64) (include "tidegate.bytes" $limit | float64)) -}}
{{- fail (printf "resources.requests.%s: %v is more than resources.limits.%s, %v: set both" $name $request $name $limit) -}}
{{- end -}}
{{- end -}}
{{- $metric := default dict .Values.autoscaling.metric -}}
{{- if and .Values.autoscaling.enabled (not $metric.name) (not $requests.cpu) -}}
{{- fail "resources.requests.cpu: it is not set, and autoscaling.cpuPercent is a share of it" -}}
{{- end -}}
{{- end -}}

{{- /* A secret in the configuration belongs in a Secret; the name of a file with it is none. */ -}}
{{- define "tidegate.checkSecrets" -}}
{{- $secret := include "tidegate.secretIn" (list "" (fromToml .Values.config) false) | trim -}}
{{- if and $secret (not .Values.configIsSecret) -}}
{{- fail (printf "configIsSecret: config has a password or another secret at %s: set configIsSecret=true, or write ${credential:NAME}" (splitList " " $secret | first)) -}}
{{- end -}}
{{- $named := regexFind "\\$\\{credential:[^}]*\\}" .Values.config -}}
{{- $isElsewhere := regexMatch "\"name\":\"CREDENTIALS_DIRECTORY\"" (toJson .Values.extraEnv) -}}
{{- if and $named (not (or .Values.credentials.existingSecret $isElsewhere)) -}}
{{- fail (printf "credentials.existingSecret: config asks for %s: name the Secret that has it" $named) -}}
{{- end -}}
{{- end -}}

{{- /* The paths of secrets, each with a blank behind it: of a path, what stands there, and whether it is below a table whose values may be credentials. */ -}}
{{- define "tidegate.secretIn" -}}
{{- $path := index . 0 -}}
{{- $here := index . 1 -}}
{{- $key := splitList "." $path | last -}}
{{- $isWithin := or (index . 2) (has $key (list "headers" "environment")) -}}
{{- if kindIs "map" $here -}}
{{- range $key, $below := $here -}}
{{- include "tidegate.secretIn" (list (printf "%s.%s" $path $key | trimPrefix ".") $below $isWithin) -}}
{{- end -}}
{{- else if kindIs "slice" $here -}}
{{- range $here -}}
{{- include "tidegate.secretIn" (list $path . $isWithin) -}}
{{- end -}}
{{- else -}}
{{- $text := toString $here -}}
{{- $isLike := and $isWithin (regexMatch "(?i)(pass|pwd|secret|token|key|auth|cookie|credential|dsn)" $key) -}}
{{- $isNamed := or $isLike (has $key (list "admin_token" "user_key")) -}}
{{- /* Beside the name of a file there is `Bearer` in a header, but no password in an URL. */ -}}
{{- $isOpen := and $text $isNamed (not (contains "${credential:" $text)) -}}
{{- if or $isOpen (regexMatch "(?s)://.*:.+@" (regexReplaceAll "\\$\\{credential:[^}]*\\}" $text "")) -}}
{{- printf "%s " $path -}}
{{- end -}}
{{- end -}}
{{- end -}}
