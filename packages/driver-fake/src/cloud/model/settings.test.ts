import { describe, expect, it } from 'vitest';
import { readSettings, withSetting } from './settings.js';

describe('readSettings', () => {
  it('have no limits, no delays and no failures by default', () => {
    const settings = readSettings({});

    expect(settings.quota).toEqual({ instances: Infinity, cores: Infinity, ram: Infinity });
    expect(settings.times['create-time']).toEqual({ kind: 'fixed', ms: 0 });
    expect(new Set(Object.values(settings.failures))).toEqual(new Set([0]));
    expect(settings).toMatchObject({ zones: [], flavors: undefined, images: undefined, brokenImages: [] });
    expect(settings.ssh.enabled).toBe(false);
  });

  it('sort flavors by size', () => {
    const { flavors } = readSettings({
      flavors: [
        { name: 'big', ram: 8192, cores: 4 },
        { name: 'tiny', ram: 512 },
      ],
    });

    expect(flavors).toEqual([
      { name: 'tiny', ram: 512, cores: 1 },
      { name: 'big', ram: 8192, cores: 4 },
    ]);
  });

  it('enable SSH by a flag or by any of its keys', () => {
    expect(readSettings({ ssh: true }).ssh).toMatchObject({ enabled: true, address: '127.0.0.1', hostKeys: 'shared' });
    expect(readSettings({ ssh: { 'host-keys': 'per-instance' } }).ssh.enabled).toBe(true);
    expect(readSettings({ ssh: { enabled: false } }).ssh.enabled).toBe(false);
  });

  it.each([
    [{ nonsense: 1 }, '"nonsense" is no setting of the cloud'],
    [{ failures: { nonsense: 1 } }, '"failures.nonsense" is no setting of the cloud'],
    [{ failures: { quota: 2 } }, 'expected a rate from 0 (never) to 1 (always)'],
    [{ failures: [] }, '"failures" must be a map'],
    [{ quota: { ram: 1.5 } }, 'expected a whole number, or -1 for no limit'],
    [{ images: ['a', 1] }, 'expected a list of strings'],
    [{ flavors: [{ name: 'big' }] }, '"flavors" must be a list of'],
    [{ ssh: { address: '0.0.0.0' } }, 'expected a loopback address'],
    [{ ssh: { 'host-keys': 'none' } }, 'must be "shared" or "per-instance"'],
  ])('reject %j', (json, message) => {
    expect(() => readSettings(json)).toThrow(message);
  });
});

describe('withSetting', () => {
  it('sets and removes a value at a path', () => {
    const set = withSetting({ 'create-time': 1 }, 'failures.quota', 0.5);

    expect(set).toEqual({ 'create-time': 1, failures: { quota: 0.5 } });
    expect(withSetting(set, 'failures.quota', null)).toEqual({ 'create-time': 1, failures: {} });
  });

  it('keeps the flag of "ssh" beside its keys', () => {
    expect(withSetting({ ssh: false }, 'ssh.address', '127.0.0.2')).toEqual({
      ssh: { enabled: false, address: '127.0.0.2' },
    });
  });

  it('rejects the path of a prototype', () => {
    expect(() => withSetting({}, '__proto__.polluted', 1)).toThrow('is no setting');
  });
});
