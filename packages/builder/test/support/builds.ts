import { randomUUID } from 'node:crypto';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { useWorld } from './use-world.js';
import { MAKE_IMAGE, type World } from './world.js';

/** Options for waiting for a builder. */
export const WAIT = { timeout: 50_000, interval: 20 };

/** YAML of the image `debian`. Variables control its build tool. */
export function debian(env: Readonly<Record<string, string>> = {}, more = ''): string {
  const variables = Object.entries(env).map(([name, value]) => `    ${name}: ${JSON.stringify(value)}\n`);
  return (
    `- name: debian\n  dib-cmd: ${MAKE_IMAGE}\n  elements: [vm]\n  release: 12\n${more}` +
    `  env-vars:\n    X: x\n${variables.join('')}`
  );
}

/** Starts worlds with the image `debian`. Each is stopped after its test. */
export function useBuilds(): (env?: Readonly<Record<string, string>>, more?: string) => Promise<World> {
  const start = useWorld();
  return (env, more) => start({ diskimages: debian(env, more) });
}

/** Contents of all build logs. */
export async function logs({ dir }: World): Promise<string[]> {
  const names = await readdir(join(dir, 'logs'));
  return Promise.all(names.map((name) => readFile(join(dir, 'logs', name), 'utf8')));
}

/** Path of a file that a build waits for, outside the builder's directories. Removed after the test. */
export function newGate(): string {
  const gate = join('/tmp', `builder-gate-${randomUUID()}`);
  onTestFinished(() => rm(gate, { force: true }));
  return gate;
}
