// Writes the lists of keys in docs/configuration-reference.md from the schemas that check configurations: npm run docs.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { argv, exit } from 'node:process';
import { fileURLToPath } from 'node:url';
import { format } from 'prettier';
import { ensureBuilt, root } from './ensure.mjs';

const PAGE = `${root}docs/configuration-reference.md`;
/** Lines are wrapped at this width. */
const WIDTH = 140;
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

/** Keys of a map of which it needs exactly one, or at least one: each such list. */
function choicesOf({ oneOf = [], anyOf = [] }) {
  return [oneOf, anyOf]
    .filter((branches) => branches.length > 0 && branches.every(({ required, properties }) => required && !properties))
    .map((branches) => ({ names: branches.flatMap(({ required }) => required) }));
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
  if (hasSecret(schema)) sentences.push('Secret');
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

/** The keys of a schema as entries of a list. @param ours - keys that the original does not have, see `x-ours` */
function entriesOf(rows, ours = [], prefix = '') {
  const marked = ours.map((entry) => `${prefix}${entry}`.split(': '));
  return rows.map(({ key, value, meaning }) => {
    const isOurs = marked.some(([place, kind]) => kind === undefined && isBelow(key, place));
    const kinds = marked.flatMap(([place, kind]) => (kind !== undefined && key === place ? [kind] : []));
    const also = kinds.map((kind) => `. ${KINDS[kind] ?? `\`${kind}\``}: \\*`).join('');
    return { name: `\`${key}\`${isOurs ? ' \\*' : ''}`, value: inBrackets(value), meaning: `${meaning}${also}` };
  });
}

/** A list of entries: key, default, meaning. Keys of one name and meaning are one item. */
export function listOf(entries) {
  const leafOf = ({ name, meaning }) => (meaning.startsWith('Without effect') ? '' : /[^.`]+(?=`)/.exec(name)?.[0]);
  const groups = groupBy(entries, (entry) => `${leafOf(entry)}\n${entry.meaning}`);
  return groups
    .map((group) => {
      const { value, meaning } = group[0];
      const isSame = group.every((entry) => entry.value === value);
      const names = group.map((entry) => `${entry.name}${isSame ? '' : entry.value}`).join(', ');
      return listItem(`${names}${isSame ? value : ''}: ${meaning}`);
    })
    .join('\n');
}

/** Groups in the order of their first members. */
function groupBy(all, nameOf) {
  const groups = new Map();
  for (const each of all) groups.set(nameOf(each), [...(groups.get(nameOf(each)) ?? []), each]);
  return [...groups.values()];
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
    'top level': listOf(entriesOf(rowsOf({ properties: top }), topLevel['x-ours'])),
    providers: listOf(
      entriesOf(
        [...rowsOf(common, 'providers[]'), ...rowsOf(pools, 'providers[].pools[]')],
        providerOurs,
        'providers[].',
      ),
    ),
    diskimages: listOf(entriesOf(rowsOf(diskimages.items, 'diskimages[]'), topLevel['x-ours'])),
    drivers: driverSections(drivers, entriesOf(rowsOf({ properties: { pools: { items: pools, type: 'array' } } }))),
  };
}

/** So many keys that the same drivers have get a section of their own. */
const SHARED = 3;

/** A section for each driver, and one for drivers that share keys. @param common - entries of all drivers, left out */
export function driverSections(drivers, common = []) {
  const isCommon = (entry) => common.some((other) => isSame(entry, other));
  const entries = drivers.flatMap(({ name, schema }) => {
    const ours = isAllOurs(name, schema) ? [] : schema['x-ours'];
    const all = entriesOf(rowsOf(schema), ours).filter((entry) => !isCommon(entry));
    return all.map((entry) => ({ ...entry, driver: name }));
  });
  const shared = new Map();
  for (const group of groupBy(entries, ({ name, value, meaning }) => `${name}${value}\n${meaning}`)) {
    const names = group.map(({ driver }) => driver).join(', ');
    if (group.length > 1) shared.set(names, [...(shared.get(names) ?? []), group]);
  }
  const sections = [...shared].filter(([, groups]) => groups.length >= SHARED);
  const said = new Set(sections.flatMap(([, groups]) => groups.flat()));
  const ofMany = sections.map(([names, groups]) => `### ${names}\n\n${listOf(groups.map(([entry]) => entry))}`);
  const ofOne = drivers.map(({ name, schema }) => {
    const own = entries.filter((entry) => entry.driver === name && !said.has(entry));
    return `${driverHeader(name, schema)}\n\n${listOf(own)}`;
  });
  return [...ofMany, ...ofOne].join('\n\n');
}

const isSame = (one, other) => ['name', 'value', 'meaning'].every((part) => one[part] === other[part]);
const isAllOurs = (name, schema) => (schema['x-ours'] ?? []).includes(`driver: ${name}`);

function driverHeader(name, schema) {
  const about = schema.description === undefined ? '' : `${schema.description}. `;
  const readme = `[@nodepool/driver-${name}](../packages/driver-${name}/README.md)`;
  const note = isAllOurs(name, schema) ? ' The original has no such driver: all its keys are ours \\*.' : '';
  return `### ${name}\n\n${about}See ${readme}.${note}`;
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
