"""Placement."""
import real_threads  # noqa: F401 (before the service)
from placement.wsgi import init_application

application = init_application()
