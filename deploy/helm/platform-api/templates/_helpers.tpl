{{- define "platform.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- define "platform.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" }}
{{- else if contains (include "platform.name" .) .Release.Name }}
{{- .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "platform.name" .) | trunc 50 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "platform.selectorLabels" -}}
app.kubernetes.io/name: {{ include "platform.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "platform.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "platform.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "platform.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "platform.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "platform.secretName" -}}
{{- default (include "platform.fullname" .) .Values.secrets.existingSecret }}
{{- end }}

{{- define "platform.image" -}}
{{- with .Values.image }}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ default $.Chart.AppVersion .tag }}{{ end }}
{{- end }}
{{- end }}

{{/* What every pod of the chart has: the restricted profile of the Pod Security Standards. */}}
{{- define "platform.podSecurity" -}}
automountServiceAccountToken: false
# Kubernetes would inject PLATFORM_SERVICE_HOST, which is also the name of a setting.
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile:
    type: RuntimeDefault
{{- end }}

{{- define "platform.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}

{{/*
The connections to PostgreSQL of each process. Beside the replicas there is one pod that starts during a rolling update,
and there are up to two that end. Each process has one more connection, for the checks of /readyz.
*/}}
{{- define "platform.databaseConnections" -}}
{{- $replicas := ternary .Values.autoscaling.maxReplicas .Values.replicaCount .Values.autoscaling.enabled | int }}
{{- $processes := mul (add $replicas 3) (default 1 .Values.config.workers | int) }}
{{- $share := sub (div (int .Values.database.maxConnections) $processes) 1 }}
{{- if lt $share 8 }}
{{- fail (printf "database.maxConnections=%d leaves %d connections for each of %d processes, and 8 are needed: raise it with PostgreSQL's max_connections, use fewer replicas, or a pooler (docs/scaling.md)" (int .Values.database.maxConnections) $share $processes) }}
{{- end }}
{{- min $share 48 }}
{{- end }}

{{/* The secrets, as variables. */}}
{{- define "platform.env" -}}
- name: PLATFORM_DATABASE
  valueFrom:
    secretKeyRef:
      name: {{ include "platform.secretName" . }}
      key: database
- name: PLATFORM_SECRET_KEY
  valueFrom:
    secretKeyRef:
      name: {{ include "platform.secretName" . }}
      key: secretKey
      optional: true
- name: PLATFORM_PAGE_TOKEN_KEY
  valueFrom:
    secretKeyRef:
      name: {{ include "platform.secretName" . }}
      key: pageTokenKey
      optional: true
{{- end }}

