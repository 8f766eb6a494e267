import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageFiles } from '../../../test/support/driver-packages.js';
import { plainDriver } from '../../../test/support/plain-driver.js';
import { tempDir } from '../../../test/support/temp-dir.js';
import { VirtualClock } from '../../testing/virtual-clock.js';
import { createDriverRegistry } from './registry.js';

describe('the registry', () => {
  it('loads a driver once and resets it', async () => {
    const registry = createDriverRegistry({ searchFrom: [tempDir(packageFiles('node_modules', 'nodepool-driver-x'))] });

    const [first, second] = await Promise.all([registry.get('x'), registry.get('x')]);
    await registry.reset();

    expect(first).toBe(second);
    expect(first).toMatchObject({ resets: 1 });
    expect(registry.loaded().map(({ packageName }) => packageName)).toEqual(['nodepool-driver-x']);
  });

  it('prefers a built-in driver without searching for a package', async () => {
    const given = plainDriver('x');
    const registry = createDriverRegistry({ searchFrom: ['/nowhere'], drivers: [given] });

    expect(await registry.get('x')).toBe(given);
    expect(registry.loaded()).toEqual([]);
  });

  it('searches again for a driver that was missing', async () => {
    const dir = tempDir({});
    const registry = createDriverRegistry({ searchFrom: [dir] });
    await expect(registry.get('x')).rejects.toThrow('driver "x" is not installed');
    for (const [name, content] of Object.entries(packageFiles('node_modules', 'nodepool-driver-x'))) {
      mkdirSync(dirname(join(dir, name)), { recursive: true });
      writeFileSync(join(dir, name), content);
    }

    expect((await registry.get('x')).name).toBe('x');
  });
});

describe('a registry whose driver cannot be reset', () => {
  it('names the driver', async () => {
    const driver = plainDriver('x', {
      reset: () => {
        throw new Error('stuck');
      },
    });
    const registry = createDriverRegistry({ searchFrom: [], drivers: [driver] });

    await expect(registry.reset()).rejects.toThrow('driver "x" cannot drop its state: stuck');
  });

  it('names the driver that hangs', async () => {
    const clock = new VirtualClock();
    const driver = plainDriver('x', { reset: () => new Promise<void>(() => undefined) });
    const registry = createDriverRegistry({ searchFrom: [], drivers: [driver], clock });

    await expect(clock.run(registry.reset())).rejects.toThrow(
      'driver "x" cannot drop its state: its reset has not ended within 15 s',
    );
  });
});
