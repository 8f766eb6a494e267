"""entry_point.py NAME ARGS...: runs a console script of an installed Debian package of code (python3-*)."""
import importlib.metadata
import os
import sys

if __name__ == '__main__':
    name = sys.argv[1]
    (script,) = list(importlib.metadata.entry_points(group='console_scripts', name=name))[:1]
    sys.argv = sys.argv[1:]
    run = script.load()
    if name == 'nova-compute':
        # virt drivers are loaded from this name space alone
        import nova.virt
        nova.virt.__path__.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'nova_virt'))
    sys.exit(run())
