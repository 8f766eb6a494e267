import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { useInstallation } from './installation.js';

const get = useInstallation();

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

  it('has the fields asked for, in every format', async () => {
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
