#!/usr/bin/env python3
"""Inventory of Ansible: the nodes of your active leases, by name, with a group for each label and with their host keys.

NODEPOOL_SERVER and NODEPOOL_TOKEN_FILE say where, NODEPOOL_LEASES which leases (ids with blanks between; default: all of yours).
"""
import json
import os
import re
import sys
import tempfile
import urllib.request


def fetch_leases():
    """Active leases of the owner of the token, oldest first."""
    server = os.environ["NODEPOOL_SERVER"].rstrip("/")
    with open(os.environ["NODEPOOL_TOKEN_FILE"], encoding="utf-8") as file:
        token = file.read().strip()
    request = urllib.request.Request(server + "/api/v1/leases?state=active&limit=500", headers={"Authorization": "Bearer " + token})
    with urllib.request.urlopen(request, timeout=30) as response:
        leases = json.load(response)
    wanted = os.environ.get("NODEPOOL_LEASES", "").split()
    return sorted((each for each in leases if not wanted or each["id"] in wanted), key=lambda each: each["created_time"])


def checked(value, pattern, what):
    """Text that neither ssh nor Ansible takes for something else."""
    if not re.fullmatch(pattern, str(value)):
        raise ValueError("%s of a node is %r, which the inventory cannot contain" % (what, value))
    return value


def write_known_hosts(lines):
    """A file that stays: ssh reads it later. @returns its path"""
    directory = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "nodepool")
    os.makedirs(directory, mode=0o700, exist_ok=True)
    handle, path = tempfile.mkstemp(dir=directory)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in lines)
    final = os.path.join(directory, "known_hosts")
    os.replace(path, final)
    return final


def host_variables(node, known_hosts):
    """What Ansible needs to log in."""
    return {
        "ansible_host": checked(node["host"], r"[A-Za-z0-9.:_%-]+", "host"),
        "ansible_port": int(node["port"]),
        "ansible_user": checked(node["username"], r"[A-Za-z0-9._][A-Za-z0-9._-]*", "username"),
        "ansible_ssh_common_args": "-o UserKnownHostsFile='%s' -o StrictHostKeyChecking=yes" % known_hosts,
    }


def inventory(leases):
    nodes = [node for lease in leases for node in lease["nodes"] if node["connection_type"] == "ssh"]
    known_hosts = write_known_hosts([line for node in nodes for line in node["known_hosts"]])
    groups, variables = {}, {}
    for node in nodes:
        group = re.sub(r"[^A-Za-z0-9_]", "_", node["label"])
        members = groups.setdefault("label_" + group, {"hosts": []})["hosts"]
        name = "%s-%d" % (group, len(members) + 1)
        members.append(name)
        variables[name] = host_variables(node, known_hosts)
    return {"_meta": {"hostvars": variables}, **groups}


if __name__ == "__main__":
    try:
        json.dump(inventory(fetch_leases()), sys.stdout, indent=2)
    except (OSError, KeyError, ValueError) as error:
        sys.exit("nodepool: %s: %s" % (type(error).__name__, error))
