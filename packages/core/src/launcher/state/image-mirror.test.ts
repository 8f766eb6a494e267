import { encodeUpload, IMAGES_ROOT, newUpload, systemClock, uploadsPath } from '@nodepool/zk-protocol';
import { connectInMemory, MemoryServer } from '@nodepool/zk-protocol/memory';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { silentLogger } from '../../contract/logger.js';
import { LauncherEvents } from './events.js';
import { ImageMirror } from './image-mirror.js';

const server = new MemoryServer(systemClock);
const { zk } = connectInMemory(server);

beforeAll(() => zk.whenConnected());
afterAll(() => zk.close());

async function addUpload(
  buildId: string,
  stateTimeMs: number,
  state: 'ready' | 'uploading' = 'ready',
): Promise<string> {
  const key = { image: 'debian', buildId, provider: 'cloud', id: '' };
  const upload = newUpload(key, { state, externalId: `image-of-${buildId}` }, stateTimeMs);
  const directory = uploadsPath('debian', buildId, 'cloud');
  await zk.ensurePath(directory);
  return zk.create(`${directory}/`, encodeUpload(upload), { sequential: true });
}

describe('ImageMirror', () => {
  it('is whole after its start, also when the connection breaks while it reads', async () => {
    await addUpload('a'.repeat(32), 1_000);
    for (let at = 1, isDone = false; !isDone; at++) {
      const { zk: own, link } = connectInMemory(server);
      await own.whenConnected();
      const read = own.multiRead.bind(own);
      let reads = 0;
      own.multiRead = (operations) => {
        const answer = read(operations);
        if (++reads === at) link.break();
        return answer;
      };
      const events = new LauncherEvents();
      const mirror = new ImageMirror({ zk: own, clock: systemClock, logger: silentLogger, events });

      await mirror.start();

      expect(mirror.newestUpload('debian', 'cloud'), `broken at read ${at}`).toBeDefined();
      isDone = reads < at;
      mirror.stop();
      await own.close();
    }
  });

  it('knows the newest ready upload, from before its start and from after it', async () => {
    await addUpload('a'.repeat(32), 1_000);
    const changed: string[] = [];
    const events = new LauncherEvents();
    events.on('imageChanged', ({ provider }) => provider !== undefined && changed.push(provider));
    const mirror = new ImageMirror({ zk, clock: systemClock, logger: silentLogger, events });

    await mirror.start();
    expect(mirror.newestUpload('debian', 'cloud')?.externalId).toBe(`image-of-${'a'.repeat(32)}`);
    const path = await addUpload('b'.repeat(32), 2_000);
    await addUpload('c'.repeat(32), 3_000, 'uploading');
    await vi.waitFor(() => expect(mirror.newestUpload('debian', 'cloud')?.buildId).toBe('b'.repeat(32)), 50_000);
    await zk.delete(path);

    await vi.waitFor(() => expect(mirror.newestUpload('debian', 'cloud')?.buildId).toBe('a'.repeat(32)), 50_000);
    expect(mirror.newestUpload('debian', 'other')).toBeUndefined();
    expect(changed).toContain('cloud');
    mirror.stop();
  });

  it('tells how far it is behind', async () => {
    const context = { zk, clock: systemClock, logger: silentLogger, events: new LauncherEvents() };
    const mirror = new ImageMirror(context);
    await mirror.start();
    const waiting: number[] = [];
    const reading: number[] = [];
    // called after the mirror's own, for the same event
    const observe = () => {
      waiting.push(mirror.eventQueue);
      queueMicrotask(() => queueMicrotask(() => reading.push(mirror.playbackQueue)));
    };
    await zk.addWatch(IMAGES_ROOT, 'persistent-recursive', observe);

    await addUpload('d'.repeat(32), 4_000);
    await vi.waitFor(() => expect(mirror.newestUpload('debian', 'cloud')?.buildId).toBe('d'.repeat(32)), 50_000);

    expect([Math.max(...waiting), Math.max(...reading)]).toEqual([1, 1]);
    expect([mirror.eventQueue, mirror.playbackQueue]).toEqual([0, 0]);
    await zk.removeWatch(IMAGES_ROOT, observe);
    mirror.stop();
  });
});
