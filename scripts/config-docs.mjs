// Writes the lists of keys in docs/configuration-reference.md from the schemas that check configurations: npm run docs.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { argv, exit } from 'node:process';
import { fileURLToPath } from 'node:url';
import { format } from 'prettier';
import { ensureBuilt, root } from './ensure.mjs';

const PAGE = `${root}docs/configuration-reference.md`;
/** Lines are wrapped at this width. */
const WIDTH = 120;
const STYLE = JSON.parse(readFileSync(`${root}.prettierrc.json`, 'utf8'));

/** Entries of a list: each key below a schema, with its default and its meaning. */
export function rowsOf(schema, prefix = '', required = 'required') {
  const rows = Object.entries(schema.properties ?? {}).flatMap(([name, value]) => {
    const key = prefix === '' ? name : `${prefix}.${name}`;
    const isRequired = schema.required?.includes(name);
    const others = choicesOf(schema).flatMap(({ names }) => (names.includes(name) ? names : []));
    const unless = others.filter((other) => other !== name).map((other) => `\`${other}\``);
    const need = isRequired ? required : unless.length > 0 ? `required without ${unless.join(' or ')}` : undefined;
    return [rowOf(key, value, need), ...rowsBelow(value, key)];
  });
  const others = schema.additionalProperties;
  const isDescribed = typeof others === 'object' && others !== null && others.description !== undefined;
  return isDescribed ? [...rows, rowOf(`${prefix}.*`, others)] : rows;
}

/** Keys of a map of which it needs exactly one, or at least one. */
function choicesOf({ oneOf = [], anyOf = [] }) {
  const choices = [
    { text: 'exactly one of', branches: oneOf },
    { text: 'at least one of', branches: anyOf },
  ];
  return choices.flatMap(({ text, branches }) => {
    const isChoice = branches.length > 0 && branches.every(({ required, properties }) => required && !properties);
    return isChoice ? [{ text, names: branches.flatMap(({ required }) => required) }] : [];
  });
}

/** What each map below a schema requires: its path, and the keys in words. */
export function requiredOf(schema, path = '') {
  if (schema.type === 'array') return requiredOf(schema.items ?? {}, `${path}[]`);
  if (schema.$ref !== undefined) return [];
  const code = (names) => names.map((name) => `\`${name}\``).join(', ');
  const needs = [
    ...(schema.required?.length > 0 ? [code(schema.required)] : []),
    ...choicesOf(schema).map(({ text, names }) => `${text} ${code(names)}`),
  ];
  const own = needs.length > 0 ? [{ path, needs: needs.join('; ') }] : [];
  const below = Object.entries(schema.properties ?? {});
  return [...own, ...below.flatMap(([name, value]) => requiredOf(value, path === '' ? name : `${path}.${name}`))];
}

function requiredList({ topLevel, provider, pool, drivers }) {
  const pools = { type: 'array', items: { properties: pool, required: ['name'] } };
  const common = { type: 'array', items: { properties: { ...provider, pools }, required: ['name'] } };
  const known = requiredOf({ properties: { ...topLevel.properties, providers: common } });
  const isNew = ({ path, needs }) => !known.some((other) => other.path === path && other.needs === needs);
  const ofDrivers = drivers.flatMap(({ name, schema }) =>
    requiredOf(schema, 'providers[]')
      .filter(isNew)
      .map(({ path, needs }) => ({ path, needs, driver: name })),
  );
  const all = [...known, ...ofDrivers].map(({ path, needs, driver }) => {
    const of = driver === undefined ? '' : ` (driver ${driver})`;
    return listItem(`\`${path}\`${of}: ${needs}`);
  });
  return all.join('\n');
}

/** An item of a list, wrapped; what is in backticks stays in one piece. */
export function listItem(text) {
  const words = text.match(/(?:`[^`]*`|[^\s`])+/g) ?? [];
  const lines = words.reduce((lines, word) => {
    const line = lines.at(-1) ?? '';
    const longer = line === '' ? `- ${word}` : `${line} ${word}`;
    return line !== '' && longer.length > WIDTH ? [...lines, `  ${word}`] : [...lines.slice(0, -1), longer];
  }, []);
  return lines.join('\n');
}

function rowsBelow(schema, key) {
  if (schema.$ref !== undefined) return [];
  if (schema.type === 'array') return rowsBelow(schema.items ?? {}, `${key}[]`);
  const alternatives = [...(schema.oneOf ?? []), ...(schema.anyOf ?? [])].filter((branch) => branch.properties);
  return [...rowsOf(schema, key), ...alternatives.flatMap((map) => rowsOf(map, key, 'required in this form'))];
}

/** @param required - that it is, and when; missing: never */
function rowOf(key, schema, required) {
  return {
    key,
    value: required ?? defaultOf(schema),
    meaning: meaningOf(schema),
    isComplete: isComplete(schema, required !== undefined),
  };
}

function defaultOf(schema) {
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

/** The keys of a schema as a list: key, default, meaning. @param ours - keys that the original does not have, see `x-ours` */
function list(rows, ours = [], prefix = '') {
  const marked = ours.map((entry) => `${prefix}${entry}`.split(': '));
  return rows
    .map(({ key, value, meaning }) => {
      const isOurs = marked.some(([place, kind]) => kind === undefined && isBelow(key, place));
      const kinds = marked.flatMap(([place, kind]) => (kind !== undefined && key === place ? [kind] : []));
      const also = kinds.map((kind) => `. ${KINDS[kind] ?? `\`${kind}\``}: \\*`).join('');
      return listItem(`\`${key}\`${isOurs ? ' \\*' : ''}${inBrackets(value)}: ${meaning}${also}`);
    })
    .join('\n');
}

const KINDS = { list: 'A list', required: 'That it may be absent' };
const isBelow = (key, place) => key === place || key.startsWith(`${place}.`) || key.startsWith(`${place}[`);

function inBrackets(value) {
  if (value === '') return '';
  return value.startsWith('required') ? ` (${value})` : ` (default: ${value})`;
}

/** The lists by the name they have in the page. @param schemas - top level, common keys and drivers */
export function listsOf(schemas) {
  const { topLevel, provider, pool, drivers, providerOurs = [] } = schemas;
  const top = { ...topLevel.properties };
  const { diskimages } = top;
  for (const elsewhere of ['providers', 'diskimages']) Reflect.deleteProperty(top, elsewhere);
  const common = { properties: provider, required: ['name'] };
  const pools = { properties: pool, required: ['name'] };
  return {
    'required keys': requiredList(schemas),
    'top level': list(rowsOf({ properties: top }), topLevel['x-ours']),
    providers: list(
      [...rowsOf(common, 'providers[]'), ...rowsOf(pools, 'providers[].pools[]')],
      providerOurs,
      'providers[].',
    ),
    diskimages: list(rowsOf(diskimages.items, 'diskimages[]'), topLevel['x-ours']),
    drivers: drivers.map(driverSection).join('\n\n'),
  };
}

function driverSection({ name, schema }) {
  const about = schema.description === undefined ? '' : `${schema.description}. `;
  const readme = `[@nodepool/driver-${name}](../packages/driver-${name}/README.md)`;
  const { 'x-ours': ours = [] } = schema;
  const isOurs = ours.includes(`driver: ${name}`);
  const note = isOurs ? ' The original has no such driver: all its keys are ours \\*.' : '';
  const rows = rowsOf(schema);
  return `### ${name}\n\n${about}See ${readme}.${note}\n\n${list(rows, isOurs ? rows.map(({ key }) => key) : ours)}`;
}

/** The page with its lists replaced. @throws {Error} a list has no place in it */
export async function renderPage(page, lists) {
  let text = page;
  for (const [name, content] of Object.entries(lists)) {
    const [begin, end] = [`<!-- begin ${name} -->`, `<!-- end ${name} -->`];
    const [before, rest] = text.split(begin);
    const after = rest?.split(end)[1];
    if (after === undefined) throw new Error(`docs/configuration-reference.md has no ${begin} ... ${end}`);
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
  await ensureBuilt();
  const { TOP_LEVEL_SCHEMA } = await import(`${root}packages/core/dist/config/top-level-schema.js`);
  const { COMMON_PROVIDER_PROPERTIES, COMMON_PROVIDER_OURS, COMMON_POOL_PROPERTIES } = await import(
    `${root}packages/core/dist/config/compose-schema.js`
  );
  const modules = await Promise.all(driverPackages().map((name) => import(`${root}packages/${name}/dist/index.js`)));
  const lists = listsOf({
    topLevel: TOP_LEVEL_SCHEMA,
    provider: COMMON_PROVIDER_PROPERTIES,
    pool: COMMON_POOL_PROPERTIES,
    providerOurs: COMMON_PROVIDER_OURS,
    drivers: modules.flatMap(({ driver }) => (driver === undefined ? [] : [driver])),
  });
  writeFileSync(PAGE, await renderPage(readFileSync(PAGE, 'utf8'), lists));
}

if (argv[1] === fileURLToPath(import.meta.url)) await main().catch((error) => (console.error(error), exit(1)));
