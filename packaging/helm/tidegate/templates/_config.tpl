{{- /* What the chart reads in the configuration: the two addresses. Everything else is Tidegate's. */ -}}

{{- define "tidegate.public" -}}
{{- $listen := dig "listen" dict (fromToml .Values.config) -}}
{{- dig "public" (printf "0.0.0.0:%v" .Values.port) $listen -}}
{{- end -}}

{{- define "tidegate.admin" -}}
{{- dig "admin" "127.0.0.1:8081" (dig "listen" dict (fromToml .Values.config)) -}}
{{- end -}}

{{- define "tidegate.portOf" -}}
{{- regexFind "[0-9]+$" . -}}
{{- end -}}

{{- define "tidegate.isLoopback" -}}
{{- if regexMatch "^(127\\.|\\[::1\\]|localhost:)" . }}true{{ end -}}
{{- end -}}

{{- /* Values that are right alone, and wrong together. */ -}}
{{- define "tidegate.check" -}}
{{- $config := fromToml .Values.config -}}
{{- with $config.Error -}}
{{- fail (printf "config: this is not TOML: %v" .) -}}
{{- end -}}
{{- $listen := dig "listen" dict $config -}}
{{- $public := include "tidegate.public" . -}}
{{- if include "tidegate.isLoopback" $public -}}
{{- fail (printf "config: listen.public is %s, which no other pod reaches: leave it out, or set 0.0.0.0:8080" $public) -}}
{{- end -}}
{{- if hasKey $listen "drain_timeout" -}}
{{- fail "config: listen.drain_timeout is set by the value stop.drainSeconds here, so that the pod lives long enough" -}}
{{- end -}}
{{- if hasKey $listen "admin_token" -}}
{{- fail "config: listen.admin_token is set by the value admin.token or admin.existingSecret here, so that it is in a Secret" -}}
{{- end -}}
{{- $admin := include "tidegate.admin" . -}}
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
{{- if and .Values.admin.token .Values.admin.existingSecret -}}
{{- fail "admin.existingSecret: admin.token is set, too: leave one of them out" -}}
{{- end -}}
{{- if ne (empty .Values.autoscaling.metric.name) (empty .Values.autoscaling.metric.averageValue) -}}
{{- fail "autoscaling.metric: name and averageValue belong together" -}}
{{- end -}}
{{- if gt (int .Values.autoscaling.minReplicas) (int .Values.autoscaling.maxReplicas) -}}
{{- fail "autoscaling.minReplicas: it is more than autoscaling.maxReplicas" -}}
{{- end -}}
{{- end -}}
