{{- /* The pod, which a Deployment and a StatefulSet share. */ -}}
{{- define "tidegate.pod" -}}
metadata:
  labels:
    {{- include "tidegate.labels" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    # A changed configuration replaces the pods.
    checksum/config: {{ include (print $.Template.BasePath "/config.yaml") . | sha256sum }}
    checksum/admin-token: {{ include (print $.Template.BasePath "/admin-token.yaml") . | sha256sum }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  automountServiceAccountToken: false
  # Variables with the addresses of other services are nobody's settings.
  enableServiceLinks: false
  {{- with .Values.serviceAccountName }}
  serviceAccountName: {{ quote . }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ quote . }}
  {{- end }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  terminationGracePeriodSeconds: {{ add .Values.stop.pauseSeconds .Values.stop.drainSeconds .Values.stop.marginSeconds }}
  securityContext:
    runAsNonRoot: true
    runAsUser: {{ int64 .Values.security.user }}
    runAsGroup: {{ int64 .Values.security.group }}
    fsGroup: {{ int64 .Values.security.group }}
    # A volume of many files is not walked through at each start.
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  {{- with .Values.initContainers }}
  initContainers:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: tidegate
      {{- with .Values.image }}
      image: {{ ternary (printf "%s@%s" .repository .digest) (printf "%s:%s" .repository (default $.Chart.AppVersion .tag)) (not (empty .digest)) | quote }}
      imagePullPolicy: {{ .pullPolicy }}
      {{- end }}
      # Relative paths of the configuration are in the folder of this file.
      command: [tidegate, serve, -c, /var/lib/tidegate/tidegate.toml]
      {{- include "tidegate.environment" . | nindent 6 }}
      ports:
        - name: http
          containerPort: {{ include "tidegate.portOf" (include "tidegate.public" .) }}
        - name: admin
          containerPort: {{ include "tidegate.portOf" (include "tidegate.admin" .) }}
        {{- range .Values.service.extraPorts }}
        - name: {{ quote .name }}
          containerPort: {{ int64 .port }}
          protocol: {{ default "TCP" .protocol }}
        {{- end }}
      {{- include "tidegate.probes" . | nindent 6 }}
      lifecycle:
        preStop:
          # Until every proxy knows that the pod leaves, new connections still come here.
          sleep:
            seconds: {{ int64 .Values.stop.pauseSeconds }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      {{- with .Values.resources }}
      resources:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- include "tidegate.mounts" . | nindent 6 }}
    {{- with .Values.extraContainers }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- include "tidegate.volumes" . | nindent 2 }}
  {{- include "tidegate.placement" . | nindent 2 }}
{{- end -}}

{{- define "tidegate.environment" -}}
env:
  - name: PORT
    value: {{ include "tidegate.portOf" (include "tidegate.public" .) | quote }}
  # Empty, so that a variable of `extraEnvFrom` moves no listener.
  - name: BIND
    value: ""
  - name: GRACEFUL_TIMEOUT
    value: {{ int64 .Values.stop.drainSeconds | quote }}
  {{- if include "tidegate.hasToken" . }}
  - name: TIDEGATE_ADMIN_TOKEN
    valueFrom:
      secretKeyRef:
        name: "{{ include "tidegate.tokenSecret" . }}"
        key: {{ quote .Values.admin.tokenKey }}
  {{- end }}
  {{- if .Values.credentials.existingSecret }}
  - name: CREDENTIALS_DIRECTORY
    value: /run/credentials/tidegate
  {{- end }}
  {{- with .Values.extraEnv }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .Values.extraEnvFrom }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "tidegate.mounts" -}}
volumeMounts:
  - name: data
    mountPath: /var/lib/tidegate
  - name: config
    mountPath: /var/lib/tidegate/tidegate.toml
    subPath: tidegate.toml
    readOnly: true
  - name: tmp
    mountPath: /tmp
  {{- if .Values.credentials.existingSecret }}
  - name: credentials
    mountPath: /run/credentials/tidegate
    readOnly: true
  {{- end }}
  {{- if .Values.sharedMemory.size }}
  - name: shm
    mountPath: /dev/shm
  {{- end }}
  {{- with .Values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "tidegate.volumes" -}}
volumes:
  - name: config
    {{- if .Values.configIsSecret }}
    secret:
      secretName: "{{ include "tidegate.fullname" . }}"
    {{- else }}
    configMap:
      name: "{{ include "tidegate.fullname" . }}"
    {{- end }}
  - name: tmp
    emptyDir: {}
  {{- with .Values.credentials.existingSecret }}
  - name: credentials
    secret:
      secretName: {{ quote . }}
      defaultMode: 0440
  {{- end }}
  {{- if not .Values.data.persistent }}
  - name: data
    emptyDir:
      sizeLimit: {{ quote .Values.data.size }}
  {{- end }}
  {{- with .Values.sharedMemory.size }}
  # Its pages count as memory of the container.
  - name: shm
    emptyDir:
      medium: Memory
      sizeLimit: {{ quote . }}
  {{- end }}
  {{- with .Values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "tidegate.placement" -}}
{{- $keys := dict "host" "kubernetes.io/hostname" "zone" "topology.kubernetes.io/zone" -}}
{{- if or .Values.topologySpread.host .Values.topologySpread.zone -}}
topologySpreadConstraints:
  {{- range $place := list "host" "zone" }}
  {{- with index $.Values.topologySpread $place }}
  - maxSkew: 1
    topologyKey: {{ index $keys $place }}
    whenUnsatisfiable: {{ . }}
    labelSelector:
      matchLabels:
        {{- include "tidegate.selector" $ | nindent 8 }}
    # Only pods of the same revision are counted, so a rolling update stays spread.
    matchLabelKeys: [{{ ternary "controller-revision-hash" "pod-template-hash" $.Values.data.persistent }}]
  {{- end }}
  {{- end }}
{{- end }}
{{- range $key := list "nodeSelector" "tolerations" "affinity" }}
{{- with index $.Values $key }}
{{ $key }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end -}}
