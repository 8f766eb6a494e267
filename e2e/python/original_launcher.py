#!/usr/bin/python3
"""A launcher that takes the steps of the original, on kazoo: its locks, its plain writes, its pass over all requests.

One pool, whose machines exist as soon as they are asked for, or are those of a fake cloud. Prints "ready" once it is registered and
continues until it is killed, or ends its pass on SIGTERM. Every step writes on its own, so a kill leaves what a kill of the original leaves: requests that are pending and not
locked, nodes that are allocated to them, records that were never locked. Which of those are to be repaired is repaired here as
there, by a pass that runs every second instead of every minute.
"""
import argparse
import http.client
import json
import signal
import socket
import sys
import time
import uuid

from kazoo.client import KazooClient
from kazoo.exceptions import BadVersionError, KazooException, NoNodeError, NotEmptyError

REQUESTS = "/nodepool/requests"
LOCKS = "/nodepool/requests-lock"
NODES = "/nodepool/nodes"
POOLS = "/nodepool/components/pool"
MAX_READY_AGE = 1  # second, without min-ready
MIN_READY = "NodePool:min-ready"
# What is deleted when nobody has locked it; nodes in any other state are kept.
GARBAGE = ("used", "in-use", "building", "failed", "deleting", "deleted", "aborted")
# All that the original keeps of a request when it writes one: any other key is gone.
REQUEST_KEYS = (
    "node_types", "requestor", "created_time", "provider", "relative_priority", "tenant_name", "event_id", "declined_by",
    "nodes", "reuse", "requestor_data", "state", "state_time",
)


class Machines:
    """Machines that exist as soon as they are asked for."""

    def create(self, node_id, provider):
        return uuid.uuid4().hex

    def delete(self, external_id):
        pass


class CloudMachines:
    """Machines of a fake cloud, with the tags of the original."""

    def __init__(self, directory):
        self.directory = directory

    def call(self, name, args):
        connection = http.client.HTTPConnection("fake-cloud", timeout=30)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(self.directory + "/socket")
        connection.request("POST", "/" + name, json.dumps(args))
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, json.loads(body) if answer.status == 200 else body

    def create(self, node_id, provider):
        tags = {"nodepool_node_id": node_id, "nodepool_pool_name": "main", "nodepool_provider_name": provider}
        order = {"name": "np" + node_id, "image": "debian", "minRam": 1024, "az": None, "metadata": tags}
        status, instance = self.call("create", order)
        if status != 200:
            raise RuntimeError("the cloud answered %s: %s" % (status, instance))
        while instance["status"] != "active":
            time.sleep(0.05)
            _status, instance = self.call("get", instance["id"])
        return instance["id"]

    def delete(self, external_id):
        while external_id is not None and self.call("get", external_id)[1] is not None:
            self.call("remove", external_id)
            time.sleep(0.05)


class Launcher:
    def __init__(self, client, name, provider, labels, most, accepts, min_ready=0, machines=None):
        self.machines = machines or Machines()
        self.min_ready = min_ready
        self.asked = {label: [] for label in labels}
        self.client = client
        self.provider = provider
        self.labels = labels
        self.most = most
        self.accepts = accepts
        self.id = "%s.example.com-PoolWorker.%s-main-%s" % (name, provider, uuid.uuid4().hex)
        for path in (REQUESTS, LOCKS, NODES, POOLS):
            client.ensure_path(path)
        pool = {
            "hostname": name, "id": self.id, "kind": "pool", "model_api": 0, "name": "main", "paused": False,
            "priority": 100, "provider_name": provider, "state": "running", "supported_labels": labels, "version": "10.0.0",
        }
        body = json.dumps(pool, sort_keys=True).encode("utf8")
        client.create(POOLS + "/" + name, body, ephemeral=True, sequence=True)

    def read(self, path):
        try:
            data, stat = self.client.get(path)
        except NoNodeError:
            return None, None
        return (json.loads(data.decode("utf8")), stat) if data else (None, None)

    def store(self, path, body, state, **more):
        body.update(state=state, state_time=time.time(), **more)
        self.client.set(path, json.dumps(body).encode("utf8"))

    def store_request(self, path, body, state):
        known = {key: body[key] for key in REQUEST_KEYS if key in body}
        self.store(path, known, state)

    def locked(self, path):
        lock = self.client.Lock(path)
        try:
            return lock if lock.acquire(blocking=False) else None
        except NoNodeError:
            return None

    def own_nodes(self):
        for node_id in self.client.get_children(NODES):
            body, _stat = self.read(NODES + "/" + node_id)
            if body is not None and body.get("provider") == self.provider:
                yield node_id, body

    # -- requests

    def registered(self):
        found = [self.read(POOLS + "/" + name)[0] for name in self.client.get_children(POOLS)]
        return [pool for pool in found if pool is not None]

    def is_left_to_others(self, body):
        """A pool that lacks a label declines only when no other one has them all."""
        declined = body.get("declined_by", [])
        wanted = set(body["node_types"])
        return any(wanted <= set(pool["supported_labels"]) and pool["id"] not in declined for pool in self.registered())

    def assign(self):
        if not self.accepts:
            return
        for request_id in sorted(self.client.get_children(REQUESTS)):
            body, _stat = self.read(REQUESTS + "/" + request_id)
            if body is None or body["state"] != "requested" or self.id in body.get("declined_by", []):
                continue
            foreign = not set(body["node_types"]) <= set(self.labels)
            if foreign and self.is_left_to_others(body):
                continue
            is_full = len(list(self.own_nodes())) + len(body["node_types"]) > self.most > 0
            if not foreign and is_full and not (body.get("reuse", True) and self.reusable(body["node_types"])):
                continue
            lock = self.locked(LOCKS + "/" + request_id)
            if lock is None:
                continue
            try:
                body, _stat = self.read(REQUESTS + "/" + request_id)
                if body is not None and body["state"] == "requested":
                    self.decline(request_id, body) if foreign or self.most == 0 else self.fulfil(request_id, body)
            except NoNodeError:
                pass  # it was withdrawn
            finally:
                lock.release()

    def decline(self, request_id, body):
        declined = body.setdefault("declined_by", [])
        declined.append(self.id)
        is_last = {pool["id"] for pool in self.registered()} <= set(declined)
        self.store_request(REQUESTS + "/" + request_id, body, "failed" if is_last else "requested")

    def fulfil(self, request_id, body):
        self.store_request(REQUESTS + "/" + request_id, body, "pending")
        held = []
        try:
            for label in body["node_types"]:
                taken = self.take(label, request_id, body) if body.get("reuse", True) else None
                if taken is not None:
                    held.append(taken[1])
                    body.setdefault("nodes", []).append(taken[0])
                    continue
                node = {
                    "provider": self.provider, "pool": "main", "type": [label], "allocated_to": request_id,
                    "launcher": self.id, "created_time": time.time(), "tenant_name": body.get("tenant_name"),
                    "requestor": body.get("requestor"), "state": "init", "state_time": time.time(),
                    "external_id": None, "user_data": None, "resources": {"instances": 1},
                }
                path = self.client.create(NODES + "/", json.dumps(node).encode("utf8"), sequence=True)
                lock = self.client.Lock(path + "/lock")
                lock.acquire()
                held.append(lock)
                self.store(path, node, "building")
                self.store(path, node, "building", external_id=self.machines.create(path.rsplit("/", 1)[1], self.provider))
                time.sleep(0.02)
                # each machine has an address of its own
                address = f"np{path.rsplit('/', 1)[-1]}.fake"
                self.store(path, node, "ready", interface_ip=address, connection_port=22, ssh_port=22)
                body.setdefault("nodes", []).append(path.rsplit("/", 1)[1])
            self.store_request(REQUESTS + "/" + request_id, body, "fulfilled")
        finally:
            for lock in held:
                lock.release()

    # -- min-ready, and ready nodes

    def ready(self, label):
        return [
            node_id for node_id, body in self.own_nodes()
            if body["state"] == "ready" and not body.get("allocated_to") and label in body["type"]
        ]

    def reusable(self, labels):
        return all(len(self.ready(label)) >= labels.count(label) for label in labels)

    def take(self, label, request_id, request):
        for node_id in self.ready(label):
            path = NODES + "/" + node_id
            lock = self.locked(path + "/lock")
            if lock is None:
                continue
            body, _stat = self.read(path)
            if body is not None and body["state"] == "ready" and not body.get("allocated_to"):
                body.update(allocated_to=request_id, tenant_name=request.get("tenant_name"), requestor=request.get("requestor"))
                self.client.set(path, json.dumps(body).encode("utf8"))
                return node_id, lock
            lock.release()
        return None

    def keep_ready(self):
        """Counts ready nodes and its own requests alone, and no more than it can have."""
        for label, asked in self.asked.items():
            asked[:] = [path for path in asked if not self.is_done(path)]
            if asked:
                continue
            for _ in range(self.min_ready - len(self.ready(label))):
                now = time.time()
                body = {
                    "node_types": [label], "requestor": MIN_READY, "created_time": now, "provider": None,
                    "relative_priority": 0, "tenant_name": None, "event_id": uuid.uuid4().hex, "declined_by": [],
                    "nodes": [], "reuse": False, "requestor_data": None, "state": "requested", "state_time": now,
                }
                data = json.dumps(body).encode("utf8")
                asked.append(self.client.create(REQUESTS + "/900-", data, ephemeral=True, sequence=True))

    def is_done(self, path):
        body, _stat = self.read(path)
        if body is not None and body["state"] not in ("fulfilled", "failed"):
            return False
        for node_id in body["nodes"] if body is not None else []:
            node, _stat = self.read(NODES + "/" + node_id)
            if node is not None and node.get("allocated_to") == path.rsplit("/", 1)[1]:
                node.update(allocated_to=None)
                self.client.set(NODES + "/" + node_id, json.dumps(node).encode("utf8"))
        if body is not None:
            self.client.delete(path)
        return True

    # -- nodes, and what launchers that died have left

    def is_over(self, body):
        if body is None:
            return False
        request = body.get("allocated_to")
        if body["state"] in ("init", "ready") and request:
            return not self.client.exists(REQUESTS + "/" + request)
        if body["state"] == "ready":
            return self.min_ready == 0 and time.time() - body["state_time"] > MAX_READY_AGE
        if body["state"] == "hold":
            end = body.get("hold_expiration") or 0
            return end > 0 and time.time() - body["state_time"] > end
        return body["state"] in GARBAGE

    def clean_up(self):
        for node_id, body in self.own_nodes():
            path = NODES + "/" + node_id
            lock = self.locked(path + "/lock") if self.is_over(body) else None
            if lock is None:
                continue
            body, _stat = self.read(path)
            if not self.is_over(body):
                lock.release()
                continue
            self.store(path, body, "deleting")
            self.machines.delete(body.get("external_id"))
            self.client.delete(path, recursive=True)

    def remove_empty(self):
        """What is left where a lock directory was made below a node that was just deleted."""
        for node_id in self.client.get_children(NODES):
            path = NODES + "/" + node_id
            stat = self.client.exists(path)
            if stat is None or stat.dataLength > 0:
                continue
            lock = self.locked(path + "/lock")
            if lock is not None:
                self.client.delete(path, recursive=True)

    def reset_lost(self):
        for request_id in self.client.get_children(REQUESTS):
            path = REQUESTS + "/" + request_id
            body, _stat = self.read(path)
            if body is None or body["state"] != "pending":
                continue
            lock = self.locked(LOCKS + "/" + request_id)
            if lock is None:
                continue
            try:
                body, stat = self.read(path)
                if body is not None and body["state"] == "pending":
                    self.free_nodes_of(request_id)
                    body.update(state="requested", state_time=time.time(), nodes=[])
                    self.client.set(path, json.dumps(body).encode("utf8"), version=stat.version)
            except (NoNodeError, BadVersionError):
                pass
            finally:
                lock.release()

    def free_nodes_of(self, request_id):
        for node_id in self.client.get_children(NODES):
            node, stat = self.read(NODES + "/" + node_id)
            if node is None or node.get("allocated_to") != request_id:
                continue
            node.update(allocated_to=None)
            if node["state"] == "init":
                node.update(state="deleting")
            self.client.set(NODES + "/" + node_id, json.dumps(node).encode("utf8"), version=stat.version)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hosts", required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--provider", required=True)
    parser.add_argument("--label", action="append", required=True)
    parser.add_argument("--most", type=int, required=True, help="nodes at a time; 0: declines all requests")
    parser.add_argument("--idle", action="store_true", help="neither takes nor declines anything: max-concurrency is 0")
    parser.add_argument("--min-ready", type=int, default=0, help="free nodes to keep of each label")
    parser.add_argument("--cloud", help="directory of the fake cloud that has the machines")
    args = parser.parse_args()
    client = KazooClient(hosts=args.hosts, timeout=2)
    client.start()
    launcher = Launcher(client, args.name, args.provider, args.label, args.most, not args.idle, args.min_ready,
                        CloudMachines(args.cloud) if args.cloud else None)
    stopping = []
    signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
    print("ready", flush=True)
    last_pass = 0
    while not stopping:
        try:
            launcher.keep_ready()
            launcher.assign()
            launcher.clean_up()
            if time.time() - last_pass > 1:
                last_pass = time.time()
                launcher.reset_lost()
                launcher.remove_empty()
        except NotEmptyError:
            pass  # somebody tries the lock of a node that is being deleted; the next pass deletes it
        except KazooException as error:
            print("%s: %r; the pass ends" % (args.name, error), file=sys.stderr, flush=True)
        time.sleep(0.05)
    client.stop()


if __name__ == "__main__":
    main()
