"""A filter in front of each service's API that answers in its place when a fault asks for it."""
import http.client
import time

import faults


def factory(_conf, service):
    return lambda app: Filter(app, 'http-' + service)


class Filter:
    def __init__(self, app, name):
        self._app = app
        self._name = name

    def __call__(self, environ, start_response):
        path = environ.get('SCRIPT_NAME', '') + environ.get('PATH_INFO', '')
        fault = faults.for_request(self._name, environ['REQUEST_METHOD'], path)
        if fault is None:
            return self._app(environ, start_response)
        if fault.get('after'):
            self._do(environ)
        time.sleep(fault.get('delay', 0))
        while fault.get('hold') and faults.read(self._name):
            time.sleep(0.5)
        if 'status' not in fault:
            return self._app(environ, start_response)
        status = fault['status']
        body = fault.get('body', 'injected').encode()
        headers = {'Content-Type': 'text/plain', 'Content-Length': str(len(body))}
        headers.update(fault.get('headers', {}))
        start_response('%d %s' % (status, http.client.responses.get(status, 'Unknown')), list(headers.items()))
        return [body]

    def _do(self, environ):
        """The service does what is asked; the answer is thrown away."""
        answer = self._app(environ, lambda status, headers, exc_info=None: lambda data: None)
        for _ in answer:
            pass
        if hasattr(answer, 'close'):
            answer.close()
