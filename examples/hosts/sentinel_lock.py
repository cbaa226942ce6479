"""A host whose lock is on the master of a Sentinel group.

It differs from my_lock.py in how it finds its node: it asks a Sentinel, and goes to what that
names by the address that is its own (see "Sentinel" in docs/host-protocol.md).
"""
import socket
from my_lock import Failed, Host, serve

class SentinelHost(Host):
    def init(self, r):
        self.group = r["init"].get("sentinel")
        if not self.group: raise Failed("bad-request", True, "this host needs nodes: sentinel")
        super().init({"init": {**r["init"], "nodes": self.group["sentinels"][:1]}})

    def eval(self, script, key, owner):
        if not self.connection: self.address = self.master()
        try: return super().eval(script, key, owner)
        except Failed as e:
            if not e.args[2].startswith("-READONLY"): raise
            self.connection = None  # a replica has taken its place: ask again next time
            raise Failed("unavailable", True, e.args[2])

    def master(self):
        for sentinel in self.group["sentinels"]:
            try:
                with socket.create_connection(sentinel.rsplit(":", 1), timeout=1) as c:
                    c.sendall(f"SENTINEL get-master-addr-by-name {self.group['master']}\r\n".encode())
                    _, _, ip, _, port = (line.decode().strip() for _, line in zip(range(5), c.makefile("rb")))
                    return self.group["addresses"][f"{ip}:{port}"].rsplit(":", 1)
            except (OSError, ValueError): continue  # no answer, or none that names a master
        raise Failed("unavailable", True, "no Sentinel names a master")

if __name__ == "__main__": serve(SentinelHost())
