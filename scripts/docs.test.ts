// What the documentation must contain, and that its links lead somewhere.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => file !== '' && existsSync(join(root, file)));
const pages = tracked.filter((file) => file.endsWith('.md'));
const sources = tracked.filter((file) => /^packages\/[^/]+\/src\/.*\.ts$/.test(file) && !file.endsWith('.test.ts'));

interface Schema {
  properties?: Record<string, Schema>;
  items?: Schema;
}

/** Paths of all keys a schema names, e.g. `labels[].min-ready`. */
function optionsOf(schema: Schema, prefix = ''): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, value]) => {
    const path = prefix === '' ? key : `${prefix}.${key}`;
    return [path, ...optionsOf(value, path), ...optionsOf(value.items ?? {}, `${path}[]`)];
  });
}

/** Sources are loaded by address: scripts do not import the inside of packages. */
const load = (file: string): Promise<Record<string, unknown>> =>
  import(join(root, file)) as Promise<Record<string, unknown>>;

describe('docs/architecture.md', () => {
  const page = read('docs/architecture.md');
  const passed = [...page.matchAll(/^\d+\. `([^`]+\.(?:ts|js))`/gm)].map(([, file = '']) => file);

  it('names only files that exist on the ways of a request, a launch, a configuration file and a command', () => {
    expect(passed.length).toBeGreaterThan(30);
    expect(passed.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  });

  it('names only folders of packages that exist', () => {
    const named = [...page.matchAll(/`((?:core|zk-protocol|packages)\/[\w./-]+)`/g)].map(([, path = '']) => path);
    const missing = named.filter((path) => ![path, `packages/${path}`].some((each) => existsSync(join(root, each))));

    expect(named.length).toBeGreaterThan(10);
    expect(missing).toEqual([]);
  });
});

describe('the list of rooms in docs/architecture.md', () => {
  const page = read('docs/architecture.md');
  const items = page.split(/\n(?=- |\n)/).map((item) => item.replaceAll(/\s+/g, ' ').trim());
  const rowOf = (name: string) => items.find((item) => item.startsWith(`- \`${name}\`: `)) ?? '';
  const { ROOMS } = createRequire(import.meta.url)('./rooms.cjs') as { ROOMS: Record<string, Record<string, unknown>> };
  // tools are not drawn
  const drawn = Object.entries(ROOMS).filter(([folder]) => !folder.startsWith('tools/'));

  it.each(drawn)('has every room of %s', (folder, rooms) => {
    const name = folder.replace('packages/', '');
    const missing = Object.keys(rooms).filter((room) => {
      const [wing = '', ...below] = room.split('/');
      const row = `${rowOf(`${name}/src/${wing}`)} ${rowOf(name)}`;
      const last = below.at(-1) ?? wing;
      return room !== '.' && !row.includes(`\`${last}\``) && !row.includes(`\`${room}\``);
    });

    expect(missing).toEqual([]);
  });
});

describe('error codes', () => {
  const defined = new Set(
    sources
      // what a program sets in the environment is named alike
      .flatMap(
        (file) =>
          read(file).match(/(?<!env\[|MARK = )'(NODEPOOL|ZK)_[A-Z_]+'|^ {2}NODEPOOL_[A-Z_]+(?=: 'error\.)/gm) ?? [],
      )
      .map((code) => code.replaceAll("'", '').trim()),
  );
  const documented = new Set(
    read('docs/errors.md')
      .match(/`(NODEPOOL|ZK)_[A-Z_]+`/g)
      ?.map((code) => code.slice(1, -1)),
  );

  it('are all explained in docs/errors.md', () => {
    const missing = [...defined].filter((code) => !documented.has(code));

    expect(defined.size).toBeGreaterThan(30);
    expect(missing).toEqual([]);
  });

  it('that no longer exist are not explained', () => {
    const text = sources.map(read).join('\n');

    const stale = [...documented].filter((code) => !text.includes(code));

    expect(stale).toEqual([]);
  });
});

describe('options', () => {
  it('that are secure are in docs/configuration.md, as those of the main file are', async () => {
    const { SECURE_SCHEMA, TOP_LEVEL_SCHEMA } = await load('packages/core/src/config/top-level-schema.ts');
    const main = new Set(optionsOf(TOP_LEVEL_SCHEMA as Schema));
    const [, section = ''] = read('docs/configuration.md').split('## Secure file');

    const others = optionsOf(SECURE_SCHEMA as Schema).filter((option) => !main.has(option));
    expect(others.filter((option) => !section.includes(`\`${option}\``))).toEqual([]);
  });

  const drivers = readdirSync(join(root, 'packages')).filter(
    (name) => name.startsWith('driver-') && existsSync(join(root, 'packages', name, 'src/driver.ts')),
  );

  it.each(drivers)('of %s are in its README', async (name) => {
    const { driver } = await load(`packages/${name}/src/index.ts`);
    const common = await load('packages/core/src/config/compose-schema.ts');
    const explainedElsewhere = [common['COMMON_PROVIDER_PROPERTIES'], common['COMMON_POOL_PROPERTIES']].flatMap(
      (keys) => Object.keys(keys as object),
    );
    const keys = optionsOf((driver as { schema: Schema }).schema).map((path) => path.replace(/^.*\./, ''));

    const text = read(`packages/${name}/README.md`).replaceAll(/^```[\s\S]*?^```/gm, '');
    const words = [...text.matchAll(/`([^`]+)`/g)].flatMap(([, code]) => code?.split(/[\s.:[\]]+/) ?? []);
    const known = new Set([...words, ...explainedElsewhere]);

    expect([...new Set(keys)].filter((key) => !known.has(key))).toEqual([]);
  });
});

describe('links', () => {
  it.each(pages)('of %s lead to files that exist', (page) => {
    const links = [...read(page).matchAll(/\]\((?!https?:|mailto:|#)([^)#\s]+)/g)].map(([, target]) => target ?? '');

    const broken = links.filter((target) => !existsSync(join(root, dirname(page), target)));

    expect(broken).toEqual([]);
  });
});

describe('docs/state-machines.md', () => {
  const page = read('docs/state-machines.md');

  /** Arrows of the picture in a section, e.g. `in_use>used`; the beginning and the end are empty. */
  const arrowsOf = (section: string): Set<string> => {
    const [, picture = ''] = new RegExp(`^## ${section}\\n[^]*?\`\`\`mermaid\\n([^]*?)\`\`\``, 'm').exec(page) ?? [];
    const arrows = [...picture.matchAll(/^ *(\S+) --> (\S+?)(?::|$)/gm)];
    return new Set(arrows.map(([, from = '', to = '']) => `${from}>${to}`.replaceAll('[*]', '')));
  };
  const named = (state: string | undefined): string => (state ?? '').replaceAll('-', '_');

  it.each([
    ['Nodes', 'NODE_TRANSITIONS'],
    ['Requests', 'REQUEST_TRANSITIONS'],
  ])('shows the transitions of %s, and no others', async (section, table) => {
    const states = await load('packages/zk-protocol/src/records/states.ts');
    const transitions = states[table] as { from?: string; to?: string }[];

    const wanted = new Set(transitions.map(({ from, to }) => `${named(from)}>${named(to)}`));

    expect([...arrowsOf(section)].sort()).toEqual([...wanted].sort());
  });
});

describe('docs/driver-reference.md', () => {
  const page = read('docs/driver-reference.md');
  const types = read('packages/core/src/contract/driver.ts');

  /** Members of an interface of the driver contract. */
  const membersOf = (name: string): string[] => {
    const [, body = ''] = new RegExp(`^export interface ${name} [^{]*\\{\\n([^]*?)^\\}`, 'm').exec(types) ?? [];
    return [...body.matchAll(/^ {2}(?:readonly )?(\w+)\??[:(]/gm)].map(([, member = '']) => member);
  };

  it.each(['Driver', 'DriverCapabilities', 'Provider', 'ProviderNotifications', 'NodeRequestHandler', 'QuotaSupport'])(
    'explains every member of %s',
    (name) => {
      const members = membersOf(name).filter((member) => member !== 'config');

      expect(members.length).toBeGreaterThan(0);
      expect(members.filter((member) => !new RegExp(`\\b${member}\\b`).test(page))).toEqual([]);
    },
  );

  it('names every part of the kit, and every failure it asks for', () => {
    const parts = tracked.filter((file) => /^packages\/core\/src\/testing\/parts\/[^/.]+\.ts$/.test(file));
    const names = parts.map((file) => /^ {2}name: '(.*)',$/m.exec(read(file))?.[1] ?? file);
    const [, kinds = ''] = /CloudFailureKind =([^;]*);/.exec(read('packages/core/src/testing/harness/types.ts')) ?? [];

    expect(names.filter((name) => !page.includes(`\n- ${name}: `))).toEqual([]);
    expect(
      [...kinds.matchAll(/'([a-z-]+)'/g)].map(([, kind = '']) => kind).filter((kind) => !page.includes(kind)),
    ).toEqual([]);
  });
});

describe('what is in ZooKeeper', () => {
  const page = read('docs/zookeeper.md');
  const codes = (text: string) => new Set([...text.matchAll(/`([a-z][\w-]*)`/g)].map(([, word = '']) => word));
  const ours = new Set(
    [...page.matchAll(/^- `\/nodepool\/([a-z-]+)[^`]*`\. What: ours:/gm)].map(([, name = '']) => name),
  );

  it('is all in docs/zookeeper.md', () => {
    const text = sources
      .filter((file) => !file.includes('/testing/'))
      .map(read)
      .join('\n');
    const made = [...text.matchAll(/['"`](?:\/nodepool|\$\{NODEPOOL_ROOT\})\/([a-z-]{4,})(?=['"`/])/g)];
    const names = new Set(made.map(([, name = '']) => name));

    expect([...names]).toEqual(expect.arrayContaining(['nodes', 'leases', 'moving', 'builder-ids']));
    expect([...names].filter((name) => !page.includes(`- \`/nodepool/${name}`))).toEqual([]);
  });

  it('and ours alone is in docs/migrating.md, with what becomes of it after the way back', () => {
    const [, section = ''] = /^### What stays in ZooKeeper$([^]*?)^## /m.exec(read('docs/migrating.md')) ?? [];
    const rows = codes([...section.matchAll(/^\| (`[^|]*)\|/gm)].map(([, cell]) => cell).join());

    expect(ours.size).toBeGreaterThan(6);
    expect([...rows].sort()).toEqual([...ours].sort());
  });

  it.each(['node', 'request', 'component'])(
    'has the keys that a %s of the original lacks under the added keys',
    (kind) => {
      const [, section = ''] = page.split('## Keys added by this project');
      const source = read(`packages/zk-protocol/src/records/${kind}.ts`);
      const lists = [...source.matchAll(/^const KNOWN_\w*KEYS[^=]*= new Set\(([^;]*)\);/gm)].map(
        ([, list = '']) => list,
      );
      const keys = [...lists.join().matchAll(/'([^']+)'/g)].flatMap(([, list = '']) => list.trim().split(' '));
      const { vectors } = JSON.parse(read(`packages/zk-protocol/test/vectors/${kind}s.json`)) as {
        vectors: { body?: object }[];
      };
      const known = new Set(vectors.flatMap(({ body = {} }) => Object.keys(body)));
      const documented = codes(section);

      const added = keys.filter((key) => key !== '' && !known.has(key));
      expect(added.length).toBeGreaterThan(0);
      expect(added.filter((key) => !documented.has(key))).toEqual([]);
    },
  );
});
