// Loaded into each program the quick start runs, before the program itself: asks it to stop when the quick start is gone,
// however that ended.
import { spawn } from 'node:child_process';
import { Socket } from 'node:net';

/** Nothing is written to it: it closes when the process at the other end is gone. */
const LIFELINE_FD = 3;

/** What is to be run when the program has stopped because of that: script and arguments, as JSON. */
const afterwards = process.env['QUICKSTART_AFTERWARDS'];
delete process.env['QUICKSTART_AFTERWARDS'];

const lifeline = new Socket({ fd: LIFELINE_FD, readable: true, writable: false });
lifeline.on('error', () => {}); // `close` follows
lifeline.on('close', () => {
  if (afterwards !== undefined) {
    process.once('exit', () => {
      spawn(process.execPath, JSON.parse(afterwards) as string[], { detached: true, stdio: 'ignore' }).unref();
    });
  }
  process.kill(process.pid, 'SIGTERM');
});
lifeline.resume();
lifeline.unref();
