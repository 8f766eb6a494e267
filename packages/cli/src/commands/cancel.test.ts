import { describe, expect, it } from 'vitest';
import { REQUESTS_ROOT } from '@nodepool/zk-protocol';
import { useWorld } from '../../test/world.js';

const get = useWorld();
const call = (...argv: string[]) => get().call(...argv);

describe('nodepool cancel', () => {
  it('deletes a request', async () => {
    const id = await get().createRequest(['small']);

    const { status, stdout } = await call('cancel', id);

    expect([status, stdout]).toEqual([0, `Request ${id} is cancelled\n`]);
    expect(await get().zk.getChildren(REQUESTS_ROOT)).toEqual([]);
  });

  it('ends with status 1 for an unknown request and suggests a similar one', async () => {
    const id = await get().createRequest(['small']);
    const short = String(Number(id.split('-')[1]));

    expect(await call('cancel', '200-9')).toMatchObject({
      status: 1,
      stderr: 'nodepool: Request id 200-9 not found\n',
    });
    expect((await call('cancel', short)).stderr).toBe(`nodepool: Request id ${short} not found, did you mean ${id}?\n`);
  });
});
