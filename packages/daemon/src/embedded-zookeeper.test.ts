import { chmod, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type LogFields, silentLogger } from '@nodepool/core';
import type { EmbeddedAccess } from '@nodepool/core/config';
import { startEmbeddedZooKeeper } from './embedded-zookeeper.js';

let base: string;
let stateDir: string;
let usualMask: number;
let warnings: [message: string, fields: LogFields | undefined][];
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'nodepool-embedded-'));
  stateDir = join(base, 'a', 'state');
  usualMask = process.umask();
  warnings = [];
});
afterEach(async () => {
  process.umask(usualMask);
  await rm(base, { recursive: true });
});

async function startAndEnd(embeddedAccess: EmbeddedAccess): Promise<void> {
  const warn = (message: string, fields?: LogFields) => void warnings.push([message, fields]);
  const settings = { embeddedAccess, embeddedPort: undefined };
  const server = await startEmbeddedZooKeeper(stateDir, settings, { ...silentLogger, warn });
  await server.close();
}
const modeOf = async (path: string) => ((await stat(path)).mode & 0o7777).toString(8);

describe('the state directory of the embedded server', () => {
  it.each([
    ['owner', 0o077, '700'],
    ['group', 0o077, '750'],
    ['anyone', 0o077, '755'],
    ['owner', 0o022, '755'],
    ['group', 0o022, '755'],
  ] as const)('lets those in who may use the server: %s with the mask %o', async (access, mask, mode) => {
    process.umask(mask);

    await startAndEnd(access);

    expect([await modeOf(stateDir), await modeOf(dirname(stateDir))]).toEqual([mode, mode]);
    expect(warnings).toEqual([]);
  });

  it.each([
    ['owner', undefined],
    ['group', 'chmod g+x '],
    ['anyone', 'chmod a+x '],
  ] as const)('that exists is left as it is, with a warning if it keeps users off: %s', async (access, remedy) => {
    await startAndEnd('owner');
    await chmod(stateDir, 0o700);

    await startAndEnd(access);

    expect(await modeOf(stateDir)).toBe('700');
    expect(warnings.map(([, fields]) => fields?.['remedy'])).toEqual(remedy ? [remedy + stateDir] : []);
  });
});
