#!/bin/sh
# The stages of GitLab's custom executor, over one lease for each job:
#   executor.sh config | prepare | run SCRIPT STAGE | cleanup
set -eu
umask 077
: "${TMPDIR:?is the directory that the runner makes for each job}"
lease=$TMPDIR/lease.json key=$TMPDIR/key known_hosts=$TMPDIR/known_hosts lost=$TMPDIR/lost
job=gitlab-job-${CUSTOM_ENV_CI_JOB_ID:?is the id of the job}
case $job in *[!a-z0-9-]*) echo "\"$job\" has characters that no id has" >&2; exit 1 ;; esac
failure=${SYSTEM_FAILURE_EXIT_CODE:-2} renewer=''
functions=$(dirname "$0")/with-node.sh
[ -e "$functions" ] || functions=$(dirname "$0")/../shell/with-node.sh # where it was written
NODEPOOL_FUNCTIONS_ONLY=yes
work=$TMPDIR
. "$functions" # api, no_room, renew, keep, ttl

# MEMBER: of the lease; fails if no answer has one
field() { jq -ers ".[0]$1" "$lease"; }

# SECONDS TO WAIT: the same lease each time. If nothing renews it, it gives up, or expires, after the time to live
request() {
  jq -nc --arg name "${CUSTOM_ENV_NODEPOOL_LABEL:-${NODEPOOL_LABEL:-}}" --argjson ttl "$ttl" --argjson wait "$1" \
    --arg reason "GitLab job ${CUSTOM_ENV_CI_JOB_URL:-$CUSTOM_ENV_CI_JOB_ID}" \
    '{labels: [$name], ttl: $ttl, give_up: $ttl, reason: $reason, wait: $wait}' >"$TMPDIR/body"
  api POST /leases -H "Idempotency-Key: $(cat "$key")" -H 'Content-Type: application/json' -d "@$TMPDIR/body" >"$lease" ||
    { cat "$lease" >&2; return 1; }
  id=$(field .id)
}

# COMMAND: on the node
on_node() {
  ssh -o BatchMode=yes -o UserKnownHostsFile="$known_hosts" -o StrictHostKeyChecking=yes -o ServerAliveInterval=15 \
    ${NODEPOOL_SSH_KEY:+-i "$NODEPOOL_SSH_KEY"} -p "$(field .nodes[0].port)" \
    -l "$(field .nodes[0].username)" -- "$(field .nodes[0].host)" "$1"
}

prepare() {
  od -An -N16 -tx1 /dev/urandom | tr -d ' \n' >"$key" # the server makes one lease of all requests with this key
  until request 20; do no_room "$(cat "$lease")" || exit 1; done
  while [ "$(field .state)" = waiting ]; do
    echo "Waiting for a node: $(field .labels[0])"
    renew >/dev/null # keeps its place
    request 20
  done
  [ "$(field .state)" = active ] || { echo "No node: $(field .end_reason)" >&2; exit 1; }
  jq -r '.nodes[0].known_hosts[]' "$lease" >"$known_hosts"
  on_node true </dev/null
  echo "Running on $(field .nodes[0].host), lease $id"
}

# SCRIPT STAGE
run() {
  id=$(field .id) asked=$(date +%s)
  renew >/dev/null
  keep </dev/null >/dev/null 2>&1 &
  renewer=$!
  trap interrupted INT TERM HUP
  on_node "echo \$\$ >.$job.pid; exec bash" <"$1" &
  status=0
  wait $! || status=$?
  [ $status -ne 255 ] || { echo "The connection to the node is lost, or stage $2 ended with 255" >&2; exit 1; }
  [ $status -ne 0 ] || return 0
  [ -z "${BUILD_EXIT_CODE_FILE:-}" ] || echo $status >"$BUILD_EXIT_CODE_FILE"
  failure=${BUILD_FAILURE_EXIT_CODE:-1}
  exit $status
}

# A cancelled job: ends the session on the node with all its processes
interrupted() {
  trap '' INT TERM HUP
  [ ! -s "$lost" ] || cat "$lost" >&2
  on_node "kill -s TERM -- -\$(cat .$job.pid)" </dev/null || kill "$!" || : # it has not begun: ends its connection
  [ "$!" = "$renewer" ] || wait $! || : # $! knows the session from its first moment
  exit 1
}

cleanup() {
  [ -s "$key" ] || return 0
  field .id >/dev/null 2>&1 || request 0 2>/dev/null || return 0 # the answer was lost: ask for the id again
  [ ! -s "$known_hosts" ] || on_node "rm -rf /tmp/$job .$job.pid" </dev/null || : # of a machine that others use next
  api DELETE "/leases/$(field .id)" >/dev/null
}

finish() {
  status=$?
  [ -z "$renewer" ] || kill "$renewer" 2>/dev/null || :
  [ $status -eq 0 ] || exit "$failure"
}
trap finish EXIT

case ${1:-} in
  config) jq -nc --arg dir "/tmp/$job" '{driver: {name: "nodepool"}, builds_dir: ($dir + "/builds"), cache_dir: ($dir + "/cache")}' ;;
  prepare) prepare ;;
  run) run "$2" "$3" ;;
  cleanup) cleanup ;;
  *) echo "usage: $0 config | prepare | run SCRIPT STAGE | cleanup" >&2; exit 1 ;;
esac
