#!/usr/bin/python3
"""Asks for nodes the way Zuul does, on kazoo: submit, wait, accept with kazoo's own lock, use, return.

Prints one JSON object with the finished request and its nodes.
"""
import argparse
import json
import sys
import threading
import time
import uuid

from kazoo.client import KazooClient


def submit(client, labels, requestor):
    now = time.time()
    body = {
        "requestor_data": {"tenant_name": "tenant-one", "job_name": "test-job"},
        "node_types": labels,
        "requestor": requestor,
        "created_time": now,
        "provider": None,
        "state": "requested",
        "state_time": now,
        "relative_priority": 0,
        "event_id": uuid.uuid4().hex,
        "tenant_name": "tenant-one",
    }
    return client.create(
        "/nodepool/requests/200-", json.dumps(body).encode("utf8"), sequence=True, makepath=True
    )


def wait(client, path, timeout):
    final = threading.Event()
    result = {}

    @client.DataWatch(path)
    def changed(data, _stat):
        if data is None:
            return True
        result.update(json.loads(data.decode("utf8")))
        if result["state"] in ("fulfilled", "failed"):
            final.set()
            return False
        return True

    if not final.wait(timeout):
        raise SystemExit("the request is still %s" % result.get("state"))
    return result


def accept(client, path, request):
    """Lock the nodes in order, then delete the request."""
    request_id = path.rsplit("/", 1)[1]
    nodes = []
    try:
        for node_id in request["nodes"]:
            node_path = "/nodepool/nodes/" + node_id
            lock = client.Lock(node_path + "/lock")
            lock.acquire(timeout=30)
            body = json.loads(client.get(node_path)[0].decode("utf8"))
            if body["allocated_to"] != request_id:
                raise SystemExit("node %s is allocated to %s" % (node_id, body["allocated_to"]))
            nodes.append((node_path, body, lock))
    finally:
        client.delete(path)
    return nodes


def set_state(client, nodes, state, **more):
    for path, body, _lock in nodes:
        body.update(state=state, state_time=time.time(), **more)
        client.set(path, json.dumps(body).encode("utf8"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hosts", required=True)
    parser.add_argument("--label", action="append", required=True)
    parser.add_argument("--timeout", type=float, default=20)
    for name in ("ca", "cert", "key"):
        parser.add_argument("--" + name)
    args = parser.parse_args()
    client = KazooClient(
        hosts=args.hosts,
        use_ssl=args.ca is not None,
        ca=args.ca,
        certfile=args.cert,
        keyfile=args.key,
    )
    client.start()
    requestor = uuid.uuid4().hex
    path = submit(client, args.label, requestor)
    request = wait(client, path, args.timeout)
    if request["state"] == "failed":
        client.delete(path)
        nodes = []
    else:
        nodes = accept(client, path, request)
        set_state(client, nodes, "in-use", user_data={"zuul_system": requestor, "project_name": "project"})
        in_use = [dict(body) for _path, body, _lock in nodes]
        set_state(client, nodes, "used")
        for _path, _body, lock in nodes:
            lock.release()
        nodes = in_use
    client.stop()
    client.close()
    json.dump({"request": request, "nodes": nodes}, sys.stdout)


if __name__ == "__main__":
    main()
