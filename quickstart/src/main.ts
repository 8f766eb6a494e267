// npm start [-- OPTION... LABEL...]: all of Nodepool on this machine. See README.md; scripts/with-build.mjs prints the help.
import { readArguments } from './arguments.js';
import { run } from './quick-start.js';
import { QuickStartError } from './terminal.js';

try {
  await run(readArguments(process.argv.slice(2)));
} catch (error) {
  console.error(error instanceof QuickStartError ? error.message : error);
  process.exitCode = 1;
}
