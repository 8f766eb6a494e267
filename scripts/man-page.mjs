// Writes the man page of nodepool from the tables of its help: npm run docs.
import { mkdirSync, writeFileSync } from 'node:fs';
import { ensureBuilt, root } from './ensure.mjs';

ensureBuilt();
const { manPage } = await import(`${root}packages/cli/dist/help/man-page.js`);
const { COMMANDS } = await import(`${root}packages/cli/dist/commands/index.js`);
mkdirSync(`${root}packages/cli/man`, { recursive: true });
writeFileSync(`${root}packages/cli/man/nodepool.1`, manPage(COMMANDS));
