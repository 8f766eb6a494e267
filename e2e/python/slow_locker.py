#!/usr/bin/python3
"""Locks a request with kazoo's own lock, and stops between its two steps.

kazoo first makes sure that the lock directory exists, then makes its entry in it. This prints "ensured" after the first
and continues with the second when a line arrives on stdin. Prints "locked", "not free" or the name of the error.
"""
import argparse
import sys

from kazoo.client import KazooClient


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hosts", required=True)
    parser.add_argument("path")
    args = parser.parse_args()
    client = KazooClient(hosts=args.hosts)
    client.start()
    lock = client.Lock(args.path)
    ensure_path = lock._ensure_path

    def ensure_and_wait():
        ensure_path()
        print("ensured", flush=True)
        sys.stdin.readline()

    lock._ensure_path = ensure_and_wait
    try:
        print("locked" if lock.acquire(blocking=False) else "not free", flush=True)
        lock.release()
    except Exception as error:
        print(type(error).__name__, flush=True)
    client.stop()
    client.close()


if __name__ == "__main__":
    main()
