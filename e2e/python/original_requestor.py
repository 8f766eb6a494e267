#!/usr/bin/python3
"""Many jobs at once that ask for nodes the way Zuul does, on kazoo, and revise the priority of what waits.

Prints one JSON object at the end: how often each outcome came, what was wrong (such as a node that two held at once),
and how many errors of revisions Zuul's log would show.
"""
import argparse
import collections
import json
import random
import sys
import threading
import time
import uuid

from kazoo.client import KazooClient
from kazoo.exceptions import BadVersionError, NoNodeError

from zuul_client import accept, set_state, submit, wait


def things_of(node_path, body):
    """A node and what is behind it, a machine or one slot of a host: what only one may hold at a time."""
    return [node_path, "%s %s %s" % (body["provider"], body["external_id"], body.get("slot"))]


class Requestor:
    def __init__(self, client, labels, timeout):
        self.client = client
        self.labels = labels
        self.timeout = timeout
        self.counts = collections.Counter()
        self.problems = []
        self.held = collections.defaultdict(list)
        self.waiting = set()
        self.guard = threading.Lock()

    def job(self, number):
        random_of_job = random.Random(number)
        labels = [random_of_job.choice(self.labels)] * random_of_job.choice([1, 1, 2])
        path = submit(self.client, labels, uuid.uuid4().hex)
        with self.guard:
            self.waiting.add(path)
        try:
            request = wait(self.client, path, self.timeout)
            self.counts[request["state"]] += 1
            if request["state"] == "failed":
                self.problems.append("failed: %s" % json.dumps(request))
                self.client.delete(path)
                return
            if len(request["nodes"]) != len(labels) or len(set(request["nodes"])) != len(labels):
                self.problems.append("nodes of %s: %s" % (path, request["nodes"]))
            self.use(path, accept(self.client, path, request), random_of_job)
        except (Exception, SystemExit) as error:
            self.counts["error"] += 1
            self.problems.append("%s: %s %s" % (path, type(error).__name__, error))
        finally:
            with self.guard:
                self.waiting.discard(path)

    def use(self, path, nodes, random_of_job):
        self.hold(path, nodes)
        set_state(self.client, nodes, "in-use")
        time.sleep(random_of_job.uniform(0, 0.1))
        set_state(self.client, nodes, "used")
        with self.guard:
            for node_path, body, _lock in nodes:
                for thing in things_of(node_path, body):
                    self.held[thing].remove(path)
        for _path, _body, lock in nodes:
            lock.release()

    def hold(self, path, nodes):
        with self.guard:
            for node_path, body, _lock in nodes:
                for thing in things_of(node_path, body):
                    self.held[thing].append(path)
                    if len(self.held[thing]) > 1:
                        self.problems.append("%s is held by %s" % (thing, " and ".join(self.held[thing])))

    def revise(self):
        """As Zuul: by what its cache shows, lock, write by version, unlock."""
        with self.guard:
            paths = sorted(self.waiting)
        cache = [(path, self.read(path)) for path in paths]
        for path, (body, version) in cache:
            if body is None or body["state"] != "requested":
                continue
            try:
                self.revise_one(path, body, version)
            except NoNodeError:
                self.counts["not found"] += 1
            except BadVersionError:
                self.counts["BadVersionError"] += 1

    def read(self, path):
        try:
            data, stat = self.client.get(path)
        except NoNodeError:
            return None, None
        return json.loads(data.decode("utf8")), stat.version

    def revise_one(self, path, body, version):
        lock = self.client.Lock("/nodepool/requests-lock/" + path.rsplit("/", 1)[1])
        try:
            if not lock.acquire(blocking=False):
                return
        except NoNodeError:
            self.counts["not found for locking"] += 1
            return
        try:
            body["relative_priority"] = (body["relative_priority"] + 1) % 10
            self.client.set(path, json.dumps(body).encode("utf8"), version=version)
            self.counts["revised"] += 1
        finally:
            lock.release()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hosts", required=True)
    parser.add_argument("--label", action="append", required=True)
    parser.add_argument("--least-jobs", type=int, required=True, help="more until standard input ends")
    parser.add_argument("--workers", type=int, required=True, help="jobs at a time")
    parser.add_argument("--timeout", type=float, required=True)
    args = parser.parse_args()
    client = KazooClient(hosts=args.hosts, timeout=10)
    client.start()
    requestor = Requestor(client, args.label, args.timeout)
    jobs = 0
    is_enough = threading.Event()
    guard = threading.Lock()

    def listen():
        sys.stdin.read()
        is_enough.set()

    def work():
        nonlocal jobs
        while True:
            with guard:
                if jobs >= args.least_jobs and is_enough.is_set():
                    return
                number = jobs
                jobs += 1
            requestor.job(number)

    threading.Thread(target=listen, daemon=True).start()
    workers = [threading.Thread(target=work) for _ in range(args.workers)]
    for worker in workers:
        worker.start()
    while any(worker.is_alive() for worker in workers):
        requestor.revise()
        time.sleep(0.05)
    client.stop()
    client.close()
    json.dump({"jobs": jobs, "counts": requestor.counts, "problems": requestor.problems}, sys.stdout)


if __name__ == "__main__":
    main()
