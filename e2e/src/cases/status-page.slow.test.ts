import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { findAccessibilityProblems, openBrowser } from '../browser.js';
import type { LauncherProcess } from '../launcher-process.js';
import { nodesOf, simpleSetup } from '../static-config.js';
import { useStatic } from '../use-harness.js';

const get = useStatic({ sshd: { count: 1, keyTypes: ['ed25519'] } });
const LIMIT_MS = 60_000;

let browser: Browser;

beforeAll(async () => {
  browser = await openBrowser();
}, 600_000);
afterAll(() => browser.close());

async function open(launcher: LauncherProcess, path = '', colorScheme: 'light' | 'dark' = 'light'): Promise<Page> {
  const page = await browser.newPage({ colorScheme });
  page.setDefaultTimeout(LIMIT_MS);
  await page.goto(`http://127.0.0.1:${launcher.webPort}/${path}`, { timeout: LIMIT_MS });
  return page;
}

const small = () => simpleSetup(nodesOf(get().sshd.hosts, 'small'));

it(
  'the status page shows a waiting request with its reason until it is fulfilled',
  async () => {
    const launcher = await get().launch(small());
    const zuul = await get().newClient();
    const node = await zuul.getNode('small');
    const page = await open(launcher);
    await page.getByText('Live', { exact: true }).waitFor();
    const failures: string[] = [];
    page.on('pageerror', (error) => failures.push(String(error)));

    const waiting = await zuul.submit(['small']);
    const row = page.getByRole('row').filter({ hasText: waiting });
    // the label has its own cell
    await row.getByRole('cell').last().filter({ hasText: /small/ }).waitFor();
    await row.getByRole('link', { name: waiting }).click();
    await page.getByRole('heading', { name: `Request ${waiting}` }).waitFor();
    const fromOverview = page.getByText('requested, created');
    await fromOverview.waitFor();
    await zuul.giveBack([node]);
    await page.getByText('fulfilled, created').waitFor();
    const [second] = await zuul.accept(waiting);
    if (!second) throw new Error('the request has no node');
    await page.getByRole('link', { name: 'Nodepool' }).click();
    await page.getByRole('table', { name: /^Requests/ }).waitFor({ state: 'detached' });
    await page.goto(`http://127.0.0.1:${launcher.webPort}/#/requests/${waiting}`);
    await page.getByText(`There is no request ${waiting}`).waitFor();
    const past = page.getByRole('table', { name: 'What it waited for' });
    await past.getByRole('cell', { name: 'all machines of the label are in use' }).first().waitFor();
    await page.close();
    await zuul.use([second]);
    await zuul.giveBack([second]);

    expect(failures).toEqual([]);
  },
  4 * LIMIT_MS,
);

it(
  'the status page is accessible in light and dark, according to axe, and by keyboard',
  async () => {
    const launcher = await get().launch(small());
    const zuul = await get().newClient();
    const node = await zuul.getNode('small');
    const waiting = await zuul.submit(['small']);
    const problems: string[] = [];
    for (const scheme of ['light', 'dark'] as const) {
      for (const [path, heading] of [
        ['', 'Requests'],
        [`#/requests/${waiting}`, `Request ${waiting}`],
        [`#/nodes/${node.id}`, `Node ${node.id}`],
        ['#/nodes?state=in-use', 'Nodes'],
        ['#/requests', 'Requests'],
        ['#/hosts', 'Hosts'],
      ] as const) {
        const page = await open(launcher, path, scheme);
        await page.getByRole('heading', { name: heading, exact: true }).waitFor();
        problems.push(...(await findAccessibilityProblems(page)).map((problem) => `${scheme} ${path}: ${problem}`));
        await page.close();
      }
    }
    const page = await open(launcher);
    await page.getByRole('link', { name: waiting }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: `Request ${waiting}` }).waitFor();
    await page.close();
    await zuul.cancel(waiting);
    await zuul.giveBack([node]);

    expect(problems).toEqual([]);
  },
  4 * LIMIT_MS,
);

it(
  'the status page reports a lost connection and keeps its content',
  async () => {
    const launcher = await get().launch(small());
    const page = await open(launcher);
    await page.getByText('Live', { exact: true }).waitFor();
    await page.getByRole('heading', { name: 'Providers' }).waitFor();
    await launcher.stop();

    const lost = page.getByText(/^Not connected since/);
    await lost.waitFor();
    const text = await lost.textContent();
    const kept = await page.getByRole('heading', { name: 'Providers' }).count();
    const problems = await findAccessibilityProblems(page);
    await page.close();
    await get().launch(small()); // takes over the nodes of the first launcher

    expect(kept).toBe(1);
    expect(text).toMatch(/the content is out of date/);
    expect(problems).toEqual([]);
  },
  4 * LIMIT_MS,
);

it(
  'the status page gives an order with a token, shows it on other pages, and withdraws it',
  async () => {
    const token = 'a-token-that-nobody-guesses';
    const launcher = await get().launch(small(), { secure: { 'api-tokens': [{ name: 'alice', token }] } });
    const [page, other] = [await open(launcher), await open(launcher)];
    await page.getByText('Use a token', { exact: true }).click();
    await page.getByLabel('Token of the web API').fill(token);
    await page.getByRole('button', { name: 'Use' }).click();
    await page.getByRole('combobox', { name: /^Order/ }).selectOption('pause');
    await page.getByRole('combobox', { name: /^for a/ }).selectOption('label');
    await page.getByLabel('called').fill('small');
    await page.getByLabel('Why').fill('power works');
    await page.getByRole('button', { name: 'Give the order' }).click();

    const row = other.getByRole('row').filter({ hasText: 'label small' });
    await row.waitFor();
    const shown = await row.textContent();
    const mayOther = await other.getByRole('button', { name: 'Resume small' }).count();
    const problems = await findAccessibilityProblems(page);
    await page.getByRole('button', { name: 'Resume small' }).click();
    await row.waitFor({ state: 'detached' });
    await Promise.all([page.close(), other.close()]);

    expect(shown).toMatch(/pause.*alice.*power works/);
    expect(mayOther).toBe(0);
    expect(problems).toEqual([]);
  },
  4 * LIMIT_MS,
);

it(
  'the status page finds a node and, with a valid token, holds it with a reason and an expiry',
  async () => {
    const token = 'a-token-that-nobody-guesses';
    const launcher = await get().launch(small(), { secure: { 'api-tokens': [{ name: 'alice', token }] } });
    const page = await open(launcher, '#/nodes');
    const rows = page.getByRole('table', { name: 'All nodes' }).getByRole('row');
    await rows.nth(1).waitFor();
    await page.getByLabel('Search').fill('no such node');
    await page.getByText('0 of 1').waitFor();
    await page.getByLabel('Search').fill('READY small');
    await rows.nth(1).getByRole('link').click();
    await page.getByText('Use a token', { exact: true }).click();
    await page.getByLabel('Token of the web API').fill('a-wrong-one');
    await page.getByRole('button', { name: 'Use' }).click();
    await page.getByText('Refused: This is not a token of this service').waitFor();
    const mayHold = await page.getByRole('button', { name: 'Hold' }).count();
    await page.getByLabel('Token of the web API').fill(token);
    await page.getByRole('button', { name: 'Use' }).click();
    await page.getByLabel('Hold it, because').fill('disk test');
    await page.getByLabel('for').fill('2');
    await page.getByRole('button', { name: 'Hold' }).click();
    await page.getByText(/^hold for/).waitFor();
    const record = await page.getByRole('table', { name: /^Record of node/ }).textContent();
    const problems = await findAccessibilityProblems(page);
    page.on('dialog', (dialog) => void dialog.accept());
    await page.getByRole('button', { name: 'Delete the node' }).click();
    await page.getByText(/There is no node|It is gone/).waitFor();
    await page.close();

    expect(mayHold).toBe(0);
    expect(record).toMatch(/hold expiration7200.*held by alice: disk test/);
    expect(problems).toEqual([]);
  },
  4 * LIMIT_MS,
);
