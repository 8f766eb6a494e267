import { expect, it } from 'vitest';
import { KeyScanError } from './errors.js';
import { resolveAddresses } from './resolve.js';

const NEVER = new AbortController().signal;

it('explains what to do about a name without an address', async () => {
  const missing = { host: 'host1', port: 22, lookup: () => Promise.reject(new Error('ENOTFOUND')) };

  const error: unknown = await resolveAddresses(missing, NEVER).catch((reason: unknown) => reason);

  expect(error).toBeInstanceOf(KeyScanError);
  expect(error).toMatchObject({
    failure: 'unresolved',
    message: 'host1 port 22: the name has no address (ENOTFOUND): correct it or add it to the name service',
  });
});

it('ends with the reason of the signal', async () => {
  const hanging = { host: 'host1', port: 22, lookup: () => new Promise<never>(() => undefined) };

  await expect(resolveAddresses(hanging, AbortSignal.abort(new Error('stopped')))).rejects.toThrow('stopped');
});
