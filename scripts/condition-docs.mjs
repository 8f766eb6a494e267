// Writes the tables of docs/conditions.md from the table of types: npm run docs.
import { readFileSync, writeFileSync } from 'node:fs';
import { argv, exit } from 'node:process';
import { fileURLToPath } from 'node:url';
import { renderPage } from './config-docs.mjs';
import { ensureBuilt, root } from './ensure.mjs';

const PAGE = `${root}docs/conditions.md`;

/** The tables by the name they have in the page. */
export function conditionTables({ types, errorReasons }) {
  return { types: typeTables(types), 'error reasons': errorTable(errorReasons) };
}

function typeTables(types) {
  const kinds = [...new Set(Object.values(types).map(({ kind }) => kind))];
  return kinds.map((kind) => `### ${kind}\n\n${typeTable(types, kind)}`).join('\n\n');
}

function typeTable(types, wanted) {
  const own = Object.entries(types).filter(([, { kind }]) => kind === wanted);
  const lines = own.map(([name, { severity, meaning, reasons, nextStep }]) =>
    row([`\`${name}\``, severity, meaning, reasonsText(reasons), nextStep]),
  );
  return [row(['Type', 'Severity', 'True while', 'Reasons', 'Next step']), row(Array(5).fill('---')), ...lines].join(
    '\n',
  );
}

function reasonsText(reasons) {
  if (reasons === 'errors') return 'a [class of errors](#classes-of-errors)';
  return Object.entries(reasons)
    .map(([name, meaning]) => `\`${name}\`: ${meaning}`)
    .join('; ');
}

function errorTable(errorReasons) {
  const lines = Object.entries(errorReasons).map(([name, { meaning, nextStep }]) =>
    row([`\`${name}\``, meaning, nextStep || 'none: wait']),
  );
  return [row(['Reason', 'Meaning', 'Next step']), row(Array(3).fill('---')), ...lines].join('\n');
}

const row = (cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;

async function main() {
  ensureBuilt();
  const { CONDITION_TYPES } = await import(`${root}packages/core/dist/conditions/condition-types.js`);
  const { ERROR_REASONS } = await import(`${root}packages/core/dist/conditions/error-reason.js`);
  const tables = conditionTables({ types: CONDITION_TYPES, errorReasons: ERROR_REASONS });
  writeFileSync(PAGE, await renderPage(readFileSync(PAGE, 'utf8'), tables));
}

if (argv[1] === fileURLToPath(import.meta.url)) await main().catch((error) => (console.error(error), exit(1)));
