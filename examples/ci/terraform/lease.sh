#!/bin/sh
# The lease of a terraform_data resource, whose id is in LEASE_KEY:
#   lease.sh create     leases a node of LEASE_LABEL for LEASE_TTL seconds
#   lease.sh release    returns it; nothing to do if it is over
#   lease.sh find       external data source: {"key": ...} on standard input, the node on standard output
set -eu
umask 077
: "${NODEPOOL_SERVER:?is the address of a launcher, e.g. https://nl01:8005}"
: "${NODEPOOL_TOKEN_FILE:?is the file with your token}"
json='Content-Type: application/json'
work=$(mktemp -d)
requested=''

# METHOD PATH [OPTIONS OF CURL]: prints the answer; fails if the server refuses, or does not answer for a minute
api() {
  method=$1 path=$2 failed=0
  shift 2
  : >"$work/$method" # curl, which repeats a refused call, leaves the last answer there
  printf 'header = "Authorization: Bearer %s"\n' "$(cat "$NODEPOOL_TOKEN_FILE")" | # not on a command line
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

# KEY: all leases of this resource, which are one at most
leases() {
  api GET /leases >"$work/leases" || { cat "$work/leases" >&2; return 1; }
  jq -c --arg reason "terraform $1" 'map(select(.reason == $reason))' "$work/leases"
}

find_node() {
  key=$(jq -er .key)
  leases "$key" >"$work/mine"
  jq -c '(.[0] // {state: "ended"}) | (if .state == "active" then .nodes[0] else null end) as $node |
    {id: .id, state: .state, host: $node.host, port: $node.port, username: $node.username,
     known_hosts: (($node.known_hosts // []) | join("\n"))} | map_values(. // "" | tostring)' "$work/mine"
}

release() {
  leases "$LEASE_KEY" >"$work/mine"
  for id in $(jq -r '.[] | select(.state == "waiting" or .state == "active") | .id' "$work/mine"); do
    api DELETE "/leases/$id" >/dev/null
  done
}

# The same lease each time. If this shell is killed, as Terraform does when interrupted, it gives up, or expires, within 3 minutes
request() {
  requested=yes
  jq -nc --arg name "$LEASE_LABEL" --arg reason "terraform $LEASE_KEY" \
    '{labels: [$name], ttl: 180, give_up: 180, reason: $reason, wait: 20}' >"$work/body"
  until api POST /leases -H "Idempotency-Key: $LEASE_KEY" -H "$json" -d "@$work/body" >"$work/lease"; do
    no_room "$(cat "$work/lease")" || { cat "$work/lease" >&2; return 1; }
  done
}

# SECONDS
renew() {
  api POST "/leases/$(jq -r .id "$work/lease")/renew" -H "$json" -d "{\"ttl\": $1}" >"$work/renewed" ||
    { cat "$work/renewed" >&2; return 1; }
}

create() {
  request
  while [ "$(jq -r .state "$work/lease")" = waiting ]; do
    echo "Waiting for a node: $LEASE_LABEL"
    renew 180 # keeps its place
    request
  done
  [ "$(jq -r .state "$work/lease")" = active ] || { echo "No node: $(jq -r .end_reason "$work/lease")" >&2; exit 1; }
  renew "$LEASE_TTL"
}

# Terraform runs no destroy provisioner of a resource that could not be created
finish() {
  status=$?
  trap '' INT TERM HUP
  [ $status -eq 0 ] || [ -z "$requested" ] || release || :
  rm -rf "$work"
  exit $status
}
trap finish EXIT
trap 'exit 143' INT TERM HUP

case ${1:-} in
  create) create ;;
  release) release ;;
  find) find_node ;;
  *) echo "usage: $0 create | release | find" >&2; exit 1 ;;
esac
