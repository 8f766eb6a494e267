// Each program's man page is current, well-formed, in its package, and has every option of --help.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Sources are loaded by address: scripts do not import the inside of packages. */
const source = (file: string) => import(join(root, 'packages', file)) as Promise<Record<string, unknown>>;

/** Programs that find mistakes in a man page, of which a machine has some. */
const CHECKERS = [
  ['mandoc', '-T', 'lint', '-W', 'warning'],
  ['groff', '-man', '-ww', '-z', '-K', 'utf8'],
].filter(([program = '']) => spawnSync(program, ['--version']).error === undefined);

type MakePage = (of: unknown) => string;
type ParseCommandLine = (of: unknown, argv: string[], context: object) => Promise<{ print: string }>;

const { manPage } = (await source('cli/src/help/man-page.ts')) as { manPage: MakePage };
const { loadCommands } = (await source('cli/src/commands/index.ts')) as { loadCommands: () => Promise<unknown> };
const { serviceManPage } = (await source('daemon/src/man-page.ts')) as { serviceManPage: MakePage };
const { parseCommandLine } = (await source('daemon/src/arguments.ts')) as { parseCommandLine: ParseCommandLine };
const SERVICES = await Promise.all(
  ['launcher', 'builder'].map(
    async (name) => [name, (await source(`${name}/src/arguments.ts`))['COMMAND_LINE']] as const,
  ),
);

const PAGES = [
  { folder: 'cli', file: 'nodepool.1', text: manPage(await loadCommands()) },
  ...SERVICES.map(([folder, line]) => ({ folder, file: `nodepool-${folder}.8`, text: serviceManPage(line) })),
];
const read = (path: string) => readFileSync(join(root, 'packages', path), 'utf8');

describe.each(PAGES)('the man page $file', ({ folder, file, text }) => {
  it('is that of the program as it is now; otherwise run: npm run docs', () => {
    expect(read(`${folder}/man/${file}`)).toBe(text);
  });

  it('comes with the package', () => {
    const { man, files } = JSON.parse(read(`${folder}/package.json`)) as { man: string[]; files: string[] };

    expect(man).toEqual([`man/${file}`]);
    expect(files).toContain('man');
  });

  it.each(CHECKERS)('has no mistakes that %s finds', (program, ...args) => {
    const page = join(root, 'packages', folder, 'man', file);
    const { stdout, stderr } = spawnSync(program, [...args, page], { encoding: 'utf8' });

    const lines = `${stdout}${stderr}`.split('\n').filter((line) => line !== '' && !/missing date/.test(line));
    expect(lines).toEqual([]);
  });
});

it.each(SERVICES)('the man page of the %s has every option of --help', async (folder, line) => {
  const { print } = await parseCommandLine(line, ['--help'], { home: '/root', cwd: '/', version: '1' });
  const page = read(`${folder}/man/nodepool-${folder}.8`).replaceAll('\\-', '-');
  const named = [...print.matchAll(/^\s+(?:-h, )?(--?[a-z][\w-]*)/gm)];

  expect(named.length).toBeGreaterThan(8);
  for (const [, option = ''] of named) expect(page).toContain(option.replace(/^--webapp$/, '--no-webapp'));
});
