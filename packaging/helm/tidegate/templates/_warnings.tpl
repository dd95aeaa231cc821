{{- /* What can work, and is a mistake as a rule: lines of the notes. */ -}}
{{- define "tidegate.warnings" -}}
{{- $config := fromToml .Values.config -}}
{{- if and (not .Values.data.persistent) (kindIs "map" $config.journal) }}
The journal is on a volume that ends with its pod (data.persistent = false).
{{- end }}
{{- $journal := include "tidegate.filled" (list $config "20GB" (list "keep" "bytes") "journal") -}}
{{- $disk := include "tidegate.filled" (list $config "10GB" (list "bytes") "cache" "disk") -}}
{{- $filled := addf (float64 $journal) (float64 $disk) -}}
{{- if gt $filled (include "tidegate.bytes" .Values.data.size | float64) }}
data.size is {{ .Values.data.size }}: too small for the {{ divf $filled 1e9 }} GB that journal.keep.bytes (by default 20GB) and cache.disk.bytes (10GB) allow.
{{- end }}
{{- if include "tidegate.asksItself" . }}
A server of an upstream or a sink is on 127.0.0.1 or localhost, which is the pod itself: no other container runs there, so name a service, or put one into extraContainers.
{{- end }}
{{- if include "tidegate.losesClients" . }}
Clients may come with the address of a machine of the cluster, and then share what one client may hold: set service.externalTrafficPolicy to Local, or name what forwards them in listen.trusted.
{{- end }}
{{- if and .Values.networkPolicy.adminFrom (include "tidegate.isLoopback" (include "tidegate.admin" .)) }}
networkPolicy.adminFrom lets nobody in: listen.admin is a loopback address.
{{- end }}
{{- if and .Values.extraContainers (not (include "tidegate.hasToken" .)) }}
The other containers of the pod reach the admin listener, which asks for no token: set admin.token.
{{- end }}
{{- with (fromToml .Values.config).root }}
root is {{ . }} in config: only /var/lib/tidegate is on the volume of the chart.
{{- end }}
{{- range include "tidegate.uncovered" . | splitList " " | compact }}
No entry of ingress.tls names {{ . }}: it gets the certificate that the controller has for any name.
{{- end }}
{{- if and .Values.ingress.enabled (include "tidegate.trustsNobody" .) }}
Clients come with the address of the ingress controller, and then share what one client may hold: name its networks in listen.trusted.
{{- end }}
{{- end -}}

{{- /* What stands at a path below a table, as JSON; "" if nothing does. */ -}}
{{- define "tidegate.at" -}}
{{- $here := first . -}}
{{- range rest . -}}
{{- if kindIs "map" $here }}{{ $here = get $here . }}{{ else }}{{ $here = "" }}{{ end -}}
{{- end -}}
{{- toJson $here -}}
{{- end -}}

{{- /* The bytes that the table at a path allows on the volume: of the configuration, their default, their key, and the path. */ -}}
{{- define "tidegate.filled" -}}
{{- $table := include "tidegate.at" (concat (list (first .)) (slice . 3)) -}}
{{- if and (hasPrefix "{" $table) (not (hasPrefix "/" (toString (fromJson $table).dir))) -}}
{{- $told := include "tidegate.at" (concat (list (fromJson $table)) (index . 2)) | trimAll "\"" -}}
{{- include "tidegate.bytes" (default (index . 1) $told) -}}
{{- else -}}
0
{{- end -}}
{{- end -}}

{{- /* Whether an upstream or a sink is the pod itself, though no other container runs there. */ -}}
{{- define "tidegate.asksItself" -}}
{{- $isAlone := not (or .Values.extraContainers (regexMatch "\"restartPolicy\":\"Always\"" (toJson .Values.initContainers))) -}}
{{- $config := fromToml .Values.config -}}
{{- $own := "(127\\.|localhost[:/\"]|0\\.0\\.0\\.0[:/\"]|\\[::1?\\])" -}}
{{- if and $isAlone (kindIs "slice" $config.upstream) -}}
{{- range $config.upstream }}{{ if regexMatch (printf "(?i)\"%s" $own) (toJson .servers) }}true{{ end }}{{ end -}}
{{- end -}}
{{- if and $isAlone (kindIs "slice" $config.sink) -}}
{{- range $config.sink }}{{ if regexMatch (printf "(?i)://([^\"]*@)?%s" $own) (toJson .url) }}true{{ end }}{{ end -}}
{{- end -}}
{{- end -}}

{{- /* Whether the cluster may put a machine's address in a client's place, and no header says whose request it is. */ -}}
{{- define "tidegate.losesClients" -}}
{{- $service := .Values.service -}}
{{- if and (ne $service.type "ClusterIP") (ne (default "" $service.externalTrafficPolicy) "Local") -}}
{{- include "tidegate.trustsNobody" . -}}
{{- end -}}
{{- end -}}

{{- /* Whether no header may say whose request it is. */ -}}
{{- define "tidegate.trustsNobody" -}}
{{- if has (include "tidegate.at" (list (fromToml .Values.config) "listen" "trusted")) (list "\"\"" "null" "[]") }}true{{ end -}}
{{- end -}}

{{- /* Hosts of the Ingress that no certificate names, though there are certificates. */ -}}
{{- define "tidegate.uncovered" -}}
{{- $covered := list -}}
{{- range .Values.ingress.tls -}}
{{- $covered = concat $covered (default list .hosts) -}}
{{- end -}}
{{- if and .Values.ingress.enabled $covered -}}
{{- range .Values.ingress.hosts -}}
{{- if not (or (has . $covered) (has (regexReplaceAll "^[^.]*" . "*") $covered)) }}{{ . }} {{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}
