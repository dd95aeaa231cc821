{{- /* What the chart needs of the configuration: the two addresses. Elsewhere: keys that it refuses (_check.tpl), and those that the notes look at (_warnings.tpl). Everything else is Tidegate's. */ -}}

{{- define "tidegate.public" -}}
{{- include "tidegate.listen" (list .Values.config "public" (printf "0.0.0.0:%d" (int64 .Values.port))) -}}
{{- end -}}

{{- define "tidegate.admin" -}}
{{- include "tidegate.listen" (list .Values.config "admin" "127.0.0.1:8081") -}}
{{- end -}}

{{- /* An address of `listen`: of the text of the configuration, a key, and its default. */ -}}
{{- define "tidegate.listen" -}}
{{- $config := fromToml (first .) -}}
{{- with $config.Error -}}
{{- fail (printf "config: this is not TOML: %v" .) -}}
{{- end -}}
{{- $listen := get $config "listen" | default dict -}}
{{- if not (kindIs "map" $listen) -}}
{{- fail "config: listen is no table: write [listen]" -}}
{{- end -}}
{{- $address := toString (ternary (get $listen (index . 1)) (last .) (hasKey $listen (index . 1))) -}}
{{- $octet := "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])" -}}
{{- $ip := printf "(%s(\\.%s){3}|\\[[0-9a-fA-F]*:[0-9a-fA-F:.]+(%%[0-9]+)?\\])" $octet $octet -}}
{{- $port := include "tidegate.portOf" $address | int64 -}}
{{- if or (not (regexMatch (printf "^%s:[0-9]+$" $ip) $address)) (lt $port 1) (gt $port 65535) -}}
{{- fail (printf "config: listen.%s is %s, which is no address here: write IP:PORT, such as %s" (index . 1) $address (last .)) -}}
{{- end -}}
{{- $address -}}
{{- end -}}

{{- define "tidegate.portOf" -}}
{{- regexFind "[1-9][0-9]*$" . -}}
{{- end -}}

{{- define "tidegate.isLoopback" -}}
{{- if regexMatch "^(127\\.|\\[[0:]*1\\]:|(?i)\\[[0:]*ffff:(127\\.|7f))" . }}true{{ end -}}
{{- end -}}
