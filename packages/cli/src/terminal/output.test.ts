import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadCommands } from '../commands/index.js';
import { useWorld } from '../../test/world.js';
import { nodepoolUntil } from '../../test/program.js';

const get = useWorld();

beforeAll(() => get().write('nodepool.yaml', 'labels:\n  - name: small\n'));

const call = (...argv: string[]) => get().nodepool('nodepool.yaml', ...argv);

/** Time passes between two calls. */
const withoutAge = (rows: unknown) => (rows as object[]).map((row) => ({ ...row, age: '' }));

describe('a listing', () => {
  it('is written as YAML, with the same members as JSON', async () => {
    await get().createNode({ comment: 'yes' });

    const [yaml, json] = [await call('list', '--format', 'yaml'), await call('list', '--format', 'json')];

    expect(withoutAge(parse(yaml.stdout))).toEqual(withoutAge(JSON.parse(json.stdout)));
  });

  it('has the requested fields in every format', async () => {
    const id = await get().createNode();

    const table = await call('list', '--fields', 'state,id');
    const json = await call('list', '--fields', 'state,id', '--json');
    const extra = await call('list', '--fields', 'id,launch_error', '--format', 'yaml');

    expect(table.stdout.split('\n')[1]).toBe('| ID         | State |');
    expect(JSON.parse(json.stdout)).toEqual([{ id, state: 'ready' }]);
    expect(parse(extra.stdout)).toEqual([{ id, launch_error: null }]);
  });

  it('refuses a field it does not have, and names those it has', async () => {
    const { status, stderr } = await call('list', '--fields', 'stat');

    expect(status).toBe(2);
    expect(stderr).toMatch(/unknown field "stat", known are id, provider, /);
  });

  it('leaves header and rules out, and fills empty cells', async () => {
    const first = await get().createNode({ az: 'a' });
    const second = await get().createNode();

    const { stdout } = await call('list', '--no-headers', '--fields', 'id,AZ,state');
    const none = await call('request-list', '--no-headers');

    expect(stdout).toBe(`${first}  ready  a\n${second}  ready  -\n`);
    expect(none.stdout).toBe('');
  });

  it('of info has fields and headers as well', async () => {
    const id = await get().createNode();

    const { stdout } = await call('info', 'rack', '--no-headers', '--fields', 'id');

    expect(stdout).toContain(`\nNodes:\n${id}\n`);
  });
});

/** Arguments of commands that read and need some. */
const ARGUMENTS: Readonly<Record<string, string[]>> = { info: ['rack'], token: ['list'] };
/** What compares things that must be there first takes the options in tests of its own. */
const ELSEWHERE: readonly string[] = ['advise', 'replay', 'usage'];
const reading = (await loadCommands())
  .filter(({ reads, name }) => reads === true && !ELSEWHERE.includes(name))
  .map(({ name }) => name);

it('the commands that read are known', () => {
  expect(reading.length).toBeGreaterThan(9);
  expect(reading).toEqual(expect.arrayContaining(['list', 'request-list', 'image-list', 'labels', 'doctor', 'info']));
});

describe.each(reading)('nodepool %s', (name) => {
  const argv = [name, ...(ARGUMENTS[name] ?? [])];

  beforeEach(async () => {
    await get().createNode();
    await get().createRequest(['small']);
    await get().registerRack(['small']);
  });

  /** The names of its fields, which the error for an unknown field lists. */
  async function fields(): Promise<string[]> {
    const { status, stderr } = await call(...argv, '--fields', 'no-such-field');
    expect(status).toBe(2);
    return (/known are (.*)/.exec(stderr)?.[1] ?? '').split(', ');
  }

  it('has the same as a table, as JSON and as YAML', async () => {
    const [table, json, yaml] = [
      await call(...argv),
      await call(...argv, '--json'),
      await call(...argv, '--format', 'yaml'),
    ];

    expect(new Set([table, json, yaml].map(({ status }) => status)).size).toBe(1);
    const steady = (text: unknown) => JSON.stringify(text).replaceAll(/\d\d:\d\d:\d\d:\d\d|\d+(\.\d+)? ms/g, '');
    expect(steady(parse(yaml.stdout))).toBe(steady(JSON.parse(json.stdout)));
    expect(table.stdout).not.toBe('');
  });

  it('has the requested fields, and no header if disabled', async () => {
    const [first = '', ...others] = await fields();

    const table = await call(...argv, '--fields', first);
    const bare = await call(...argv, '--fields', first, '--no-headers');
    const json = await call(...argv, '--fields', first, '--json');

    expect(others.length).toBeGreaterThan(0);
    expect(table.stdout).toMatch(/^\+-+\+$/m);
    expect(table.stdout).not.toMatch(/^\+-+\+-/m);
    expect(bare.stdout).not.toMatch(/^\+-/m);
    for (const other of others) expect(json.stdout).not.toContain(`"${other}":`);
  });

  it('looks again and again until Ctrl-C', async () => {
    const looks = (stdout: string) => stdout.trimEnd().split('\n').length;
    const options = ['-c', get().file('nodepool.yaml'), '--state-dir', get().file('state')];

    const { status, stdout } = await nodepoolUntil(
      (text) => text.endsWith('\n') && looks(text) >= 3,
      ...[...options, ...argv, '--json', '--watch', '0.1s'],
    );

    expect(status).toBe(0);
    expect(looks(stdout)).toBeGreaterThanOrEqual(3);
  });
});
