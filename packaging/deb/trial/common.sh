# common.sh: what the steps of a trial have in common. They read it.

step() { echo "--- $1"; }
fail() {
    echo "error: $1" >&2
    systemctl --no-pager status 'tidegate*' >&2 || true
    journalctl --no-pager -n 40 >&2 || true
    exit 1
}
# until_true WHAT COMMAND…: waits for something that a service does by itself.
until_true() {
    what=$1 tries=0
    shift
    until "$@" >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ $tries -lt 300 ] || fail "waited in vain for $what"
        sleep 0.1
    done
}
ask() { python3 /trial/ask.py "$@"; }
# expect WANTED PORT PATH [TOKEN]: an answer begins with these words.
expect() {
    wanted=$1
    shift
    answer=$(ask "$@") || fail "no answer at $*"
    case $answer in "$wanted"*) ;; *) fail "wanted '$wanted' of $*, got '$answer'" ;; esac
}
property() { systemctl show --property "$1" --value "${2:-tidegate}"; }
now() { date +%s%3N; }
# took WHAT SINCE: prints what a new user has waited, which is to be ten seconds at most.
took() {
    waited=$(($(now) - $2))
    echo "    $1: $waited ms"
    [ $waited -le 10000 ] || fail "$1 took longer than ten seconds"
}

