#!/usr/bin/python3
"""A launcher that takes the steps of the original, on kazoo: its locks, its plain writes, its pass over all requests.

One pool, whose machines exist as soon as they are asked for. Prints "ready" once it is registered and continues until it is
killed. Every step writes on its own, so a kill leaves what a kill of the original leaves: requests that are pending and not
locked, nodes that are allocated to them, records that were never locked. Which of those are to be repaired is repaired here as
there, by a pass that runs every second instead of every minute.
"""
import argparse
import json
import sys
import time
import uuid

from kazoo.client import KazooClient
from kazoo.exceptions import BadVersionError, KazooException, NoNodeError, NotEmptyError

REQUESTS = "/nodepool/requests"
LOCKS = "/nodepool/requests-lock"
NODES = "/nodepool/nodes"
POOLS = "/nodepool/components/pool"
MAX_READY_AGE = 1  # second
# All that the original keeps of a request when it writes one: any other key is gone.
REQUEST_KEYS = (
    "node_types", "requestor", "created_time", "provider", "relative_priority", "tenant_name", "event_id", "declined_by",
    "nodes", "reuse", "requestor_data", "state", "state_time",
)


class Launcher:
    def __init__(self, client, name, provider, labels, most, accepts):
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
            if not foreign and self.most > 0 and len(list(self.own_nodes())) + len(body["node_types"]) > self.most:
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
                self.store(path, node, "building", external_id=uuid.uuid4().hex)
                time.sleep(0.02)
                self.store(path, node, "ready", interface_ip="127.0.0.1", connection_port=22, ssh_port=22)
                body.setdefault("nodes", []).append(path.rsplit("/", 1)[1])
            self.store_request(REQUESTS + "/" + request_id, body, "fulfilled")
        finally:
            for lock in held:
                lock.release()

    # -- nodes, and what launchers that died have left

    def is_over(self, body):
        if body is None:
            return False
        request = body.get("allocated_to")
        if body["state"] in ("init", "ready") and request:
            return not self.client.exists(REQUESTS + "/" + request)
        if body["state"] == "ready":
            return time.time() - body["state_time"] > MAX_READY_AGE
        return body["state"] != "init"

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
    args = parser.parse_args()
    client = KazooClient(hosts=args.hosts, timeout=2)
    client.start()
    launcher = Launcher(client, args.name, args.provider, args.label, args.most, not args.idle)
    print("ready", flush=True)
    last_pass = 0
    while True:
        try:
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


if __name__ == "__main__":
    main()
