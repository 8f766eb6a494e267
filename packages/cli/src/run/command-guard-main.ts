import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { endProcesses } from './end-processes.js';

// The process that `CommandGuard` starts. Its standard input tells what to do; its end without a word means that
// `nodepool run` was killed.
const [marker = '', directory = ''] = process.argv.slice(2);
let pid: number | undefined;
let order = 'killed';

/** Standard error may be a terminal that is gone. */
process.stderr.on('error', () => {});
const tell = (text: string) => process.stderr.write(`nodepool: ${text}\n`);

for await (const line of createInterface({ input: process.stdin })) {
  const [word = '', value] = line.split(' ');
  if (word === 'command') pid = Number(value);
  else {
    order = word;
    break;
  }
}
if (order === 'killed') tell('nodepool run was killed; ending the command');
if (order !== 'done') {
  const running = await endProcesses({ marker, pid });
  for (const each of running) tell(`process ${each.pid} of the command could not be ended; end it by hand`);
  rmSync(directory, { recursive: true, force: true });
}
process.exit();
