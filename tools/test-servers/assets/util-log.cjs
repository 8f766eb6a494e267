// statsd 0.9 calls util.log, which Node 23 and newer do not have.
'use strict';

const util = require('node:util');

util.log ??= (...parts) => console.log(...parts);
