#!/bin/sh
# Leases a node, runs a command of this computer with it, and returns the node however that ends:
#   sh with-node.sh LABEL COMMAND ARGS...
set -eu
umask 077
: "${NODEPOOL_SERVER:?is the address of a launcher, e.g. https://nl01:8005}"
: "${NODEPOOL_TOKEN_FILE:?is the file with your token}"
ttl=${NODEPOOL_TTL:-180} # seconds after which the node of a killed shell is returned; 24 at least

# METHOD PATH [OPTIONS OF CURL]: prints the answer; fails if the server refuses it, or does not answer for a minute. $work is a directory
api() {
  method=$1 path=$2 failed=0
  shift 2
  : >"$work/$method" # curl, which repeats a refused call, leaves the last answer there
  printf 'header = "Authorization: Bearer %s"\n' "$(cat "$NODEPOOL_TOKEN_FILE")" | # not on a command line, which others can read
    curl -K - -o "$work/$method" -sS --fail-with-body --retry 5 --retry-connrefused --retry-max-time 20 --max-time 40 -X "$method" "$@" \
      "${NODEPOOL_SERVER%/}/api/v1$path" || failed=$?
  cat "$work/$method"
  return $failed
}

# ANSWER: waits a moment if it says that nodes of earlier leases count for the token until they are deleted; fails if it does not
no_room() {
  case $1 in *'"code":"nodes-being-deleted"'*) ;; *) return 1 ;; esac
  echo "Waiting until nodes of earlier leases are deleted" >&2
  sleep 2
}

# [OPTIONS OF CURL]: keeps the lease $id for $ttl seconds
renew() { api POST "/leases/$id/renew" -H 'Content-Type: application/json' -d "{\"ttl\":$ttl}" "$@"; }

# Renews the lease, last renewed at $asked, while this shell lives. Ends the shell shortly before the node is lost, also when the
# server is silent; the file $lost has the reason
keep() {
  pause=$((ttl / 4)) until=$((asked + ttl - ttl / 8))
  while sleep "$pause" && kill -0 $$; do
    asked=$(date +%s)
    if answer=$(renew --retry 0 --max-time $((ttl / 12))); then
      pause=$((ttl / 4)) until=$((asked + ttl - ttl / 8))
    else
      pause=$((ttl / 36 + 1))
      case $answer in *'"code":"over"'* | *'"code":"unknown-lease"'*) until=0 ;; esac
    fi
    [ "$(date +%s)" -ge "$until" ] || continue
    echo "$0: the node is lost: ${answer:-the server has not answered for $((ttl - ttl / 8)) s}" >"$lost"
    kill -s TERM $$
    return
  done
}

[ -z "${NODEPOOL_FUNCTIONS_ONLY:-}" ] || return 0 # for another script

[ $# -ge 2 ] || { echo "usage: $0 LABEL COMMAND ARGS..." >&2; exit 2; }
label=$1
shift
case $label in *[!A-Za-z0-9._-]*) echo "$0: \"$label\" is no label" >&2; exit 2 ;; esac

work=$(mktemp -d)
lost=$work/lost
id='' renewer='' requested=''
key=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n') # the server makes one lease of all requests with this key

# SECONDS TO WAIT: the same lease each time. If this shell is killed, it gives up, or expires, after the time to live
request() {
  requested=yes asked=$(date +%s)
  body='{"labels":["'$label'"],"ttl":'$ttl',"give_up":'$ttl',"reason":"with-node.sh","wait":'$1'}'
  answer=$(api POST /leases -H "Idempotency-Key: $key" -H 'Content-Type: application/json' -d "$body") || return
  id=$(field id)
}

# The value of the first member of this name, from an answer on one line
field() { printf '%s\n' "$answer" | grep -o "\"$1\":\"\{0,1\}[^\",}]*" | head -n 1 | sed 's/^[^:]*:"\{0,1\}//; s/^null$//'; }

finish() {
  status=$?
  trap '' INT TERM HUP
  [ -z "$renewer" ] || kill "$renewer" 2>/dev/null || :
  [ ! -s "$lost" ] || cat "$lost" >&2
  [ -n "$id" ] || [ -z "$requested" ] || request 0 >/dev/null 2>&1 || : # the answer was lost: ask for the id again
  [ -z "$id" ] || api DELETE "/leases/$id" --max-time 10 >/dev/null || echo "$0: lease $id ends by itself in $ttl s" >&2
  rm -rf "$work"
  exit "$status"
}

# NUMBER: ends the command, then this shell, with the status of a signal. $! knows the command from its first moment
interrupted() {
  [ -z "${!:-}" ] || { kill -s TERM "$!" 2>/dev/null && wait "$!" || :; }
  exit $((128 + $1))
}
trap finish EXIT
trap 'interrupted 2' INT
trap 'interrupted 15' TERM
trap 'interrupted 1' HUP

answer=''
while request 20 || no_room "$answer"; do
  [ -n "$id" ] || continue
  [ "$(field state)" = waiting ] || break
  renew >/dev/null # keeps its place
done
if [ "$(field state)" != active ]; then
  echo "$0: no node: $answer" >&2
  exit 1
fi

NODEPOOL_NODE_0_IP=$(field host) NODEPOOL_NODE_0_PORT=$(field port) NODEPOOL_NODE_0_USERNAME=$(field username)
NODEPOOL_KNOWN_HOSTS=$work/known_hosts
export NODEPOOL_NODE_0_IP NODEPOOL_NODE_0_PORT NODEPOOL_NODE_0_USERNAME NODEPOOL_KNOWN_HOSTS
printf '%s\n' "$answer" | sed -n 's/.*"known_hosts":\["//p' | sed 's/"\].*//' |
  awk -F '","' '{ for (i = 1; i <= NF; i++) print $i }' >"$NODEPOOL_KNOWN_HOSTS"

keep </dev/null >/dev/null 2>&1 &
renewer=$!
"$@" <&0 &
if wait "$!"; then exit 0; else exit $?; fi
