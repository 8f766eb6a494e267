import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { MarkedOutput } from './marked-output.js';

/** Runs a script whose first argument is the marker. */
async function run(script: string) {
  const marked = new MarkedOutput('node 1', 'pipe');
  spawn('sh', ['-c', script, 'sh', marked.marker], { stdio: ['ignore', marked.input, 'ignore'] });
  marked.release();
  const output = await text(marked.output);
  return { output, why: await marked.end() };
}

it.each([
  ['', 'data\n'],
  ['echo hi', 'data\n'],
  ['printf "no end of line"', 'data\n'],
  ['head -c 20000 /dev/urandom; echo; echo "nodepool-00"', 'data\n'],
])('is what follows the marker, after the output of %j', async (before, output) => {
  expect(await run(`${before}\nprintf '\\n%s\\n' "$1"; echo data`)).toEqual({ output, why: undefined });
});

it('may hold the marker, may be binary, and may be empty', async () => {
  expect((await run(`echo "$1"; echo "$1"; printf 'a\\000\\377\\nb'`)).output).toMatch(/^nodepool-\w+\na\0.\nb$/s);
  expect(await run('echo "$1"')).toEqual({ output: '', why: undefined });
});

it('names start files and login shells if the marker is missing', async () => {
  const { output, why } = await run(`printf '\\033[2JThis account is not available\\n'`);

  expect(output).toBe('');
  expect(why).toMatch(/^the login shell of node 1 did not begin .* nologin .* start file such as \.bashrc/);
});

it('comes although the process group gets a signal', async () => {
  expect((await run(`echo "$1"; trap : INT; kill -s INT $$; echo after`)).output).toBe('after\n');
});
