#!/usr/bin/env bash
# The official conformance suite against our client, all revisions: builds, fetches the suite on the first run, judges strictly.
#
#   run.sh [scenario-name-pattern]
#
# An expected.txt, where there is one, names what may fail for now: auth scenarios only, one a line, each with its reason. A line whose scenario
# passes, or which names nothing that was run, fails the whole run. Environment: BUILD=0 leaves the build out (dist is used as it
# stands), everything else as in run-client.sh.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="$(cd "$here/../../.." && pwd)"
pattern="${1:-}"

[ "${BUILD:-1}" = 0 ] || npm --prefix "$root" run --silent build
[ -d "$here/node_modules/@modelcontextprotocol/conformance" ] || npm --prefix "$here" ci --ignore-scripts --no-audit --no-fund

work="$(mktemp -d -t conformance.XXXXXX)"

baseline="$here/expected.txt"
if [ -f "$baseline" ]; then
  wrong="$(grep -vnE '^[[:space:]]*(#.*)?$|^auth/[^[:space:]]+@[0-9]{4}-[0-9]{2}-[0-9]{2}[[:space:]]+#[[:space:]]*[^[:space:]]' "$baseline" || true)"
  [ -z "$wrong" ] || { echo "expected.txt: a line must be  auth/SCENARIO@REVISION  # reason" >&2; echo "$wrong" >&2; exit 2; }
  sed -nE 's/^(auth\/[^[:space:]]+).*/\1/p' "$baseline" > "$work/expected"
else
  : > "$work/expected"
fi

status=0
CONFORMANCE_DIR="$here" EXPECTED="$work/expected" OUT="${OUT:-$work/out}" \
  bash "$here/run-client.sh" "node --import $root/node_modules/tsx/dist/esm/index.mjs $root/test/interop/conformance-client.ts" "$pattern" || status=1

if [ -z "$pattern" ] && [ -z "${LEGS:-}" ]; then
  while read -r line; do
    grep -qE "^[A-Z]+ ${line##*@} ${line%@*} " "${OUT:-$work/out}/lines" || { echo "stale: $line names nothing that was run"; status=1; }
  done < "$work/expected"
fi
[ "$status" != 0 ] || rm -rf "$work"
exit "$status"
