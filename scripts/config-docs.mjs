// Writes the tables of docs/configuration.md from the schemas that configurations are checked with: npm run docs.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { argv, exit } from 'node:process';
import { fileURLToPath } from 'node:url';
import { format } from 'prettier';
import { ensureBuilt, root } from './ensure.mjs';

const PAGE = `${root}docs/configuration.md`;
const STYLE = JSON.parse(readFileSync(`${root}.prettierrc.json`, 'utf8'));

/** Rows of a table: each key below a schema, with its default and its meaning. */
export function rowsOf(schema, prefix = '') {
  const required = new Set(schema.required ?? []);
  const rows = Object.entries(schema.properties ?? {}).flatMap(([name, value]) => {
    const key = prefix === '' ? name : `${prefix}.${name}`;
    return [rowOf(key, value, required.has(name)), ...rowsBelow(value, key)];
  });
  const others = schema.additionalProperties;
  const isDescribed = typeof others === 'object' && others !== null && others.description !== undefined;
  return isDescribed ? [...rows, rowOf(`${prefix}.*`, others, false)] : rows;
}

function rowsBelow(schema, key) {
  if (schema.$ref !== undefined) return [];
  if (schema.type === 'array') return rowsBelow(schema.items ?? {}, `${key}[]`);
  const alternatives = [...(schema.oneOf ?? []), ...(schema.anyOf ?? [])].filter((branch) => branch.properties);
  return [schema, ...alternatives].flatMap((map) => rowsOf(map, key));
}

function rowOf(key, schema, isRequired) {
  return {
    key,
    value: defaultOf(schema, isRequired),
    meaning: meaningOf(schema),
    isComplete: isComplete(schema, isRequired),
  };
}

function defaultOf(schema, isRequired) {
  if (isRequired) return 'required';
  if (schema['x-default'] !== undefined) return schema['x-default'];
  return schema.default === undefined ? '' : `\`${String(schema.default)}\``;
}

function meaningOf(schema) {
  const sentences = [schema.description ?? ''];
  if (schema.enum !== undefined) sentences.push(`One of ${schema.enum.map((name) => `\`${name}\``).join(', ')}`);
  if (hasSecret(schema)) sentences.push('Secret: redacted everywhere');
  if (schema['x-restart'] === true) sentences.push('Restart');
  return sentences.filter((sentence) => sentence !== '').join('. ');
}

const hasSecret = (schema) => schema['x-secret'] === true || schema.additionalProperties?.['x-secret'] === true;

/** Whether a reader learns what the key is for and what holds without it. Alternatives need no default of their own. */
function isComplete(schema, isRequired) {
  const hasDefault = isRequired || schema.default !== undefined || schema['x-default'] !== undefined;
  return (
    schema.description !== undefined &&
    (hasDefault || schema.deprecated === true || schema.description.startsWith('Without effect'))
  );
}

function table(rows) {
  const lines = rows.map(({ key, value, meaning }) => `| \`${key}\` | ${value} | ${meaning.replaceAll('|', '\\|')} |`);
  return ['| Key | Default | Meaning |', '| --- | --- | --- |', ...lines].join('\n');
}

/** The tables by the name they have in the page. @param schemas - top level, common keys and drivers */
export function tablesOf({ topLevel, provider, pool, drivers }) {
  const top = { ...topLevel.properties };
  const { diskimages } = top;
  for (const elsewhere of ['providers', 'diskimages']) Reflect.deleteProperty(top, elsewhere);
  const common = { properties: provider, required: ['name'] };
  const pools = { properties: pool, required: ['name'] };
  return {
    'top level': table(rowsOf({ properties: top })),
    providers: table([...rowsOf(common, 'providers[]'), ...rowsOf(pools, 'providers[].pools[]')]),
    diskimages: table(rowsOf(diskimages.items, 'diskimages[]')),
    drivers: drivers.map(driverSection).join('\n\n'),
  };
}

function driverSection({ name, schema }) {
  const about = schema.description === undefined ? '' : `${schema.description}. `;
  const readme = `[@nodepool/driver-${name}](../packages/driver-${name}/README.md)`;
  return `### ${name}\n\n${about}See ${readme}.\n\n${table(rowsOf(schema))}`;
}

/** The page with its tables written anew. @throws {Error} a table has no place in it */
export async function renderPage(page, tables) {
  let text = page;
  for (const [name, content] of Object.entries(tables)) {
    const [begin, end] = [`<!-- begin ${name} -->`, `<!-- end ${name} -->`];
    const [before, rest] = text.split(begin);
    const after = rest?.split(end)[1];
    if (after === undefined) throw new Error(`docs/configuration.md has no ${begin} ... ${end}`);
    text = `${before}${begin}\n\n${content}\n\n${end}${after}`;
  }
  return format(text, { ...STYLE, parser: 'markdown' });
}

/** Names of the packages of drivers in this repository. */
export const driverPackages = () =>
  readdirSync(`${root}packages`)
    .filter((name) => name.startsWith('driver-'))
    .sort();

async function main() {
  ensureBuilt();
  const { TOP_LEVEL_SCHEMA } = await import(`${root}packages/core/dist/config/top-level-schema.js`);
  const { COMMON_PROVIDER_PROPERTIES, COMMON_POOL_PROPERTIES } = await import(
    `${root}packages/core/dist/config/compose-schema.js`
  );
  const modules = await Promise.all(driverPackages().map((name) => import(`${root}packages/${name}/dist/index.js`)));
  const tables = tablesOf({
    topLevel: TOP_LEVEL_SCHEMA,
    provider: COMMON_PROVIDER_PROPERTIES,
    pool: COMMON_POOL_PROPERTIES,
    drivers: modules.flatMap(({ driver }) => (driver === undefined ? [] : [driver])),
  });
  writeFileSync(PAGE, await renderPage(readFileSync(PAGE, 'utf8'), tables));
}

if (argv[1] === fileURLToPath(import.meta.url)) await main().catch((error) => (console.error(error), exit(1)));
