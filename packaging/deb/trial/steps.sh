# steps.sh: the trial of the package, run on the Debian with it in /package.deb.
set -eu
. /trial/common.sh

step "a fresh installation serves"
python3 -m http.server --bind 127.0.0.1 --directory /trial 9000 >/dev/null 2>&1 &
upstream=$!
until_true "an upstream" ask 9000 /
begun=$(now)
dpkg -i /package.deb
[ "$(systemctl is-enabled tidegate)" = enabled ] || fail "tidegate is not enabled"
[ "$(systemctl is-active tidegate)" = active ] || fail "tidegate does not run"
[ "$(systemctl is-enabled tidegate.socket || true)" = disabled ] || fail "the socket is enabled"
expect 200 8080 /
took "from the package to the first answer" "$begun"
expect 200 8081 /status
kill $upstream
expect 50 8080 /never-asked
[ "$(stat -c %U:%a /var/lib/tidegate)" = tidegate:750 ] || fail "data are not tidegate's own"
[ "$(stat -c %U:%a /etc/tidegate/credentials)" = root:700 ] || fail "credentials are not root's"
[ -d /var/lib/tidegate/data/journal ] || fail "there is no journal"

step "a configuration with a secret and Python workers"
mkdir -p /srv/app
cp /trial/app.py /srv/app/main.py
echo 0123456789abcdef0123 | install -m 600 /dev/stdin /etc/tidegate/credentials/token
cat >/etc/tidegate/tidegate.toml <<'TOML'
root = "/var/lib/tidegate"
[listen]
public = "127.0.0.1:8080"
admin = "127.0.0.1:8081"
admin_token = "${credential:token}"
[journal]
[[upstream]]
name = "app"
python = "main:app"
app_dir = "/srv/app"
workers = 1
niceness = 5
[[route]]
path = "/{*rest}"
to = "upstream:app"
[[rollup]]
name = "hits"
by = ["minute"]
[[sink]]
name = "main"
url = "sqlite:data/events.db"
TOML
! tidegate config check -c /etc/tidegate/tidegate.toml 2>/tmp/said || fail "no secret was missed"
grep -q 'no credential `token`' /tmp/said || fail "the secret that is missing is not named"
CREDENTIALS_DIRECTORY=/etc/tidegate/credentials tidegate config check -c /etc/tidegate/tidegate.toml
systemd-run --quiet --pipe --wait -p User=tidegate \
    -p LoadCredential=tidegate:/etc/tidegate/credentials -p WorkingDirectory=/var/lib/tidegate \
    tidegate config check -c /etc/tidegate/tidegate.toml || fail "systemd passes no secret to a command"
systemctl restart tidegate
answers() { ask 8080 / 2>/dev/null | grep -q '^200'; }
until_true "a worker" answers
expect "200 nice=5 shared=True callback=7" 8080 /
expect 401 8081 /status
expect 200 8081 /status 0123456789abcdef0123
case $(property StatusText) in "serving on 127.0.0.1:8080"*) ;; *) fail "systemd has no status" ;; esac
counted() { [ -s /var/lib/tidegate/data/events.db ]; }
until_true "the record process" counted

step "an upgrade keeps configuration and data, and restarts the service"
before=$(property MainPID)
cp /etc/tidegate/tidegate.toml /tmp/before.toml
dpkg -i /package.deb
[ "$(property MainPID)" != "$before" ] || fail "the old program still runs"
cmp /tmp/before.toml /etc/tidegate/tidegate.toml || fail "the configuration was replaced"
until_true "a worker" answers
[ -s /var/lib/tidegate/data/events.db ] || fail "data are gone"

step "an upgrade leaves what was stopped, and what runs where the new program refuses the file"
systemctl stop tidegate
dpkg -i /package.deb
[ "$(systemctl is-active tidegate || true)" = inactive ] || fail "what was stopped was started"
systemctl start tidegate
until_true "a worker" answers
echo 'rooot = "x"' >>/etc/tidegate/tidegate.toml
before=$(property MainPID)
dpkg -i /package.deb 2>/tmp/said
grep -q 'was not restarted' /tmp/said || fail "the upgrade does not say that it refuses the file"
[ "$(property MainPID)" = "$before" ] || fail "the program that ran is gone"
cp /tmp/before.toml /etc/tidegate/tidegate.toml

step "a port that is taken for a while is waited for"
systemctl stop tidegate
python3 -m http.server --bind 127.0.0.1 --directory /trial 8080 >/dev/null 2>&1 &
holder=$!
until_true "another server on the port" ask 8080 /
! systemctl start tidegate 2>/dev/null || fail "the port was not taken"
tried() { [ "$(property NRestarts)" -ge 6 ]; }
until_true "six tries" tried
kill $holder
until_true "a worker" answers

step "a process that hangs is ended by the watchdog and started again"
mkdir -p /etc/systemd/system/tidegate.service.d
printf '[Service]\nWatchdogSec=2\n' >/etc/systemd/system/tidegate.service.d/watchdog.conf
systemctl daemon-reload
systemctl restart tidegate
kill -STOP "$(property MainPID)"
restarted() { [ "$(property NRestarts)" -ge 1 ]; }
until_true "another start" restarted
until_true "a worker" answers
rm -r /etc/systemd/system/tidegate.service.d
systemctl daemon-reload

step "with the sockets, a restart refuses no connection"
systemctl stop tidegate
systemctl enable --now tidegate.socket tidegate-admin.socket 2>/dev/null
systemctl start tidegate
until_true "a worker" answers
(
    while [ ! -e /tmp/done ]; do
        ask 8080 / >>/tmp/answers || echo refused >>/tmp/answers
    done
) 2>/dev/null &
systemctl restart tidegate
systemctl restart tidegate
touch /tmp/done
wait
! grep -q refused /tmp/answers || fail "a connection was refused"
[ -s /tmp/answers ] || fail "nothing was asked"

step "with the sockets, a wrong configuration keeps connections until it is mended"
echo 'rooot = "x"' >>/etc/tidegate/tidegate.toml
! systemctl restart tidegate 2>/dev/null || fail "a wrong configuration was taken"
for client in 1 2 3 4 5 6 7 8; do ask 8080 / >/tmp/answer.$client 2>&1 & done
restarts=$(property NRestarts)
tried() { [ "$(property NRestarts)" -ge $((restarts + 3)) ]; }
until_true "three more tries" tried
cp /tmp/before.toml /etc/tidegate/tidegate.toml
until_true "a worker" answers
for unit in tidegate.socket tidegate-admin.socket; do
    [ "$(systemctl is-active $unit)" = active ] || fail "$unit does not listen any more"
done
answered() { [ "$(grep -c '^200' /tmp/answer.*  | grep -c ':1$')" = 8 ]; }
until_true "answers to the clients that waited" answered

step "the other services run by files of their own"
! systemctl start tidegate-statsd 2>/dev/null || [ "$(property ActiveState tidegate-statsd)" = inactive ] ||
    fail "statsd runs without a file"
cp /usr/share/doc/tidegate/examples/*.toml /etc/tidegate/
mkdir /var/log/nginx
echo '192.0.2.7 - - [21/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "-"' \
    >/var/log/nginx/access.log
for unit in tidegate-statsd tidegate-events; do
    systemctl enable --now $unit 2>/dev/null || fail "$unit does not start"
    [ "$(property ActiveState $unit)" = active ] || fail "$unit does not run"
done
log_counted() { [ -s /var/lib/tidegate/data/log.db ]; }
until_true "a count of the log" log_counted
systemctl reload tidegate-statsd || fail "statsd does not read its file again"
[ "$(property ActiveState tidegate-statsd)" = active ] || fail "statsd does not go on"

step "a wrong configuration is not started again and again"
systemctl stop tidegate.socket tidegate-admin.socket tidegate
systemctl disable tidegate.socket tidegate-admin.socket 2>/dev/null
echo 'rooot = "x"' >>/etc/tidegate/events.toml
! systemctl restart tidegate-events 2>/dev/null || fail "a wrong configuration was taken"
ended() { [ "$(property ActiveState tidegate-events)" = failed ]; }
until_true "the end of tidegate-events" ended
[ "$(property ExecMainStatus tidegate-events)" = 78 ] || fail "its exit code is not 78"

step "a removal keeps configuration and data"
systemctl start tidegate
dpkg -r tidegate
[ "$(systemctl is-active tidegate || true)" != active ] || fail "tidegate runs without a package"
[ -e /etc/tidegate/tidegate.toml ] || fail "the configuration is gone"
[ -s /var/lib/tidegate/data/events.db ] || fail "data are gone"

step "an installation after a removal serves again"
dpkg -i /package.deb
[ "$(systemctl is-active tidegate)" = active ] || fail "tidegate does not run"
dpkg -r tidegate

step "a purge removes both"
dpkg -P tidegate
[ ! -e /etc/tidegate ] || fail "/etc/tidegate is still there"
[ ! -e /var/lib/tidegate ] || fail "/var/lib/tidegate is still there"
systemctl daemon-reload
! systemctl list-unit-files --no-legend | grep tidegate || fail "a unit is left"
echo "the package installs, serves, upgrades, goes"
