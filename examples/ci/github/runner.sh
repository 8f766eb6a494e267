#!/bin/sh
# Leases a node, runs one job of GitHub Actions there in an ephemeral runner, and returns the node:
#   runner.sh LABEL
set -eu
umask 077
: "${GITHUB_REPOSITORY:?is OWNER/NAME}"
: "${GITHUB_TOKEN_FILE:?is the file with a token that may administrate the repository}"
: "${RUNNER_DIRECTORY:?is the unpacked archive of the runner}"
label=${1:?is the label of the node}
id='' work=$(mktemp -d)

# METHOD PATH [OPTIONS OF CURL]
github() {
  method=$1 path=$2
  shift 2
  printf 'header = "Authorization: Bearer %s"\n' "$(cat "$GITHUB_TOKEN_FILE")" | # not on a command line
    curl -K - -sS --fail-with-body --retry 5 --max-time 60 -X "$method" -H 'Accept: application/vnd.github+json' "$@" \
      "${GITHUB_API_URL:-https://api.github.com}/repos/$GITHUB_REPOSITORY/actions/runners$path"
}

# GitHub itself removes a runner that had a job
finish() {
  status=$?
  trap '' INT TERM HUP
  [ -z "$id" ] || github DELETE "/$id" >/dev/null 2>&1 || :
  rm -rf "$work"
  exit $status
}
trap finish EXIT
trap '[ -z "${!:-}" ] || { kill -s TERM "$!"; wait "$!" || :; }; exit 143' INT TERM HUP

jq -nc --arg name "$label-$(od -An -N8 -tx1 /dev/urandom | tr -d ' \n')" --arg wanted "$label" \
  '{name: $name, runner_group_id: 1, labels: ["self-hosted", "nodepool", $wanted], work_folder: "_work"}' >"$work/body"
github POST /generate-jitconfig -d "@$work/body" >"$work/answer" || { cat "$work/answer" >&2; exit 1; }
id=$(jq -er .runner.id "$work/answer")
jq -er .encoded_jit_config "$work/answer" >"$work/jitconfig"
rm "$work/answer"

# As --jitconfig, but not on a command line. It is valid for an hour
nodepool ssh "$label" ${NODEPOOL_SSH_KEY:+-i "$NODEPOOL_SSH_KEY"} --timeout 50m --copy "$RUNNER_DIRECTORY" -- \
  sh -c 'IFS= read -r ACTIONS_RUNNER_INPUT_JITCONFIG; export ACTIONS_RUNNER_INPUT_JITCONFIG; exec ./run.sh' <"$work/jitconfig" &
wait "$!"
