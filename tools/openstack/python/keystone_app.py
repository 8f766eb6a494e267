"""Keystone behind the filter for faults."""
import real_threads  # noqa: F401 (before the service)
from keystone.server.wsgi import initialize_public_application

import http_faults

application = http_faults.Filter(initialize_public_application(), 'http-keystone')
