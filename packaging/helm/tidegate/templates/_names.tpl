{{- /* Names and labels of all objects, and what is asked of values in more than one template. */ -}}
{{- define "tidegate.name" -}}
{{- default .Chart.Name .Values.nameOverride -}}
{{- end -}}

{{- define "tidegate.fullname" -}}
{{- $name := include "tidegate.name" . -}}
{{- $release := .Release.Name | replace "." "-" -}}
{{- $full := ternary $release (printf "%s-%s" $release $name) (contains $name $release) -}}
{{- /* A service begins with a letter; a release may not. */ -}}
{{- if regexMatch "^[0-9]" $full -}}
{{- $full = printf "%s-%s" $name $release -}}
{{- end -}}
{{- /* 52: a StatefulSet adds a hash of 11 to the names of its revisions. */ -}}
{{- default $full .Values.fullnameOverride | trunc 52 | trimAll "-" -}}
{{- end -}}

{{- define "tidegate.selector" -}}
app.kubernetes.io/name: {{ include "tidegate.name" . | quote }}
app.kubernetes.io/instance: {{ quote .Release.Name }}
{{- end -}}

{{- define "tidegate.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | quote }}
{{ include "tidegate.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ quote .Release.Service }}
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
