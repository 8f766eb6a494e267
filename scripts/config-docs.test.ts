// docs/configuration-reference.md is what the schemas say, and the schemas say enough.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { driverPackages, renderPage, rowsOf, listOf, listsOf, driverSections } from './config-docs.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

interface Driver {
  readonly name: string;
  readonly schema: object;
}

/** Sources are loaded by address: scripts do not import the inside of packages. */
const load = (file: string): Promise<Record<string, unknown>> =>
  import(join(root, file)) as Promise<Record<string, unknown>>;

describe('docs/configuration-reference.md', () => {
  let schemas: { topLevel: object; provider: object; providerOurs: string[]; pool: object; drivers: Driver[] };

  beforeAll(async () => {
    const { TOP_LEVEL_SCHEMA } = await load('packages/core/src/config/top-level-schema.ts');
    const common = await load('packages/core/src/config/compose-schema.ts');
    const modules = await Promise.all(driverPackages().map((name: string) => load(`packages/${name}/src/index.ts`)));
    schemas = {
      topLevel: TOP_LEVEL_SCHEMA as object,
      provider: common['COMMON_PROVIDER_PROPERTIES'] as object,
      providerOurs: common['COMMON_PROVIDER_OURS'] as string[],
      pool: common['COMMON_POOL_PROPERTIES'] as object,
      drivers: modules.flatMap(({ driver }) => (driver === undefined ? [] : [driver as Driver])),
    };
  }, 60_000);

  it('has the lists of the schemas as they are now; otherwise run: npm run docs', async () => {
    const page = readFileSync(join(root, 'docs/configuration-reference.md'), 'utf8');

    expect(page).toBe(await renderPage(page, listsOf(schemas)));
  });

  it('says what a map requires, and where one of several keys will do', () => {
    const image = {
      properties: { name: {}, id: {}, ram: {}, flavor: {} },
      ...{ required: ['name'], oneOf: [{ required: ['id'] }, { required: ['ram'] }] },
    };

    expect(rowsOf(image).map(({ key, value }) => [key, value])).toEqual([
      ['name', 'required'],
      ['id', 'required without `ram`'],
      ['ram', 'required without `id`'],
      ['flavor', ''],
    ]);
  });

  it('says once what keys of one name and meaning are, each with its default where they differ', () => {
    const entry = (name: string, value: string, meaning: string) => ({ name, value, meaning });

    expect(
      listOf([
        entry('`a.port`', ' (default: `1`)', 'Port'),
        entry('`a.old`', '', 'Without effect'),
        entry('`b.port` \\*', ' (default: `1`)', 'Port'),
        entry('`a.age`', ' (default: `1`)', 'Age'),
        entry('`b.former`', '', 'Without effect'),
        entry('`b.age`', ' (default: `2`)', 'Age'),
      ]).split('\n'),
    ).toEqual([
      '- `a.port`, `b.port` \\* (default: `1`): Port',
      '- `a.old`, `b.former`: Without effect',
      '- `a.age` (default: `1`), `b.age` (default: `2`): Age',
    ]);
  });

  it('has each key of each driver in the section of the driver, or in one of drivers that share it', () => {
    const { drivers } = schemas;
    const sections = driverSections(drivers).split(/^### /m).slice(1);
    const missing = drivers.flatMap(({ name, schema }) => {
      const own = sections.filter((section) => section.split('\n')[0]?.split(', ').includes(name)).join('\n');
      return rowsOf(schema).flatMap(({ key }) => (own.includes(`\`${key}\``) ? [] : [`${name}: ${key}`]));
    });

    expect(missing).toEqual([]);
  });

  it('says of each key what it is for and what holds without it', () => {
    const { topLevel, provider, pool, drivers } = schemas;
    const parts = [
      ['top level', topLevel],
      ['providers', { properties: provider, required: ['name'] }],
      ['pools', { properties: pool, required: ['name'] }],
      ...drivers.map(({ name, schema }) => [`driver ${name}`, schema] as const),
    ] as const;
    const lacking = parts.flatMap(([part, schema]) =>
      rowsOf(schema)
        .filter(({ isComplete }) => !isComplete)
        .map(({ key }) => `${part}: ${key}`),
    );

    expect(lacking).toEqual([]);
  });
});
