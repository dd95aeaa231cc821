{{- /* Values as they stand in a manifest. */ -}}

{{- /* A text, quoted and in ASCII: no character of it ends the scalar. A line of it stays a line. */ -}}
{{- define "tidegate.text" -}}
{{- $lines := list -}}
{{- range splitList "\n" . -}}
{{- $line := printf "%+q" . | trimPrefix "\"" | trimSuffix "\"" -}}
{{- $lines = append $lines (regexReplaceAll "^ " $line "\\ ") -}}
{{- end -}}
"{{ join "\\n\\\n" $lines }}"
{{- end -}}

{{- /* The bytes of a size, as Kubernetes (1Gi) or Tidegate (1GiB) writes it. */ -}}
{{- define "tidegate.bytes" -}}
{{- $text := toString . | trim -}}
{{- if regexMatch "(?i)b$" $text -}}
{{- $text = upper $text | trimSuffix "B" | replace "I" "i" -}}
{{- end -}}
{{- $number := regexFind "^[0-9.]+([eE][-+]?[0-9]+)?" $text -}}
{{- $units := dict "m" 0.001 "" 1 "k" 1e3 "K" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18 -}}
{{- $binary := dict "Ki" 0x1p10 "Mi" 0x1p20 "Gi" 0x1p30 "Ti" 0x1p40 "Pi" 0x1p50 "Ei" 0x1p60 -}}
{{- mulf (float64 $number) (get (merge $units $binary) (trimPrefix $number $text | trim)) -}}
{{- end -}}
