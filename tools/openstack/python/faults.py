"""Misbehaviour on request: each fault is a file below FAULTS_DIR, read whenever a service comes to the point it is about."""
import fcntl
import json
import os
import re


def _file(name):
    return os.path.join(os.environ['FAULTS_DIR'], name)


def read(name, default=''):
    try:
        with open(_file(name)) as f:
            return f.read().strip()
    except FileNotFoundError:
        return default


def seconds(name, default=0.0):
    return float(read(name) or default)


def happens(name):
    """True as many times as the number in the file says, which counts down."""
    try:
        f = open(_file(name), 'r+')
    except FileNotFoundError:
        return False
    with f:
        fcntl.flock(f, fcntl.LOCK_EX)
        left = int(f.read().strip() or 0)
        if left <= 0:
            return False
        f.seek(0)
        f.truncate()
        f.write(str(left - 1))
        return True


def for_request(name, method, path):
    """The fault for an HTTP request, counted down; None when there is none."""
    try:
        f = open(_file(name), 'r+')
    except FileNotFoundError:
        return None
    with f:
        fcntl.flock(f, fcntl.LOCK_EX)
        fault = json.loads(f.read() or '{}')
        left = fault.get('times', 1)
        if left <= 0 or fault.get('method', method) != method or not re.search(fault.get('path', ''), path):
            return None
        if 'times' in fault:
            f.seek(0)
            f.truncate()
            f.write(json.dumps({**fault, 'times': left - 1}))
        return fault
