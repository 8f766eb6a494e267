import { beforeAll, describe, expect, it } from 'vitest';
import { useWorld } from '../../test/world.js';

const get = useWorld();
const call = (...argv: string[]) => get().call(...argv);

beforeAll(() => get().write('nodepool.yaml', 'labels:\n  - name: planned\n'));

describe.each([
  ['ssh', ['--', 'true']],
  ['run', ['--', 'true']],
  ['request', []],
])('nodepool %s', (command, rest) => {
  it('suggests a similar label and submits no request', async () => {
    await get().registerRack(['small', 'large']);

    expect(await call(command, 'smal', ...rest)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('No launcher offers the label smal, did you mean small?') as string,
    });
    expect(await get().zk.getChildren('/nodepool/requests')).toEqual([]);
  });

  it.each([['planned'], ['exotic', '--force']])('asks for %j, which no launcher offers', async (...label) => {
    await get().registerRack(['small']);

    const { stderr } = await call(command, ...label, '--timeout', '0.1s', ...rest);

    expect(stderr).toContain('was not fulfilled within 0.1 s');
  });
});
