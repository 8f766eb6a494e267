"""Keystone behind the filter for faults."""
from keystone.server.wsgi import initialize_public_application

import http_faults

application = http_faults.Filter(initialize_public_application(), 'http-keystone')
