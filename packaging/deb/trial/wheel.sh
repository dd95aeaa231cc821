# wheel.sh: the trial of the wheel, run on the Debian with it beside this file.
set -eu
. /trial/common.sh

step "the wheel's demo answers, in an empty directory and without a network"
useradd --create-home newcomer
# Not by a process between: a signal is to reach the program itself.
as_newcomer="setpriv --reuid newcomer --regid newcomer --init-groups env HOME=/home/newcomer"
begun=$(now)
$as_newcomer python3 -m venv /home/newcomer/.venv
$as_newcomer /home/newcomer/.venv/bin/pip install --quiet --no-index --disable-pip-version-check \
    /trial/tidegate-*.whl
mkdir /home/newcomer/empty
chown newcomer /home/newcomer/empty
cd /home/newcomer/empty
$as_newcomer /home/newcomer/.venv/bin/tidegate demo >/tmp/demo 2>&1 &
demo=$!
lists=/1/recommendations.json
until_true "the demo" ask 8080 $lists
took "from the wheel to the first answer" "$begun"
expect 200 8080 $lists
expect 200 8081 /status
$as_newcomer /home/newcomer/.venv/bin/python -c 'import tidegate; print("    import", tidegate.__name__)'
kill -TERM $demo
wait $demo || fail "the demo did not end well: $(cat /tmp/demo)"
[ -z "$(ls -A /home/newcomer/empty)" ] || fail "the demo left files"
$as_newcomer /home/newcomer/.venv/bin/pip uninstall --quiet --yes tidegate
[ ! -e /home/newcomer/.venv/bin/tidegate ] || fail "the program is still there"
echo "the wheel installs, answers, goes"
