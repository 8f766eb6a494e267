// with-build.mjs SCRIPT [ARGUMENT...]: installs and builds what the script needs, then runs a built script of this repository.
import { spawn } from 'node:child_process';
import { ensureBuilt, root } from './ensure.mjs';

const [script, ...args] = process.argv.slice(2);
if (script === undefined) {
  console.error('usage: with-build.mjs SCRIPT [ARGUMENT...]');
  process.exit(2);
}
ensureBuilt(script.replace(/\/dist\/.*/, ''));
const child = spawn(process.execPath, [`${root}${script}`, ...args], { stdio: 'inherit' });
// the terminal sends Ctrl-C to both processes: the script decides what it means, and this one waits for it
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    if (signal !== 'SIGINT') child.kill(signal);
  });
}
child.on('error', (error) => {
  throw error;
});
child.on('exit', (code) => process.exit(code ?? 1));
