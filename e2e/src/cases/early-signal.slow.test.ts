import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

/** Sends the signal while the program is loading. */
const HOOKS = `
export async function load(url, context, next) {
  if (url.endsWith('/dist/main.js')) process.kill(process.pid, 'SIGHUP');
  return next(url, context);
}`;
const moduleOf = (text: string) => `data:text/javascript,${encodeURIComponent(text)}`;
const REGISTER = moduleOf(`import { register } from 'node:module'; register(${JSON.stringify(moduleOf(HOOKS))});`);

it.each(['launcher', 'builder'])('a %s that receives a reload signal while it loads starts normally', (name) => {
  const program = fileURLToPath(new URL(`../../../packages/${name}/bin/nodepool-${name}.js`, import.meta.url));

  const { status, signal, stdout } = spawnSync(process.execPath, ['--import', REGISTER, program, '--version'], {
    encoding: 'utf8',
  });

  expect({ status, signal }).toEqual({ status: 0, signal: null });
  expect(stdout).toMatch(/ \d+\.\d+\.\d+\n$/);
});
