#!/usr/bin/env bash
# Runs what is named, as chaos run takes it, through the stack of compose.yaml,
# and takes the stack down again, whatever happens: what stays are the image and
# the results. Ends with the exit code of the runner; 130 when interrupted.
#   compose/run.sh quick
#   compose/run.sh 'redlock/*' --guard none
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
job='' stopping=''

case ${1:-} in -h | --help)
	sed -n '2,/^set/s/^# \{0,1\}//p' "$0"
	exit
	;;
esac

if docker compose version >/dev/null 2>&1; then
	compose=(docker compose)
elif command -v docker-compose >/dev/null; then
	compose=(docker-compose)
else
	echo "run.sh: neither docker compose nor docker-compose is there: apt-get install docker-compose" >&2
	exit 70
fi
compose+=(-f "$here/compose.yaml")

# The results are to be whose call this is; root's go to a user of the image.
if [ "$(id -u)" != 0 ]; then
	export CHAOS_UID="${CHAOS_UID:-$(id -u)}" CHAOS_GID="${CHAOS_GID:-$(id -g)}"
fi
[ $# -eq 0 ] || export CHAOS_RUN="${*@Q}" # Compose splits it as a shell does
COMMIT=${COMMIT:-$(git -C "$here" rev-parse --short HEAD 2>/dev/null || true)}
export COMMIT

down() {
	local code=$?
	trap '' INT TERM HUP # for what is called here, too
	if [ -n "$job" ]; then # up stops the runner, which writes up what it has done
		kill -TERM "$job" 2>/dev/null || true
		wait "$job" || true
	fi
	"${compose[@]}" down --volumes --remove-orphans --timeout 10 || code=70
	exit "$code"
}

# stop ends at the first signal; a second one would leave half of the stack.
stop() {
	[ -z "$stopping" ] || return 0
	stopping=yes
	exit "$1"
}
trap down EXIT
trap 'stop 130' INT
trap 'stop 143' TERM HUP

# attend runs Compose in a group of its own: what interrupts us does not reach it past us.
attend() {
	local code=0
	set -m
	"${compose[@]}" "$@" </dev/null &
	job=$!
	set +m
	wait "$job" || code=$?
	job=''
	return "$code"
}

# A build that fails is no verdict: 1 would say that a run was not as expected.
attend build setup || exit 70
attend up --exit-code-from chaos
