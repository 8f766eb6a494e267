import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { startStatsd, type StatsdHandle } from '@nodepool/test-servers';
import { componentPath, componentsPath, decodeComponent, imageBuildRequestPath } from '@nodepool/zk-protocol';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { MAKE_IMAGE, World } from './support/world.js';

const BUILDER = fileURLToPath(new URL('../bin/nodepool-builder.js', import.meta.url));
const WAIT = { timeout: 60_000, interval: 50 };

let world: World | undefined;
let statsd: StatsdHandle | undefined;
let builder: ChildProcess | undefined;

afterEach(async () => {
  if (builder && builder.exitCode === null && builder.signalCode === null) {
    const exited = once(builder, 'exit');
    builder.kill('SIGKILL');
    await exited;
  }
  await world?.end();
  await statsd?.stop();
  world = statsd = builder = undefined;
});

/** Text of the builder's `/metrics` page. */
async function scrape(of: World): Promise<string> {
  for (const id of await of.zk.getChildren(componentsPath('builder'))) {
    const { data, stat } = await of.zk.getData(componentPath('builder', id));
    const url = decodeComponent('builder', id, data, stat)?.webUrl;
    if (url) return (await fetch(new URL('/metrics', url))).text();
  }
  throw new Error('no builder tells its address');
}

describe('the metrics of a builder', () => {
  it('reach a statsd daemon with the names of Nodepool, and Prometheus', { timeout: 180_000 }, async () => {
    const daemon = (statsd = await startStatsd());
    const of = (world = await World.start({
      diskimages: `- name: debian\n  dib-cmd: ${MAKE_IMAGE}\n  elements: [vm]\n  release: 12\n- name: idle\n  pause: true\n`,
      top: 'builder-webapp: {port: 0}',
    }));
    await of.zk.ensurePath(imageBuildRequestPath('idle'));
    const args = [BUILDER, '-f', '-c', await of.processConfig(), '--build-workers', '2', '--upload-workers', '3'];
    const env = { ...process.env, TMPDIR: of.dir, STATSD_HOST: daemon.host, STATSD_PORT: String(daemon.port) };
    builder = spawn(process.execPath, args, { stdio: 'ignore', env });

    const seen = await daemon.waitFor(
      ({ gauges, counters, timers }) =>
        gauges['nodepool.dib_image_build.debian.status.rc'] === 0 &&
        counters['nodepool.image_update.debian.sky'] !== undefined &&
        timers['nodepool.dib_image_build.debian.status.duration'] !== undefined &&
        gauges['nodepool.image_build_requests'] !== undefined,
      60_000,
    );
    const { gauges, timers } = seen;
    expect(gauges['nodepool.dib_image_build.debian.qcow2.size']).toBeGreaterThan(0);
    expect(gauges['nodepool.dib_image_build.debian.status.last_build']).toBeGreaterThan(1_700_000_000);
    expect(timers['nodepool.image_update.debian.sky']).toHaveLength(1);
    const ours = Object.keys(gauges).find((name) => name.endsWith('.build_workers')) ?? '';
    const prefix = ours.slice(0, -'.build_workers'.length);
    expect(prefix).toMatch(/^nodepool\.builder\./);
    await daemon.waitFor(
      ({ gauges: now }) =>
        now['nodepool.image_build_requests'] === 1 &&
        now['nodepool.image.idle.image_build_requests'] === 1 &&
        now['nodepool.image.debian.image_build_requests'] === 0 &&
        now[`${prefix}.image.idle.build.state`] === 3 &&
        now[`${prefix}.image.debian.build.state`] === 0 &&
        now[`${prefix}.image.debian.provider.sky.upload.state`] === 0 &&
        now[`${prefix}.current_builds`] === 0 &&
        now[`${prefix}.current_uploads`] === 0 &&
        now[`${prefix}.build_workers`] === 2 &&
        now[`${prefix}.upload_workers`] === 3,
      60_000,
    );

    await vi.waitFor(async () => {
      const text = await scrape(of);
      expect(text).toMatch(/^nodepool_builder_upload_workers 3$/m);
      expect(text).toMatch(/^nodepool_image_build_timestamp_seconds\{image="debian"\} 1\d{9}\.?\d*$/m);
      expect(text).toMatch(/^nodepool_image_served_build_timestamp_seconds\{image="debian",provider="sky"\} 1\d{9}/m);
      expect(text).toMatch(/^nodepool_image_size_bytes\{image="debian",format="qcow2"\} \d+$/m);
      expect(text).toMatch(/^nodepool_image_last_build_duration_seconds\{image="debian"\} [\d.]+$/m);
      expect(text).toMatch(/^nodepool_builder_build_state\{image="idle"\} 3$/m);
      expect(text).toMatch(/^nodepool_image_upload_duration_seconds_count\{image="debian",provider="sky"\} 1$/m);
    }, WAIT);
  });
});
