// npm start [-- OPTION... LABEL...]: all of Nodepool on this machine. See README.md.
import { HELP, readArguments } from './arguments.js';
import { QuickStartError } from './terminal.js';

try {
  const options = readArguments(process.argv.slice(2));
  if (options.help) console.log(HELP);
  else {
    // loads what the help can do without
    const { run } = await import('./quick-start.js');
    await run(options);
  }
} catch (error) {
  console.error(error instanceof QuickStartError ? error.message : error);
  process.exitCode = 1;
}
