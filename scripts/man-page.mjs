// Writes the man pages from the tables of the help of each program: npm run docs.
import { mkdirSync, writeFileSync } from 'node:fs';
import { ensureBuilt, root } from './ensure.mjs';

await ensureBuilt();
const { manPage } = await import(`${root}packages/cli/dist/help/man-page.js`);
const { loadCommands } = await import(`${root}packages/cli/dist/commands/index.js`);
const { serviceManPage } = await import(`${root}packages/daemon/dist/man-page.js`);

/** @param {string} name of the package @param {string} file @param {string} page */
function write(name, file, page) {
  mkdirSync(`${root}packages/${name}/man`, { recursive: true });
  writeFileSync(`${root}packages/${name}/man/${file}`, page);
}

write('cli', 'nodepool.1', manPage(await loadCommands()));
for (const name of ['launcher', 'builder']) {
  const { COMMAND_LINE } = await import(`${root}packages/${name}/dist/arguments.js`);
  write(name, `nodepool-${name}.8`, serviceManPage(COMMAND_LINE));
}
