"""Takes a lock with kazoo as told on standard input, one command per line, and answers each with one line."""

import sys

from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout

hosts, root, identifier, ephemeral = sys.argv[1:5]
client = KazooClient(hosts=hosts, timeout=4.0)
client.start()
lock = client.Lock(root, identifier)


def acquire(blocking, timeout=None):
    try:
        return lock.acquire(blocking=blocking, timeout=timeout, ephemeral=ephemeral == "ephemeral")
    except LockTimeout:
        return "timeout"


print("ready", flush=True)
for line in sys.stdin:
    command = line.strip()
    if command == "try":
        answer = acquire(False)
    elif command == "wait":
        answer = acquire(True)
    elif command == "wait-briefly":
        answer = acquire(True, 0.2)
    elif command == "release":
        answer = lock.release()
    elif command == "contenders":
        answer = ",".join(lock.contenders())
    else:
        break
    print(answer, flush=True)
client.stop()
