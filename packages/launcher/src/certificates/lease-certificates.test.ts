import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger, type Config, type ProviderConfig } from '@nodepool/core';
import type { Leases } from '@nodepool/core/launcher';
import {
  CERTIFICATES_KEY,
  newLease,
  newNode,
  newPoolComponent,
  type CertificateMode,
  type LauncherId,
  type LeaseRecord,
  type NodeId,
  type PoolComponentRecord,
} from '@nodepool/zk-protocol';
import { LeaseCertificates } from './lease-certificates.js';

const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHgB2vVYcEHh2rAsxVBbX4gAIuU5j1dYGY4mrlzVvaxo';
const MINUTE_MS = 60_000;
const ID = '0000000001' as NodeId;
const node = { ...newNode({ state: 'hold', username: 'zuul', provider: 'rack', interfaceIp: '192.0.2.7' }, 0), id: ID };

let directory: string;
let ca: string;
let nowMs: number;
let lease: LeaseRecord;
let config: Pick<Config, 'leaseCaKey' | 'providers'>;
let pools: PoolComponentRecord[];
let certificates: LeaseCertificates;
let changed: Parameters<Leases['onChange']>[0];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'nodepool-lease-certificates-'));
  ca = join(directory, 'ca');
  await promisify(execFile)('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', ca]);
});

afterAll(() => rm(directory, { recursive: true, force: true }));

const pool = (providerName: string, supportedLabels: string[], mode?: CertificateMode) =>
  newPoolComponent({
    ...{ hostname: 'h', version: '1', launcherId: 'x' as LauncherId, name: 'main' },
    ...{ providerName, supportedLabels, raw: mode ? { [CERTIFICATES_KEY]: mode } : {} },
  });

const providersOf = (mode: string | undefined) =>
  new Map([['rack', { entry: mode === undefined ? {} : { 'lease-certificates': mode } } as unknown as ProviderConfig]]);

beforeEach(() => {
  nowMs = Date.UTC(2030, 0, 2, 3, 4, 5);
  const fields = { id: 'l1', owner: 'alice', token: 'alice', labels: ['small'], ttlMs: 1, digest: 'd', keeper: 'k' };
  lease = { ...newLease({ ...fields, publicKey: KEY }, nowMs), state: 'active', nodeIds: [ID] };
  config = { leaseCaKey: ca, providers: providersOf('user') };
  pools = [];
  certificates = new LeaseCertificates({
    leases: {
      get: () => lease,
      now: () => nowMs,
      onChange: (listener) => {
        changed = listener;
        return () => {};
      },
    },
    ...{ pools: () => pools, config: () => config, logger: silentLogger, path: process.env['PATH'] },
  });
});

afterEach(() => certificates.close());

const ask = async (endMs: number) =>
  (await certificates.of({ lease, nodes: [node], request: undefined, endMs })).get(ID);

async function shown(line: string | undefined): Promise<string> {
  const file = join(directory, 'x-cert.pub');
  await writeFile(file, line ?? '');
  return (await promisify(execFile)('ssh-keygen', ['-L', '-f', file], { env: { ...process.env, TZ: 'UTC' } })).stdout;
}

describe('a certificate', () => {
  it('is valid for ten minutes, names lease, owner and label, and begins before clocks that are behind', async () => {
    const certificate = await ask(nowMs + 60 * MINUTE_MS);

    expect(certificate).toMatchObject({ untilMs: nowMs + 10 * MINUTE_MS, problem: undefined });
    const text = await shown(certificate?.line);
    expect(text).toContain('Valid: from 2030-01-02T02:59:05 to 2030-01-02T03:14:05');
    expect(text).toContain('Key ID: "lease=l1 owner=alice label=small"');
    expect(text).toMatch(/Principals: \n\s+zuul\n\s+Critical/);
  });

  it('ends with its lease', async () => {
    expect((await ask(nowMs + 3 * MINUTE_MS))?.untilMs).toBe(nowMs + 3 * MINUTE_MS);
  });

  it('is given again while half of its time is left, to any number of calls at a time', async () => {
    const endMs = nowMs + 60 * MINUTE_MS;
    const [first, ...others] = await Promise.all(Array.from({ length: 100 }, () => ask(endMs)));
    expect(new Set([first, ...others].map((each) => each?.line)).size).toBe(1);

    nowMs += 5 * MINUTE_MS;
    expect((await ask(endMs))?.line).toBe(first?.line);
    nowMs += 1;
    expect((await ask(endMs))?.untilMs).toBe(nowMs + 10 * MINUTE_MS);
  });

  it('is signed again when the end of the lease moves', async () => {
    const first = await ask(nowMs + 9 * MINUTE_MS);
    expect((await ask(nowMs + 8 * MINUTE_MS))?.untilMs).toBe(nowMs + 8 * MINUTE_MS);
    expect(first?.untilMs).toBe(nowMs + 9 * MINUTE_MS);
    expect((await ask(nowMs + 60 * MINUTE_MS))?.untilMs).toBe(nowMs + 8 * MINUTE_MS);
    nowMs += 4 * MINUTE_MS;
    expect((await ask(nowMs + 60 * MINUTE_MS))?.untilMs).toBe(nowMs + 10 * MINUTE_MS);
  });

  it('is for one host where the machines want it', async () => {
    config = { ...config, providers: providersOf('host') };
    expect(await shown((await ask(nowMs + MINUTE_MS))?.line)).toContain('zuul@192.0.2.7');
  });

  it.each([
    ['of a lease without a key', () => (lease = { ...lease, publicKey: null })],
    ['of a lease that is over', () => (lease = { ...lease, state: 'ended' })],
    ['of a provider whose machines trust none', () => (config = { ...config, providers: providersOf(undefined) })],
    ['of a launcher without a key of a CA', () => (config = { ...config, leaseCaKey: undefined })],
  ])('is not there for nodes %s', async (_what, change) => {
    change();
    expect(await ask(nowMs + MINUTE_MS)).toBeUndefined();
  });

  it('is forgotten with its lease', async () => {
    const first = await ask(nowMs + 60 * MINUTE_MS);
    changed({ id: 'l1', before: lease, after: { ...lease, state: 'ended' } });
    nowMs += 2_000;
    expect((await ask(nowMs + 60 * MINUTE_MS))?.line).not.toBe(first?.line);
  });
});

describe('a key of a CA that cannot sign', () => {
  // Ends: LeaseCaUnusable NotSigned
  it('is a condition until it can, and the lessee reads whom to ask', async () => {
    config = { ...config, leaseCaKey: join(directory, 'none') };
    const failed = await ask(nowMs + MINUTE_MS);

    expect(failed?.line).toBeUndefined();
    expect(failed?.problem).toContain('an operator finds the reason');
    expect(failed?.problem).not.toContain(directory);
    expect(certificates.conditions()).toMatchObject([{ type: 'LeaseCaUnusable', name: join(directory, 'none') }]);

    config = { ...config, leaseCaKey: ca };
    expect(certificates.conditions()).toEqual([]);
    nowMs += 1_000;
    expect((await ask(nowMs + MINUTE_MS))?.line).toBeUndefined();
    nowMs += 5_000;
    expect((await ask(nowMs + MINUTE_MS))?.line).toBeDefined();
  });

  it('is not what a lessee with an unusable key reads, nor a condition', async () => {
    lease = { ...lease, publicKey: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAAXg=' };
    expect((await ask(nowMs + MINUTE_MS))?.problem).toContain('request one with another key');
    expect(certificates.conditions()).toEqual([]);
  });
});

describe('labels whose machines take certificates', () => {
  it('are those of which each provider does, as its own launcher or others say', () => {
    pools = [
      pool('rack', ['small', 'both']), // the original beside it
      pool('other', ['theirs'], 'user'),
      pool('cloud', ['big', 'both']),
    ];
    expect(certificates.providersWithout()).toEqual(
      new Map([
        ['small', []],
        ['both', ['cloud']],
        ['theirs', []],
        ['big', ['cloud']],
      ]),
    );
  });

  it('are strict where launchers disagree, and a record of another changes nothing for an own provider', async () => {
    const elsewhere = { ...node, provider: 'other' };
    pools = [
      pool('other', ['a'], 'user'),
      pool('other', ['a'], 'host'),
      pool('other', ['a']),
      pool('rack', ['b'], 'user'),
    ];
    const view = { lease, nodes: [elsewhere], request: undefined, endMs: nowMs + MINUTE_MS };
    expect(await shown((await certificates.of(view)).get(ID)?.line)).toContain('zuul@192.0.2.7');

    config = { ...config, providers: providersOf(undefined) };
    expect(certificates.providersWithout().get('b')).toEqual(['rack']);
  });
});
