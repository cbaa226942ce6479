#!/usr/bin/env bash
# Makes what compose/Dockerfile starts from out of what this machine has, for
# machines that can pull no image: a base of Debian with every server included, so
# that the build needs no network, and with --program the program itself, by the
# machine's own Go. An image that is there already and still right stays.
set -euo pipefail

readonly packages=redis-server,redis-sentinel,libfaketime,postgresql
readonly label=lockchaos.recipe
# In memory all is done in a fraction of the time, as dpkg syncs every file. MB.
readonly room=1200

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly built=compose/bin/chaos # from the root of the project
work='' job='' stopping=''
base_image=''

usage() {
	cat <<-'END'
		usage: base-image.sh [--program] [--force]
		  --program  build the program here, too: then no image with Go is needed
		  --force    make the base again where it is there already
		Prints the variables that compose.yaml takes, BASE_IMAGE=… and with --program two more:
		  export $(compose/base-image.sh --program)
		Needs Docker and, where the base is to be made, root and debootstrap.
	END
}

say() { echo "base-image.sh: $*" >&2; }

# die ends with the exit code for bad usage (64) or of a machine that lacks something (70).
die() {
	local code=$1
	shift
	say "$@"
	exit "$code"
}

clean() {
	if [ -n "$job" ]; then # a signal has come: what runs is a process group of its own
		kill -KILL -- "-$job" 2>/dev/null || true
		wait "$job" 2>/dev/null || true
		job=
	fi
	[ -n "$work" ] || return 0
	# What a broken off debootstrap has left mounted must not be deleted through.
	local at
	while read -r _ at _; do
		case $at in "$work"/*) umount -l "$at" || return 1 ;; esac
	done < <(tac /proc/self/mounts)
	umount -l "$work" 2>/dev/null || true # the memory, if it was used
	rm -rf --one-file-system "$work"
	work=
}

# stop ends at the first signal. A second one, as timeout sends it at once, would
# leave half of what is to be cleared away.
stop() {
	[ -z "$stopping" ] || return 0
	stopping=yes
	exit "$1"
}

# attend runs a command that a signal ends at once, which bash would have wait for it.
attend() {
	set -m
	"$@" &
	job=$!
	set +m
	local code=0
	wait "$job" || code=$?
	job=
	return "$code"
}

# workdir makes the directory that clean removes, whatever happens.
workdir() {
	work=$(mktemp -d "${TMPDIR:-/tmp}/lockchaos-image.XXXXXX")
}

# in_memory lays the work directory into memory where there is plenty of it.
in_memory() {
	local free
	free=$(awk '/^MemAvailable:/ {print int($2 / 1024)}' /proc/meminfo)
	[ "$free" -ge $((3 * room)) ] || return 0
	mount -t tmpfs -o "size=${room}m,mode=0755" lockchaos-image "$work" 2>/dev/null || true # then on disk
}

# have tells whether an image that this very recipe has made is there, and may stay.
have() {
	[ -z "$force" ] && [ "$(docker image inspect -f "{{index .Config.Labels \"$label\"}}" "$1" 2>/dev/null)" = "$2" ] &&
		say "$1 is there already, $(size "$1")"
}

# made tells of an image that is done.
made() {
	clean
	say "made $1, $(size "$1"), after $SECONDS s"
}

hash() { echo "$1" | sha256sum | cut -c1-16; }

size() { docker image inspect -f '{{.Size}}' "$1" | awk '{printf "%d MB", $1 / 1e6}'; }

codename() { (. /etc/os-release && echo "${VERSION_CODENAME:-}"); }

# mirror prints the mirror and the suite of this machine's own Debian, as apt has them.
mirror() {
	# shellcheck disable=SC2016 # apt fills them in
	local codename uri release component origin
	codename=$(codename)
	while IFS='|' read -r uri release component origin; do
		if [ "$release" = "$codename" ] && [ "$component" = main ] && { [ "$origin" = Debian ] || [ -z "$origin" ]; }; then
			echo "$uri $release"
			return
		fi
	done < <(apt-get indextargets --format '$(REPO_URI)|$(RELEASE)|$(COMPONENT)|$(ORIGIN)' 'Created-By: Packages')
	return 1
}

# proxies hands apt's proxies to debootstrap, which asks by wget.
proxies() {
	local http='' https=''
	eval "$(apt-config shell http Acquire::http::Proxy https Acquire::https::Proxy)"
	[ -z "$http" ] || export http_proxy=$http
	[ -z "$https" ] || export https_proxy=$https
}

base() {
	local tool uri suite recipe image
	for tool in apt-get debootstrap; do
		command -v "$tool" >/dev/null || die 70 "$tool is missing: the base is made on Debian, with: apt-get install debootstrap"
	done
	read -r uri suite < <(mirror) ||
		die 70 "apt's sources name no mirror of Debian $(codename) main (apt-get indextargets lists them)"
	image=lockchaos-base:$suite
	recipe=$(hash "$suite $(dpkg --print-architecture) $packages $(declare -f bootstrap)")
	base_image=$image
	if have "$image" "$recipe"; then
		return
	fi
	[ "$(id -u)" = 0 ] || die 70 "debootstrap needs root: run this as root, as in: sudo $0"
	say "making $image of Debian $suite, with $packages; this takes minutes"
	proxies
	workdir
	in_memory
	bootstrap "$work/root" "$suite" "$uri"
	attend import "$work/root" "$image" "$recipe" || die 70 "docker import failed"
	made "$image"
}

import() {
	tar -C "$1" --numeric-owner -c . | docker import --change "LABEL $label=$3" --change 'CMD ["bash"]' - "$2" >/dev/null
}

# bootstrap lays a Debian into a directory: its programs, and nothing to read.
bootstrap() {
	local root=$1 suite=$2 uri=$3
	mkdir -p "$root/etc/dpkg/dpkg.cfg.d" "$root/etc/postgresql-common" "$root/usr/sbin"
	printf 'path-exclude=/usr/share/%s/*\n' doc man info locale lintian i18n/locales >"$root/etc/dpkg/dpkg.cfg.d/slim"
	# The packages make no database cluster and start no service.
	echo 'create_main_cluster = false' >"$root/etc/postgresql-common/createcluster.conf"
	printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
	chmod +x "$root/usr/sbin/policy-rc.d"
	if ! attend debootstrap --variant=minbase --include="$packages" "$suite" "$root" "$uri" >"$work/log" 2>&1; then
		tail -20 "$work/log" "$root/debootstrap/debootstrap.log" >&2 || true
		die 70 "debootstrap failed, it said the above"
	fi
	# Compiled queries, and what only they need, are a quarter of the image.
	rm -rf "$root"/usr/lib/postgresql/*/lib/bitcode "$root"/usr/lib/postgresql/*/lib/llvmjit* \
		"$root"/usr/lib/*/libLLVM-* "$root"/usr/lib/*/libz3.so.*
	rm -rf "$root"/usr/share/{doc,man,info,locale,lintian}/* "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* \
		"$root"/var/log/*.log "$root/etc/resolv.conf" "$root/etc/hostname"
}

# program builds the program with this machine's own Go.
program() {
	local commit
	command -v go >/dev/null || die 70 "go is missing from PATH, which --program needs"
	commit=$(git -C "$here" rev-parse --short HEAD 2>/dev/null || true)
	(
		cd "$here/.." && CGO_ENABLED=0 GOOS=linux go build -buildvcs=false \
			-ldflags "-s -w -X lockchaos/results.Commit=$commit" -o "$built" ./cmd/chaos
	) || die 70 "go build failed"
	say "built $built, $(($(stat -c %s "$here/../$built") / 1000000)) MB"
}

program='' force=''
for arg; do
	case $arg in
	--program) program=yes ;;
	--force) force=yes ;;
	-h | --help) usage && exit ;;
	*) usage >&2 && die 64 "$arg: no such option" ;;
	esac
done
command -v docker >/dev/null || die 70 "docker is missing: apt-get install docker.io"
docker version >/dev/null 2>&1 || die 70 "no Docker engine answers: $(docker version 2>&1 | tail -1)"
trap clean EXIT
trap 'stop 130' INT
trap 'stop 143' TERM HUP
base
echo "BASE_IMAGE=$base_image"
if [ -n "$program" ]; then
	program
	echo "GO_IMAGE=$base_image" # which nothing is built in
	echo "CHAOS_PROGRAM=$built"
fi
