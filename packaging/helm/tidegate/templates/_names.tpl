{{- define "tidegate.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "tidegate.fullname" -}}
{{- $name := include "tidegate.name" . -}}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- /* 52: a StatefulSet adds a hash of 11 to the names of its revisions. */ -}}
{{- default $full .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{- define "tidegate.selector" -}}
app.kubernetes.io/name: {{ include "tidegate.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "tidegate.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "tidegate.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "tidegate.tokenSecret" -}}
{{- default (printf "%s-admin" (include "tidegate.fullname" .)) .Values.admin.existingSecret -}}
{{- end -}}

{{- define "tidegate.hasToken" -}}
{{- if or .Values.admin.token .Values.admin.existingSecret }}true{{ end -}}
{{- end -}}

{{- define "tidegate.kind" -}}
{{- ternary "StatefulSet" "Deployment" .Values.data.persistent -}}
{{- end -}}
