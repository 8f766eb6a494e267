#!/usr/bin/env node

// A signal to reload may come before the program is loaded: it is to read its configuration anyway.
process.on('SIGHUP', () => {});
const { main } = await import('../dist/main.js');

await main(process.argv.slice(2));
