// Builds the status page of packages/daemon with vite into its dist/page. Asked for by ensure.mjs, and when a package is packed.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const SOURCE = join(root, 'packages/daemon/page');
const TARGET = join(root, 'packages/daemon/dist/page');
const STAMP = join(TARGET, '.sources');

/** What the page is made of, as one word: sources, and the versions of what builds it. */
function fingerprint() {
  const files = readdirSync(SOURCE, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort();
  const versions = ['vite', 'preact'].map((name) => join(root, 'node_modules', name, 'package.json'));
  const hash = createHash('sha256');
  for (const file of [...files, ...versions, fileURLToPath(import.meta.url)])
    hash.update(readFileSync(file)).update('\0');
  return hash.digest('hex');
}

/** Builds the page unless it is built of these very sources. */
export async function ensurePage() {
  const wanted = fingerprint();
  if (existsSync(STAMP) && readFileSync(STAMP, 'utf8') === wanted) return;
  const { build } = await import('vite');
  await build({
    root: SOURCE,
    configFile: false,
    logLevel: 'warn',
    base: './',
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    build: { outDir: TARGET, emptyOutDir: true, target: 'es2022', modulePreload: false, assetsInlineLimit: 0 },
  });
  writeFileSync(STAMP, wanted);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await ensurePage();
