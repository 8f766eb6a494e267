// Runs before a package is packed, in its folder: builds it afresh, so that what is published is what the sources say, and
// copies what it shows of the repository.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bin, ensureInstalled, root, runOrExit } from './ensure.mjs';
import { webAddress } from './manifests.mjs';
import { ensurePage } from './page.mjs';

/** Set in the environment when everything has just been built. */
export const BUILT = 'NODEPOOL_RELEASE_BUILT';

async function build(dir) {
  rmSync('dist', { recursive: true, force: true });
  await runOrExit(process.execPath, [bin('typescript/bin/tsc'), '-b', dir]);
}

/** The guide and the reference for authors of drivers, with links to other pages as addresses. */
function copyGuide() {
  const base = `${webAddress()}/blob/main/docs/`;
  const otherPage = /\]\((?!https?:|#|writing-a-driver\.md|driver-reference\.md)([^)]+)\)/g;
  mkdirSync('docs', { recursive: true });
  for (const page of ['docs/writing-a-driver.md', 'docs/driver-reference.md']) {
    const text = readFileSync(`${root}${page}`, 'utf8');
    writeFileSync(
      page,
      text.replace(otherPage, (_link, path) => `](${new URL(path, base).href})`),
    );
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await ensureInstalled();
  if (process.env[BUILT] !== '1') await build(relative(root, process.cwd()));
  const { name } = JSON.parse(readFileSync('package.json', 'utf8'));
  if (name === '@nodepool/create-driver') copyGuide();
  if (name === '@nodepool/daemon') await ensurePage();
}
