import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { ensureDebianPackages } from '@nodepool/test-servers';
import { chromium, type Browser, type Page } from 'playwright-core';

/** Disable requests to Google's hosts and the sandbox, which root cannot use. */
const FLAGS = [
  ...['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu', '--disable-quic', '--no-first-run'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
];
const START_MS = 180_000;

/** Debian's Chromium, installed when it is missing and that may be done from here. @throws {Error} it may not; says how */
export async function openBrowser(): Promise<Browser> {
  await ensureDebianPackages(['chromium']);
  return chromium.launch({ executablePath: '/usr/bin/chromium', args: FLAGS, timeout: START_MS });
}

const axeSource = () => readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface AxeResults {
  readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[];
}

/** Accessibility problems that axe finds in the current page, with their elements. */
export async function findAccessibilityProblems(page: Page): Promise<string[]> {
  // evaluated as text, as the page's policy blocks foreign scripts
  await page.evaluate(axeSource());
  const { violations } = await page.evaluate<AxeResults>('axe.run(document)');
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}
