import { expect, it } from 'vitest';
import { KeyScanError } from './errors.js';
import { resolveAddress, runScanStage, type ScanWork } from './scan-stages.js';
import type { HostScan } from './host-scan.js';

const NEVER = new AbortController().signal;
const lookup = () => Promise.resolve({ address: '192.0.2.1', family: 4 as const });
const work = (wantsKeys: boolean, begun: string[]): ScanWork => ({
  ...{ host: 'host1', port: 22, lookup, wantsKeys, signal: NEVER },
  begin: (address) => {
    begun.push(address);
    return {} as HostScan;
  },
});

it.each([
  [true, 'first-handshake'],
  [false, 'reaching-port'],
])('scans the first address of the host (keys: %s)', async (wantsKeys, stage) => {
  const begun: string[] = [];

  const next = await runScanStage({ name: 'resolving-name' }, work(wantsKeys, begun));

  expect(next.name).toBe(stage);
  expect(begun).toEqual(['192.0.2.1']);
});

it('explains what to do about a name without an address', async () => {
  const missing = { host: 'host1', port: 22, lookup: () => Promise.reject(new Error('ENOTFOUND')) };

  const error: unknown = await resolveAddress(missing, NEVER).catch((reason: unknown) => reason);

  expect(error).toBeInstanceOf(KeyScanError);
  expect(error).toMatchObject({
    failure: 'unresolved',
    message: 'host1 port 22: the name has no address (ENOTFOUND): correct it or add it to the name service',
  });
});

it('ends with the reason of the signal', async () => {
  const hanging = { host: 'host1', port: 22, lookup: () => new Promise<never>(() => undefined) };

  await expect(resolveAddress(hanging, AbortSignal.abort(new Error('stopped')))).rejects.toThrow('stopped');
});
