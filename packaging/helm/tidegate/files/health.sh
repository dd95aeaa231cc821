# Asks a health page of this pod's admin listener: `bash health.sh live PORT`. What is not 200 is
# printed, and fails. Only bash is needed, and the token stays in the container's environment.
exec 3<>"/dev/tcp/localhost/$2" || exit 1
printf 'GET /health/%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n' "$1" >&3
if [[ -n ${TIDEGATE_ADMIN_TOKEN-} ]]; then
  printf 'Authorization: Bearer %s\r\n' "$TIDEGATE_ADMIN_TOKEN" >&3
fi
printf '\r\n' >&3
mapfile -t lines <&3
[[ ${lines[0]-} == 'HTTP/1.1 200 '* ]] || { printf '%s\n' "${lines[@]}"; exit 1; }
