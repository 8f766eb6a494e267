#!/usr/bin/env node
import { main } from '../dist/cloud/program/main.js';

process.exitCode = await main(process.argv.slice(2), {
  print: (text) => process.stdout.write(`${text}\n`),
  printError: (text) => process.stderr.write(`nodepool-fake-cloud: ${text}\n`),
  onStop: (stop) => {
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, stop);
  },
});
