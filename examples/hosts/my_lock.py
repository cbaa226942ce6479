"""A host: a lock client that chaos can test. Its lock is one Redis, a lease and a fencing token.

Requests come on standard input, replies go to standard output, see docs/host-protocol.md. To test
a lock of your own, put its calls where this host runs its three scripts, and keep what is around.
"""
import json, secrets, socket, sys, time

ACQUIRE = """if not redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then return 0 end
return redis.call("INCR", KEYS[1] .. ":token")"""  # minted in one step with the lock; later is wrong
EXTEND = 'return redis.call("GET", KEYS[1]) == ARGV[1] and redis.call("PEXPIRE", KEYS[1], ARGV[2]) or 0'
RELEASE = 'return redis.call("GET", KEYS[1]) == ARGV[1] and redis.call("DEL", KEYS[1]) or 0'

class Failed(Exception): """A code, whether it is definite (it certainly left nothing), and a text."""
class Host:
    def init(self, r):
        init = r["init"]
        if init["version"] != 1 or len(init["nodes"]) != 1:
            raise Failed("bad-request", True, "this host speaks version 1 and has one node")
        self.address, self.connection = init["nodes"][0].rsplit(":", 1), None
        self.ttl, self.careful = int(init["ttl_ms"]), init["discipline"] == "checks-lease"
        self.grants = {}  # by the id of their acquire: [owner, end of the lease]

    def acquire(self, r):
        owner, end = secrets.token_hex(16), self.lease()
        token = self.eval(ACQUIRE, r["lock"], owner)
        if token == 0: raise Failed("refused", True, "another holds the lock")
        if self.left(end) == 0: raise Failed("too-late", False, "nothing was left of the lease")
        self.grants[r["id"]] = [owner, end]
        return {"owner": owner, "token": token, "validity_ms": self.left(end)}

    def extend(self, r):
        grant, end = self.held(r), self.lease()
        if self.eval(EXTEND, r["lock"], grant[0]) == 0: self.lost(r)
        grant[1] = end
        return {"validity_ms": self.left(end)}

    def check(self, r):  # from what is known here; asks no node
        left = self.left(self.held(r)[1])
        if self.careful and left == 0: raise Failed("lost", True, "the lease has ended")
        return {"validity_ms": left}

    def release(self, r):
        owner = self.held(r)[0]
        self.grants.pop(r["grant"])  # however it ends, this host does not count on it any more
        if self.eval(RELEASE, r["lock"], owner) == 0: self.lost(r)

    def close(self, r): pass
    def held(self, r): return self.grants.get(r["grant"]) or self.lost(r)
    def lost(self, r):
        self.grants.pop(r["grant"], None)
        raise Failed("lost", True, "the lock is not this grant's any more")

    def lease(self): return time.monotonic() + self.ttl / 1000  # taken before the command is sent
    def left(self, end): return max(0, (end - time.monotonic()) * 1000)

    def eval(self, script, key, owner):
        words = [str(word).encode() for word in ("EVAL", script, 1, key, owner, self.ttl)]
        command = [b"*%d\r\n" % len(words)] + [b"$%d\r\n%s\r\n" % (len(w), w) for w in words]
        try:
            self.connection = self.connection or socket.create_connection(self.address, timeout=1)
            self.connection.sendall(b"".join(command))
            answer = self.connection.makefile("rb").readline()
            if not answer.endswith(b"\n"): raise ConnectionError("the node closed the connection")
        except OSError as err:
            print("no answer from the node:", err, file=sys.stderr, flush=True)
            unsent, self.connection = self.connection is None, None  # a late answer is nobody's
            raise Failed("unavailable", unsent, str(err))
        if not answer.startswith(b":"): raise Failed("internal", False, answer.decode().strip())
        return int(answer[1:])

def serve(host):
    for line in sys.stdin:
        r = json.loads(line)
        try: reply = {"ok": True, **(getattr(host, r["op"])(r) or {})}
        except Failed as e: reply = {"ok": False, "error": dict(zip(("code", "definite", "text"), e.args))}
        print(json.dumps({"id": r["id"], **reply}), flush=True)
        if r["op"] == "close": break

if __name__ == "__main__": serve(Host())
