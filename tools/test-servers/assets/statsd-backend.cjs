// A statsd backend that hands every flush to the parent process.
'use strict';

exports.init = (_startupTime, _config, events) => {
  events.on('flush', (_timestamp, { counters, gauges, timers }) => process.send({ counters, gauges, timers }));
  return true;
};
