#!/bin/sh
# The first container of compose.yaml, as root: makes what the others, who are
# not root, need and no image may hold. Arguments: their uid and gid.
set -eu
uid=$1 gid=$2
token=/run/lockchaos/token
results=/lockchaos/results/runs

if [ ! -s "$token" ]; then
	(umask 077 && od -An -v -N32 -tx1 /dev/urandom | tr -d ' \n' >"$token.new")
	chmod 0400 "$token.new" # while it is ours: there is no capability for another's
	chown "$uid:$gid" "$token.new"
	mv "$token.new" "$token"
fi

# Docker makes a missing directory as root's. One of somebody else stays theirs.
owner=$(stat -c %u "$results")
case $owner in
"$uid") ;;
0) chown "$uid:$gid" "$results" ;;
*)
	echo "the directory of the results belongs to user $owner, and the runner is user $uid:" >&2
	echo "set CHAOS_UID=$owner and CHAOS_GID to its group, or CHAOS_RESULTS to another directory" >&2
	exit 64
	;;
esac

: >/tmp/ready
exec sleep infinity
