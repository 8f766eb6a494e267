// with-build.mjs SCRIPT [ARGUMENT...]: installs and builds what the script needs, then runs a built script of this repository.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { clearInterval, setInterval } from 'node:timers';
import { ensureBuilt, root } from './ensure.mjs';

/** Drivers that no code refers to, but that `nodepool init --cloud` loads: a run of the quick start names it as a next step. */
const CLOUDS = ['packages/driver-openstack', 'packages/driver-gce', 'packages/driver-incus'];
/** How often to check whether the parent process, mostly npm, still runs. */
const WATCH_MS = 1000;

const [script, ...args] = process.argv.slice(2);
if (script === undefined) {
  console.error('usage: with-build.mjs SCRIPT [ARGUMENT...]');
  process.exit(2);
}
/** Parent and, where it can be known, its parent: npm starts scripts through a shell, which outlives npm. */
function ancestors() {
  try {
    const [, , grandparent] = readFileSync(`/proc/${process.ppid}/stat`, 'utf8')
      .replace(/^.*\) /, '0 ')
      .split(' ');
    return `${process.ppid} ${grandparent}`;
  } catch {
    return `${process.ppid}`; // a system without /proc
  }
}

const started = ancestors();
const wantsHelp = args.some((arg) => arg === '--help' || arg === '-h');
const project = script.replace(/\/dist\/.*/, '');
const help = `${root}${project}/help.txt`;
if (wantsHelp && existsSync(help)) {
  process.stdout.write(readFileSync(help));
  process.exit();
}
// help is the same in the build of before
if (!wantsHelp || !existsSync(`${root}${script}`)) {
  console.error('Installing and building what is missing (up to a minute the first time) ...');
  await ensureBuilt(project, ...(project === 'quickstart' ? CLOUDS : []));
}
// the channel tells the script when this process is gone, however that ended
const child = spawn(process.execPath, [`${root}${script}`, ...args], {
  stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
});
// the terminal sends Ctrl-C to both processes: the script decides what it means, and this one waits for it
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    if (signal !== 'SIGINT') child.kill(signal);
  });
}
const watch = setInterval(() => {
  if (ancestors() === started) return;
  clearInterval(watch);
  child.kill('SIGTERM');
}, WATCH_MS);
child.on('error', (error) => {
  throw error;
});
child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
