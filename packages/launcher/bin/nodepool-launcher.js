#!/usr/bin/env node

import { setFlagsFromString } from 'node:v8';

// V8 optimizes functions at half the pace until the service has started: most code of a start runs once, and compiling it took a
// sixth of the CPU of the start. Later versions of V8 count differently.
const setPace = (budget) => process.version.startsWith('v20.') && setFlagsFromString(`--interrupt-budget=${budget}`);
setPace(264 * 1024);
// A signal to reload may come before the program is loaded: it is to read its configuration anyway.
process.on('SIGHUP', () => {});
const { main } = await import('../dist/main.js');

await main(process.argv.slice(2));
setPace(132 * 1024); // V8's own
