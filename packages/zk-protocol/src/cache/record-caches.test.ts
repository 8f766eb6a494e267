import { describe, expect, it } from 'vitest';
import { recordingLogger, until } from '../../test/support/clients.js';
import { idOf, World } from '../../test/support/world.js';
import { systemClock } from '../base/clock.js';
import { newLockEntryPrefix } from '../recipes/lock-entries.js';
import { createComponentCache, createRequestCache } from './record-caches.js';

const world = new World();
const { logger } = recordingLogger();

describe('a record cache', () => {
  it('mirrors requests with their locks, which are in a separate tree', async () => {
    const [zk, other] = await Promise.all([world.session(), world.session()]);
    await zk.ensurePath('/nodepool/requests');
    await zk.ensurePath('/nodepool/requests-lock');
    const body = '{"state": "requested", "node_types": ["small"]}';
    const first = idOf(await zk.create('/nodepool/requests/200-', body, { sequential: true }));
    await zk.ensurePath(`/nodepool/requests-lock/${first}`);
    const requests = world.stopping(createRequestCache({ zk, clock: systemClock, logger }));
    await requests.start();
    const locks: [string, number][] = [];
    requests.onLockChange((id, contenders) => locks.push([id, contenders]));
    expect(requests.get(first)).toMatchObject({ labels: ['small'], reuse: true });
    expect(requests.hasLockDirectory(first)).toBe(true);

    const second = idOf(await other.create('/nodepool/requests/200-', body, { sequential: true }));
    await other.ensurePath(`/nodepool/requests-lock/${second}`);
    const entry = `/nodepool/requests-lock/${second}/${newLockEntryPrefix()}`;
    await other.create(entry, '', { sequential: true, ephemeral: true });
    await until(() => locks.length === 1);
    await other.close();
    await until(() => locks.length === 2);

    expect(requests.size).toBe(2);
    expect(locks).toEqual([
      [second, 1],
      [second, 0],
    ]);
    expect(requests.hasLockDirectory(second)).toBe(true);
    await zk.delete(`/nodepool/requests-lock/${second}`);
    await until(() => !requests.hasLockDirectory(second));
  });

  it('shows the release of a request lock only after the change that preceded it', async () => {
    const [zk, other] = await Promise.all([world.session(), world.session()]);
    await zk.ensurePath('/nodepool/requests');
    await zk.ensurePath('/nodepool/requests-lock');
    const requests = world.stopping(createRequestCache({ zk, clock: systemClock, logger }));
    await requests.start();
    const seen: string[] = [];
    requests.onLockChange((id, contenders) => seen.push(`${String(requests.get(id)?.state)} ${contenders}`));
    const fulfilled = () => [...requests.values()].filter(({ state }) => state === 'fulfilled').length;
    const body = (state: string) => `{"state": "${state}", "node_types": ["small"]}`;

    for (let i = 0; i < 50; i++) {
      const path = await other.create('/nodepool/requests/200-', body('requested'), { sequential: true });
      const root = `/nodepool/requests-lock/${idOf(path)}`;
      const results = await other.multi([
        { op: 'create', path: root },
        { op: 'create', path: `${root}/0123__lock__`, ephemeral: true, sequential: true },
        { op: 'set', path, data: body('pending'), version: 0 },
      ]);
      const entry = results[1]?.op === 'create' ? results[1].path : '';
      void other.setData(path, body('fulfilled'), 1);
      await other.delete(entry);
    }

    await until(() => fulfilled() === 50 && requests.eventQueue === 0);
    expect(seen).toContain('fulfilled 0');
    expect(seen.filter((text) => text === 'pending 0')).toEqual([]);
  });

  it('mirrors components of all kinds and the pools of old launchers', async () => {
    const zk = await world.session();
    const components = world.stopping(createComponentCache({ zk, clock: systemClock, logger }));
    await zk.ensurePath('/nodepool/components/launcher');
    await zk.create('/nodepool/components/launcher/nl01', '{"kind": "launcher", "hostname": "nl01"}', {
      sequential: true,
      ephemeral: true,
    });
    await components.start();

    await zk.ensurePath('/nodepool/components/pool');
    await zk.ensurePath('/nodepool/launchers');
    await zk.create('/nodepool/components/pool/nl01', '{"kind": "pool", "id": "a"}', { sequential: true });
    await zk.create('/nodepool/launchers/old', '{"supported_labels": ["small"]}');
    await until(() => components.size === 3);

    expect([...components.values()].map(({ kind }) => kind).sort()).toEqual(['launcher', 'pool', 'pool']);
    expect(components.get('launchers/old')).toMatchObject({ legacy: true, launcherId: 'old' });
    expect(components.get('pool/nl010000000000')).toMatchObject({ legacy: false, launcherId: 'a' });
  });
});
