// Writes the lists of docs/conditions.md from the table of types: npm run docs.
import { readFileSync, writeFileSync } from 'node:fs';
import { argv, exit } from 'node:process';
import { fileURLToPath } from 'node:url';
import { listItem, renderPage } from './config-docs.mjs';
import { ensureBuilt, root } from './ensure.mjs';

const PAGE = `${root}docs/conditions.md`;

/** The lists by the name they have in the page. */
export function conditionLists({ types, errorReasons }) {
  return { types: typeLists(types), 'error reasons': errorList(errorReasons) };
}

function typeLists(types) {
  const kinds = [...new Set(Object.values(types).map(({ kind }) => kind))];
  return kinds.map((kind) => `### ${kind}\n\n${typeList(types, kind)}`).join('\n\n');
}

function typeList(types, wanted) {
  const own = Object.entries(types).filter(([, { kind }]) => kind === wanted);
  return own.map(([name, type]) => listItem(`\`${name}\` (${type.severity}): ${meaningOf(type)}`)).join('\n');
}

const meaningOf = ({ meaning, reasons, nextStep }) =>
  `${sentence(meaning)} Reasons: ${sentence(reasonsText(reasons))} Next step: ${sentence(nextStep)}`;

const sentence = (text) => (text.endsWith('.') ? text : `${text}.`);

function reasonsText(reasons) {
  if (reasons === 'errors') return 'a [class of errors](#classes-of-errors)';
  return Object.entries(reasons)
    .map(([name, meaning]) => `\`${name}\`: ${meaning}`)
    .join('; ');
}

function errorList(errorReasons) {
  const items = Object.entries(errorReasons).map(([name, { meaning, nextStep }]) =>
    listItem(`\`${name}\`: ${sentence(meaning)} Next step: ${sentence(nextStep || 'none, wait')}`),
  );
  return items.join('\n');
}

async function main() {
  await ensureBuilt();
  const { CONDITION_TYPES } = await import(`${root}packages/core/dist/conditions/condition-types.js`);
  const { ERROR_REASONS } = await import(`${root}packages/core/dist/conditions/error-reason.js`);
  const lists = conditionLists({ types: CONDITION_TYPES, errorReasons: ERROR_REASONS });
  writeFileSync(PAGE, await renderPage(readFileSync(PAGE, 'utf8'), lists));
}

if (argv[1] === fileURLToPath(import.meta.url)) await main().catch((error) => (console.error(error), exit(1)));
