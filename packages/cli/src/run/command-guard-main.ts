import { rmSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { endProcesses } from './end-processes.js';
import { findChild } from './process-table.js';
import type { ProcessEntry } from './process-table.js';

// The process that `CommandGuard` starts. Its orders are lines of its standard input; the end of the input without an
// order means that the process that started it was killed.
const [marker = '', directory = '', killedText = ''] = process.argv.slice(2);
let root: ProcessEntry | undefined;
let order = 'killed';

/** The command has the same standard error, and `process.stderr` would make it non-blocking for both. */
function inform(text: string): void {
  try {
    writeSync(2, `nodepool: ${text}\n`);
  } catch {
    // The terminal is gone.
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const [word = '', value] = line.split(' ');
  if (word === 'command') root = await findChild(Number(value), process.ppid);
  else {
    order = word;
    break;
  }
}
if (order === 'killed') inform(killedText);
if (order !== 'done') {
  const running = await endProcesses({ marker, root });
  for (const each of running) inform(`process ${each.pid} of the command could not be ended; end it by hand`);
  rmSync(directory, { recursive: true, force: true });
}
process.exit();
