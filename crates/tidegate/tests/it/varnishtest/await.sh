#!/bin/sh
# await.sh ADMIN NAME=NUMBER: waits until the status page says "NAME": NUMBER; at most 10 s.
tries=0
until curl -s "http://$1/status" | grep -Eq "\"${2%=*}\": ${2#*=}(,|$)"; do
    tries=$((tries + 1))
    [ "$tries" -lt 500 ] || { echo "waited in vain for $2" >&2; exit 1; }
    sleep 0.02
done
