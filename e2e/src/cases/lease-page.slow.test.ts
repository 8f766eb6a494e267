import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureDebianPackages } from '@nodepool/test-servers';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { findAccessibilityProblems, openBrowser } from '../browser.js';
import { LauncherProcess } from '../launcher-process.js';
import { LEASE_TOKEN, Lessee } from '../lessee.js';

const CLI = fileURLToPath(new URL('../../../packages/cli/bin/nodepool.js', import.meta.url));
const LIMIT_MS = 60_000;
const PHONE = { width: 390, height: 844 };
const DESK = { width: 1280, height: 900 };
/** Would change the title if it were part of the page. */
const MARKUP = `<img src=x onerror="document.title='injected'">`;
const TITLE = 'Nodepool';

const labels = ['small', 'large', 'secret'];
const CONFIG = {
  'max-hold-age': 86_400,
  labels: labels.map((name) => ({ name })),
  providers: [
    {
      ...{ name: 'west', driver: 'fake', cloud: 'lease-page' },
      'cloud-images': [{ name: 'debian', username: 'ci' }],
      'cloud-settings': { 'create-time': 1, ssh: true, quota: { instances: 1, cores: 24, ram: 65_536 } },
      pools: [
        {
          ...{ name: 'main', 'max-servers': 1 },
          labels: labels.map((name) => ({ name, 'cloud-image': 'debian', 'min-ram': 1_024 })),
        },
      ],
    },
  ],
};

let browser: Browser;
let directory: string;
let launcher: LauncherProcess;
const failures: string[] = [];

/** Runs a program. @returns its standard output */
async function run(program: string, ...args: string[]): Promise<string> {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let [output, errors] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const [status] = (await once(child, 'close')) as [number];
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${status}: ${errors}`);
  return output.trim();
}
const createToken = (...args: string[]) =>
  run(process.execPath, CLI, 'token', 'create', ...launcher.commonOptions, ...args);

beforeAll(async () => {
  await ensureDebianPackages(['openssh-client']);
  browser = await openBrowser();
  directory = await mkdtemp(join(tmpdir(), 'nodepool-lease-page-'));
  const secure = join(directory, 'secure.yaml');
  await writeFile(secure, JSON.stringify({ 'api-tokens': [{ name: 'e2e', token: LEASE_TOKEN }] }));
  launcher = await LauncherProcess.start(directory, 'lease-page', CONFIG, {}, ['-s', secure]);
  await launcher.whenReady();
}, 600_000);

afterAll(async () => {
  await browser.close();
  await launcher.stop();
  await rm(directory, { recursive: true });
});

/** A tab with the status page. It accepts all dialogues, and remembers what goes wrong in it. */
async function open(options: Parameters<Browser['newPage']>[0] = {}, path = ''): Promise<Page> {
  const page = await browser.newPage(options);
  page.setDefaultTimeout(LIMIT_MS);
  page.on('pageerror', (error) => failures.push(String(error)));
  page.on('console', (message) => {
    if (/content security policy/i.test(message.text())) failures.push(message.text());
  });
  page.on('dialog', (dialog) => void dialog.accept());
  await page.goto(`http://127.0.0.1:${launcher.webPort}/${path}`, { timeout: LIMIT_MS });
  await page.getByText('Live', { exact: true }).waitFor();
  return page;
}

/** Gives the page a token, by keyboard. */
async function enter(page: Page, token: string): Promise<void> {
  const field = page.getByLabel('Token of the web API');
  if (!(await field.isVisible())) {
    await page.locator('summary', { hasText: 'Use a token' }).focus();
    await page.keyboard.press('Enter');
  }
  await field.fill(token);
  await field.press('Enter');
}

/** Lends a machine, by keyboard. */
async function lend(page: Page, label: string, reason: string): Promise<void> {
  await page.getByRole('link', { name: 'Leases' }).click();
  await page.getByRole('radio', { name: new RegExp(`^${label}`) }).focus();
  await page.keyboard.press('Space');
  await page.getByLabel('What for').fill(reason);
  await page.getByRole('button', { name: 'Lend me a machine' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: /^Lease / }).waitFor();
}

const expiryOf = async (page: Page) =>
  Date.parse(/until (.*)/.exec((await timeLeft(page).textContent()) ?? '')?.[1] ?? '');
const timeLeft = (page: Page) => page.getByText(/^Time left/);

it(
  'the status page has no leases without a token, nor with a wrong one',
  async () => {
    const page = await open();
    const leases = page.getByRole('link', { name: 'Leases' });
    const before = await leases.count();
    await enter(page, 'alice.wrong');
    await page.getByText('Refused: This is not a token of this service').waitFor();
    const after = await leases.count();
    const stored = await page.evaluate('sessionStorage.length');
    await page.goto(`http://127.0.0.1:${launcher.webPort}/#/leases`);
    await page.getByText('Leases need a token').waitFor();
    const buttons = await page.getByRole('button', { name: 'Lend me a machine' }).count();
    await page.close();

    expect([before, after, stored, buttons]).toEqual([0, 0, 0, 0]);
    expect(failures).toEqual([]);
  },
  4 * LIMIT_MS,
);

it(
  'an owner lends a machine on the status page, logs in, extends and returns it, while the next one waits',
  async () => {
    const [alice, bob] = await Promise.all([
      createToken('alice', '--label', 's*all', '--label', 'large', '--max-ttl', '4h'),
      createToken('bob'),
    ]);
    const page = await open({ permissions: ['clipboard-read', 'clipboard-write'] });
    const other = await open({ viewport: PHONE });
    await enter(page, alice);
    await enter(other, bob);
    await lend(page, 'small', MARKUP);
    await page.getByRole('heading', { name: /^Log in to machine/ }).waitFor();

    // a login with what the page shows
    await page.getByRole('button', { name: 'Copy the ssh command' }).click();
    await page.getByText('Copied').waitFor();
    const command = await page.evaluate<string>('navigator.clipboard.readText()');
    const keys = await page.getByLabel('host keys', { exact: true }).textContent();
    const knownHosts = join(directory, 'known_hosts');
    await writeFile(knownHosts, `${keys}\n`);
    const files = await readdir(directory, { recursive: true });
    const identity = join(directory, files.find((file) => file.endsWith('id_ed25519')) ?? '');
    const options = ['-i', identity, '-o', `UserKnownHostsFile=${knownHosts}`, '-o', 'StrictHostKeyChecking=yes'];
    const [program = '', ...args] = command.split(' ');
    const greeting = await run(program, ...options, '-o', 'BatchMode=yes', ...args, 'echo', 'logged-in');

    // another owner waits, and sees nothing of the first
    await lend(other, 'large', 'a second machine');
    await other.getByText('waiting', { exact: true }).waitFor();
    await other.getByRole('cell', { name: /needs 1 instance/ }).waitFor();
    await other.getByText(/^Expected wait for large: not known yet; no capacity is free now/).waitFor();
    await other.getByRole('link', { name: 'Leases' }).click();
    await other.getByRole('table', { name: 'What bob has leased' }).waitFor();
    const seen = await other.locator('main').textContent();

    const before = await expiryOf(page);
    await page.getByLabel('Keep it for').fill('5');
    await page.getByRole('button', { name: 'Extend' }).click();
    await page.getByText(/^Refused: Token "alice" may keep a lease for 14400 s/).waitFor();
    await page.getByLabel('Keep it for').fill('3');
    await page.getByRole('button', { name: 'Extend' }).click();
    await page.getByText(/2 h 59 min/).waitFor();
    const after = await expiryOf(page);
    await page.getByRole('button', { name: /^Return/ }).click();
    await page.getByText('Returned by alice').waitFor();
    await page.close();

    // the machine of the first is gone, so the second one gets one
    await other.getByRole('cell', { name: 'ci@127.0.0.1' }).waitFor();
    await other.getByRole('button', { name: /^Return/ }).click();
    await other.getByRole('cell', { name: 'ci@127.0.0.1' }).waitFor({ state: 'detached' });
    await other
      .getByText(/^Wait: usually/)
      .first()
      .waitFor();
    await other.close();

    expect([greeting, command]).toEqual(['logged-in', expect.stringMatching(/^ssh -p \d+ ci@127\.0\.0\.1$/)]);
    expect(seen).not.toMatch(/alice|onerror/);
    expect(after - before).toBeGreaterThan(3_600_000);
    expect(failures).toEqual([]);
  },
  8 * LIMIT_MS,
);

it(
  'the status page finds one of many leases',
  async () => {
    const lease = async (name: string): Promise<string> => {
      const body = { labels: ['large'], owner: name, reason: `work of ${name}` };
      const response = await Lessee.send(launcher.webPort, 'POST', '/leases', body);
      return ((await response.json()) as { id: string }).id;
    };
    const names = Array.from({ length: 25 }, (_, n) => `user-${n}`);
    const ids = await Promise.all(names.map(lease));
    const page = await open();
    await enter(page, LEASE_TOKEN);
    await page.getByRole('link', { name: 'Leases' }).click();
    await page.getByRole('heading', { name: 'Leases of user-7' }).waitFor();
    await page.getByLabel('Search leases').fill('WORK of user-7');
    await page.getByRole('heading', { name: 'Leases of user-8' }).waitFor({ state: 'detached' });
    const found = await page.getByRole('heading', { name: /^Leases of/ }).allTextContents();
    await page.getByRole('button', { name: /^Stop waiting|^Return/ }).click();
    await page.getByRole('heading', { name: 'Leases of user-7' }).waitFor({ state: 'detached' });
    await page.close();
    await Promise.all(ids.map((id) => Lessee.send(launcher.webPort, 'DELETE', `/leases/${id}`)));

    expect(found).toEqual(['Leases of user-7']);
    expect(failures).toEqual([]);
  },
  4 * LIMIT_MS,
);

it(
  'the status page shows an operator the leases of all owners, as text, and is accessible in every size and theme',
  async () => {
    const carol = await createToken('carol', '--owner', MARKUP, '--label', 'secret');
    const page = await open({ viewport: PHONE });
    await enter(page, carol);
    await lend(page, 'secret', MARKUP);
    await page.getByRole('heading', { name: /^Log in to machine/ }).waitFor();
    const choices = page.getByRole('radio');
    const lease = new URL(page.url()).hash;
    await page.getByRole('link', { name: 'Leases' }).click();
    await choices.first().waitFor();
    const offered = await choices.count();
    await choices.first().check();
    const keys = await page.getByLabel('Your SSH public key').count(); // its machines take none
    await page.getByRole('button', { name: 'Forget the token' }).click();
    await enter(page, LEASE_TOKEN);
    await page.getByRole('heading', { name: `Leases of ${MARKUP}` }).waitFor();

    const problems: string[] = [];
    for (const path of ['#/leases', lease]) {
      await page.goto(`http://127.0.0.1:${launcher.webPort}/${path}`);
      await page.getByRole('button', { name: /^Return/ }).waitFor();
      for (const colorScheme of ['light', 'dark'] as const) {
        for (const viewport of [PHONE, DESK]) {
          await page.setViewportSize(viewport);
          await page.emulateMedia({ colorScheme });
          const found = await findAccessibilityProblems(page);
          if (await page.evaluate<boolean>('document.documentElement.scrollWidth > innerWidth')) found.push('too wide');
          problems.push(...found.map((problem) => `${path} ${colorScheme} ${viewport.width}: ${problem}`));
        }
      }
    }
    const title = await page.title();
    // a page that is opened again knows its token
    await page.reload();
    await page.getByRole('button', { name: /^Return/ }).click();
    await page.getByText('Returned by e2e').waitFor();
    await page.close();

    expect([offered, keys]).toEqual([1, 0]);
    expect(problems).toEqual([]);
    expect(title).toBe(TITLE);
    expect(failures).toEqual([]);
  },
  8 * LIMIT_MS,
);
