"""For services whose requests are served by real threads: logs get no locks made for eventlet, with which one may wait indefinitely."""
from oslo_log import log

log._fix_eventlet_logging = lambda: None
