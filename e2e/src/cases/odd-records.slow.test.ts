import { describe, expect, it } from 'vitest';
import { nodesOf, simpleSetup } from '../static-config.js';
import { useStatic } from '../use-harness.js';

const get = useStatic({ sshd: { count: 2, keyTypes: ['ed25519'] } });

describe('a node', () => {
  it('in use without a lock is taken back', async () => {
    const host = get().host(0);
    await get().launch(simpleSetup(nodesOf([host], 'small')));
    const scheduler = await get().newClient();
    const executor = await get().newClient();
    const id = await scheduler.submit(['small']);
    await scheduler.wait(id);
    const [node] = await executor.accept(id);
    if (!node) throw new Error('no node');
    await executor.use([node]);

    await executor.zk.close();
    const again = await scheduler.getNode('small');
    await scheduler.giveBack([again]);

    expect(again.id).not.toBe(node.id);
    expect(again.body).toMatchObject({ interface_ip: host.address, user_data: expect.anything() as unknown });
  });
});

describe('malformed records', () => {
  it('disturb no other request; empty ones are removed and their slots registered again', async () => {
    await get().launch(simpleSetup(nodesOf(get().sshd.hosts, 'small')));
    const zuul = await get().newClient();
    const { zk } = get();
    // slots that were not registered before are not while a record may stand for them
    await zuul.giveBack(await zuul.getNodes(['small', 'small']));
    const empty = await zk.create('/nodepool/nodes/', '', { sequential: true });
    const odd = await Promise.all(
      [
        'this is no JSON',
        '[1, 2]',
        'null',
        JSON.stringify({ state: 'ready', type: 5, provider: 'static-one', pool: 'main', allocated_to: ['x'] }),
        JSON.stringify({ state: 'dancing', type: ['small'], provider: 'static-one', pool: 'main' }),
        JSON.stringify({ state: 7, provider: {}, host_keys: 'none' }),
      ].map((body) => zk.create('/nodepool/nodes/', body, { sequential: true })),
    );
    const oddRequests = await Promise.all(
      [
        '',
        'no JSON',
        '[]',
        JSON.stringify({ state: 'requested', node_types: 'small' }),
        '{"node_types": ["small"]}',
      ].map((body) => zk.create('/nodepool/requests/200-', body, { sequential: true })),
    );

    const nodes = await zuul.getNodes(['small', 'small']);
    await zuul.giveBack(nodes);
    const emptied = await zuul.getNode('small');
    await zk.setData(`/nodepool/nodes/${emptied.id}`, '');
    await emptied.lock.release();

    expect(nodes).toHaveLength(2);
    await Promise.all(oddRequests.map((path) => zk.deleteRecursive(path)));
    await Promise.all(odd.map((path) => zk.deleteRecursive(path)));
    // the launcher removes empty records in a sweep once a minute
    await expect.poll(() => zk.exists(empty), { timeout: 120_000 }).toBeUndefined();
    await get().assertClean(120_000);
  });
});
