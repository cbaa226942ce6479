#!/bin/sh
# Installs the programs that runs on real servers need, where they are missing:
# redis-server (all runs), libfaketime (clock faults), postgresql (PostgreSQL as
# the resource) and python3 (the example of an external host). With the argument
# "test" also what tests need: chromium, in which they look at the pages, and
# Docker with docker-compose and debootstrap, for the stack of compose/. With the
# argument "servers" only what an image needs (compose/Dockerfile).
# Says what it does; needs root or sudo only if something is missing.
set -eu

# need notes a package whose program is missing.
need() { command -v "$1" >/dev/null 2>&1 || missing="$missing $2"; }

for=${1:-}
missing=
need redis-server redis-server
if [ "$for" = servers ]; then
	need redis-sentinel redis-sentinel
else
	need python3 python3
fi
ls /usr/lib/*/faketime/libfaketimeMT.so.1 >/dev/null 2>&1 || missing="$missing libfaketime"
# Debian keeps the programs of PostgreSQL off PATH, in a directory for each version.
ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null 2>&1 ||
	missing="$missing postgresql"
if [ "$for" = test ]; then
	command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1 ||
		command -v google-chrome >/dev/null 2>&1 || missing="$missing chromium"
	need docker docker.io
	docker compose version >/dev/null 2>&1 || need docker-compose docker-compose
	[ -x /usr/sbin/debootstrap ] || missing="$missing debootstrap"
fi
[ -z "$missing" ] && exit 0

if ! command -v apt-get >/dev/null 2>&1; then
	echo "missing:$missing; install them with this system's package manager" >&2
	exit 1
fi
sudo=
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null 2>&1 || {
		echo "missing:$missing; run as root: apt-get install$missing" >&2
		exit 1
	}
	sudo=sudo
fi
echo "installing:$missing"
# Debian's package makes a database cluster and starts it, unless this file, which
# it leaves alone where it is there already, says no. The project makes its own.
conf=/etc/postgresql-common/createcluster.conf
case $missing in
*postgresql*)
	if [ -e "$conf" ]; then
		echo "$conf is there already and stays as it is"
	else
		echo "writing $conf: no database cluster is made or started by the package"
		$sudo mkdir -p "${conf%/*}"
		echo "create_main_cluster = false" | $sudo tee "$conf" >/dev/null
	fi
	;;
esac
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -q
case $missing in
# Newer Debians have the command docker in a package of its own.
*docker.io*) ! apt-cache show docker-cli >/dev/null 2>&1 || missing="$missing docker-cli" ;;
esac
# The servers that the project needs are its own: no system service is started.
# shellcheck disable=SC2086 # a list of words
$sudo apt-get install -q -y --no-install-recommends $missing
