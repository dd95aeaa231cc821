#!/bin/sh
# try.sh PACKAGE WHEEL DIR: installs a package on a clean Debian that systemd runs, uses it,
# upgrades it, removes and purges it; then the wheel, and its demo in an empty directory.
# `cargo xtask package try` calls it, as root.
#
# The Debian is kept in DIR/debian, and a copy of it is used. Its systemd is the first process of
# namespaces of its own, without a network, and nothing of it outlives this script.
set -eu

package=$1 wheel=$2 dir=$3
here=$(cd "$(dirname "$0")" && pwd)
root=$dir/root
[ "$(id -u)" = 0 ] || {
    echo "error: only root can make a Debian and run it" >&2
    exit 1
}

command -v debootstrap >/dev/null || {
    echo "error: debootstrap is missing; install it with: apt-get install -y debootstrap" >&2
    exit 1
}

mkdir -p "$dir"
added=systemd,systemd-sysv,dbus,python3,python3-venv
if [ "$(cat "$dir/debian/made" 2>/dev/null)" != "$added" ]; then
    rm -rf "$dir/debian"
    debootstrap --variant=minbase --include=$added bookworm "$dir/debian" >"$dir/debootstrap.log"
    echo "$added" >"$dir/debian/made"
fi
rm -rf "$root"
cp -a --reflink=auto "$dir/debian" "$root"
cp "$package" "$root/package.deb"
cp -r "$here/trial" "$root/trial"
# pip reads a wheel's name.
cp "$wheel" "$root/trial/"

# A control group of its own, in which systemd makes those of its services.
unified=$(grep -o ' /[^ ]* [^-]* - cgroup2 ' /proc/self/mountinfo | head -n 1 | cut -d ' ' -f 2)
group=$unified/tidegate-try
mkdir -p "$group"
sh -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' sh "$group" \
    unshare --pid --mount --uts --ipc --net --cgroup --fork --kill-child \
    sh "$here/trial/boot.sh" "$root" >"$dir/boot.log" 2>&1 &
machine=$!
clear_away() {
    kill -KILL $machine 2>/dev/null || true
    wait $machine 2>/dev/null || true
    # The kernel takes the last processes of a namespace away by and by.
    tries=0
    while [ -d "$group" ] && [ $tries -lt 100 ]; do
        tries=$((tries + 1))
        find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || sleep 0.1
    done
    rm -rf "$root"
}
trap clear_away EXIT

# Its first process is the only child, once the namespaces are there.
first=
within() { nsenter --target "$first" --all "$@"; }
tries=0
until [ -n "$first" ] && within systemctl is-system-running >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ $tries -lt 600 ] || {
        cat "$dir/boot.log" >&2
        echo "error: systemd does not come up" >&2
        exit 1
    }
    sleep 0.1
    first=$(cat "/proc/$machine/task/$machine/children" 2>/dev/null | tr -d ' ')
done
within sh /trial/steps.sh
within sh /trial/wheel.sh
