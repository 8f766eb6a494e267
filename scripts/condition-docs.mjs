// Writes the lists of docs/conditions.md from what the code that finds conditions says of their types: npm run docs.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { argv, exit } from 'node:process';
import { fileURLToPath } from 'node:url';
import { listItem, renderPage } from './config-docs.mjs';
import { ensureBuilt, root } from './ensure.mjs';

const PAGE = `${root}docs/conditions.md`;

/**
 * What each type of condition means: all that source files of packages export as `CONDITIONS`.
 * @param load - imports a file, such as `packages/core/src/conditions/condition-list.ts`
 * @returns by type; from the whole service to the single node, as conditions are shown
 */
export async function findTypes(load) {
  const files = readdirSync(`${root}packages`)
    .flatMap((name) =>
      readdirSync(`${root}packages/${name}/src`, { recursive: true }).map((file) => `${name}/src/${file}`),
    )
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .map((file) => `packages/${file}`)
    .filter((file) => readFileSync(`${root}${file}`, 'utf8').includes('export const CONDITIONS = {'));
  const { CONDITION_KINDS } = await load('packages/core/src/contract/condition.ts');
  const tables = await Promise.all(files.map(async (file) => Object.entries((await load(file)).CONDITIONS)));
  const rankOf = ([, { kind }]) => CONDITION_KINDS.indexOf(kind);
  return tables.flat().sort((one, other) => rankOf(one) - rankOf(other) || (one[0] < other[0] ? -1 : 1));
}

/** The lists by the name they have in the page. @param types - as {@link findTypes} finds them */
export function conditionLists({ types, errorReasons }) {
  return { types: typeLists(types), 'error reasons': errorList(errorReasons) };
}

function typeLists(types) {
  const kinds = [...new Set(types.map(([, { kind }]) => kind))];
  return kinds.map((kind) => `### ${kind}\n\n${typeList(types, kind)}`).join('\n\n');
}

function typeList(types, wanted) {
  const own = types.filter(([, { kind }]) => kind === wanted);
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
  const types = await findTypes((file) => import(`${root}${file.replace('/src/', '/dist/').replace(/ts$/, 'js')}`));
  const { ERROR_REASONS } = await import(`${root}packages/core/dist/conditions/error-reason.js`);
  const lists = conditionLists({ types, errorReasons: ERROR_REASONS });
  writeFileSync(PAGE, await renderPage(readFileSync(PAGE, 'utf8'), lists));
}

if (argv[1] === fileURLToPath(import.meta.url)) await main().catch((error) => (console.error(error), exit(1)));
