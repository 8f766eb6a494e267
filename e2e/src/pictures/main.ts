// Takes the pictures of the status page that the documentation shows: a launcher with a fake cloud that is almost full, and a
// browser. `node scripts/with-build.mjs e2e/dist/pictures/main.js`
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findEmbeddedServer } from '@nodepool/core/config';
import { connect, encodeRequest, newRequest } from '@nodepool/zk-protocol';
import type { Page } from 'playwright-core';
import { openBrowser } from '../browser.js';
import { LauncherProcess } from '../launcher-process.js';
import { LEASE_TOKEN, Lessee } from '../lessee.js';

const TARGET = fileURLToPath(new URL('../../../docs/pictures/', import.meta.url));
const SIZE = { width: 1200, height: 900 };
const CONFIG = {
  labels: [{ name: 'debian-small', 'min-ready': 2 }, { name: 'debian-large' }],
  providers: [
    {
      ...{ name: 'west', driver: 'fake', cloud: 'pictures' },
      'cloud-images': [{ name: 'debian-13', username: 'zuul' }],
      'cloud-settings': { 'create-time': 1, quota: { instances: 6, cores: 24, ram: 65_536 } },
      pools: [
        {
          ...{ name: 'main', 'max-servers': 6 },
          labels: ['debian-small', 'debian-large'].map((name, size) => ({
            ...{ name, 'cloud-image': 'debian-13', 'min-ram': 4_096 * (1 + size), 'host-key-checking': false },
          })),
        },
      ],
    },
  ],
};

/** The leases of one owner: one has its machine, another one waits. */
async function showLeases({ webPort }: LauncherProcess, page: Page): Promise<void> {
  const waiting = { labels: ['debian-large'], ttl: 7_200, reason: 'nightly benchmark' };
  await Lessee.send(webPort, 'POST', '/leases', waiting);
  await page.getByText('Use a token').click();
  await page.getByLabel('Token of the web API').fill(LEASE_TOKEN);
  await page.getByRole('button', { name: 'Use' }).click();
  await page.getByRole('link', { name: 'Leases' }).click();
  await page.getByRole('radio', { name: /^debian-small/ }).check();
  await page.getByLabel('What for').fill('look at the flaky disk test');
  await page.getByRole('row').filter({ hasText: 'nightly' }).filter({ hasText: 'waits' }).waitFor();
}

async function main(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'nodepool-pictures-'));
  const secure = join(directory, 'secure.yaml');
  await writeFile(secure, JSON.stringify({ 'api-tokens': [{ name: 'alice', token: LEASE_TOKEN }] }));
  const launcher = await LauncherProcess.start(directory, 'pictures', CONFIG, {}, ['-s', secure]);
  const browser = await openBrowser();
  try {
    await launcher.whenReady();
    const found = await findEmbeddedServer([join(directory, 'state')]);
    const zk = await connect({ servers: found?.servers ?? '' });
    await new Lessee(() => [launcher.webPort]).lease(['debian-large']);
    for (let n = 0; n < 8; n++) {
      const labels = n % 3 === 0 ? ['debian-large'] : ['debian-small'];
      const request = newRequest({ labels, tenantName: 'example', requestor: 'zuul' }, Date.now() - n * 1_000);
      await zk.create(`/nodepool/requests/200-000000010${n}`, encodeRequest(request));
    }
    await mkdir(TARGET, { recursive: true });
    for (const colorScheme of ['light'] as const) {
      const page = await browser.newPage({ colorScheme, viewport: SIZE });
      await page.goto(`http://127.0.0.1:${launcher.webPort}/`);
      const waiting = page.getByRole('row').filter({ hasText: 'waits for' }).last();
      await waiting.waitFor();
      await page.screenshot({ path: join(TARGET, `status-${colorScheme}.png`) });
      await waiting.getByRole('link').click();
      await page.getByRole('table', { name: 'What each pool says' }).waitFor();
      await page.screenshot({ path: join(TARGET, `request-${colorScheme}.png`) });
      await showLeases(launcher, page);
      await page.screenshot({ path: join(TARGET, `leases-${colorScheme}.png`) });
      await page.close();
    }
    await zk.close();
  } finally {
    await browser.close();
    await launcher.stop();
    await rm(directory, { recursive: true });
  }
}

await main();
