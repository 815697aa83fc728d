#!/usr/bin/env bash
# The official conformance suite against the gateway: "serve --http --raw-names" in front of a server that offers what the suite asks for,
# over stdio, over HTTP, and over stdio in the older era. The last line is "N passed, M failed".
#
#   run-server.sh [scenario-name-pattern]
#
# Environment: WAYS="stdio http legacy", everything else as in judge-server.sh.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="$(cd "$here/../../.." && pwd)"
pattern="${1:-*}"
node="$(command -v node)"; tsx="$root/node_modules/tsx/dist/esm/index.mjs"; fixture="$root/test/support/serve-fixture.ts"

[ -d "$here/node_modules/@modelcontextprotocol/conformance" ] || npm --prefix "$here" ci --ignore-scripts --no-audit --no-fund
work="$(mktemp -d -t conformance-gateway.XXXXXX)"
running=()
stop() { for pid in ${running[@]+"${running[@]}"}; do kill "$pid" 2>/dev/null || true; wait "$pid" 2>/dev/null || true; done; running=(); exec 9>&- || true; }
trap 'stop; rm -rf "$work"' EXIT

# The first address that a program tells of in this file.
address() { for _ in $(seq 200); do grep -om1 'http://[^ ]*' "$1" 2>/dev/null && return 0; sleep 0.1; done; cat "$1" >&2; return 1; }

# What cannot exist where the server behind is of the older era: its questions have no keys of their own, come one by one, are refused with
# that era's code when the client cannot answer, and are not asked of a client that cannot answer one of them.
cat > "$work/legacy-expected" <<'L'
server-stateless@2026-07-28
input-required-result-basic-elicitation@2026-07-28
input-required-result-multiple-input-requests@2026-07-28
input-required-result-capability-check@2026-07-28
L
: > "$work/stdio-expected"; : > "$work/http-expected"

passed=0; failed=0
for way in ${WAYS:-stdio http legacy}; do
  echo "== server behind the gateway: $way"
  home="$work/$way"; mkdir -p "$home/config/zuno"
  case "$way" in
    http)
      mkfifo "$home/stdin"
      "$node" --import "$tsx" "$fixture" --http 0 < "$home/stdin" > "$home/upstream" & running+=($!)
      exec 9> "$home/stdin"   # it lives as long as this stays open
      server="{\"type\":\"remote\",\"url\":\"$(address "$home/upstream")\"}" ;;
    *)
      era=""; [ "$way" = legacy ] && era=',"protocol":"2025-11-25"'
      server="{\"type\":\"local\",\"command\":[\"$node\",\"--import\",\"$tsx\",\"$fixture\"]$era}" ;;
  esac
  echo "{\"permission\":{\"mode\":\"allow_all\"},\"mcp\":{\"fixture\":$server}}" > "$home/config/zuno/zuno.json"
  (cd "$home" && exec env HOME="$home" XDG_CONFIG_HOME="$home/config" XDG_STATE_HOME="$home/state" XDG_CACHE_HOME="$home/cache" XDG_DATA_HOME="$home/data" \
    "$node" --import "$tsx" "$root/test/cli/entry.ts" serve --http --raw-names 2> "$home/gateway") & running+=($!)
  url="$(address "$home/gateway")"
  CONFORMANCE_DIR="$here" EXPECTED="$work/$way-expected" OUT="$home/out" bash "$here/judge-server.sh" "$url" "$pattern" > "$home/result" 2>&1 || true
  grep -v '^PASS ' "$home/result" || true
  line="$(tail -1 "$home/result")"
  [[ "$line" =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]] || { echo "the suite did not finish"; exit 2; }
  passed=$((passed + BASH_REMATCH[1])); failed=$((failed + BASH_REMATCH[2]))
  stop
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
