import { describe, expect, it } from 'vitest';
import { requestByPython } from '../python-client.js';
import { nodesOf, simpleSetup } from '../static-config.js';
import { useStatic } from '../use-harness.js';
import { requestPath } from '../zuul-records.js';

const get = useStatic({ sshd: { count: 4 } });

describe('a request', () => {
  it('for one node gets a node with the keys of the real host', async () => {
    const host = get().host(0);
    await get().launch(simpleSetup(nodesOf([host], 'small')));
    const zuul = await get().newClient();

    const id = await zuul.submit(['small']);
    const request = await zuul.wait(id);
    const [node] = await zuul.accept(id);
    if (!node) throw new Error('no node');
    await zuul.use([node]);
    await zuul.giveBack([node]);

    expect(request).toMatchObject({ state: 'fulfilled', nodes: [node.id], declined_by: [], node_types: ['small'] });
    expect([...node.body.host_keys].sort()).toEqual([...host.hostKeys].sort());
    expect(node.body).toMatchObject({
      type: ['small'],
      provider: 'static-one',
      pool: 'main',
      interface_ip: host.address,
      connection_port: host.port,
      connection_type: 'ssh',
      username: 'root',
      launcher: 'static driver',
      tenant_name: 'tenant-one',
      requestor: zuul.systemId,
      slot: 0,
    });
  });

  it('for several labels, some repeated, gets its nodes in the order requested', async () => {
    const setup = simpleSetup([
      ...nodesOf([get().host(0), get().host(1)], 'small'),
      ...nodesOf([get().host(2)], 'big'),
      ...nodesOf([get().host(3)], 'arm'),
    ]);
    await get().launch(setup);
    const zuul = await get().newClient();

    const nodes = await zuul.getNodes(['big', 'small', 'arm', 'small']);
    await zuul.giveBack(nodes);

    expect(nodes.map(({ body }) => body.type[0])).toEqual(['big', 'small', 'arm', 'small']);
    expect(new Set(nodes.map(({ id }) => id)).size).toBe(4);
  });

  it('waits for a returned node when all are taken', async () => {
    const host = get().host(0);
    await get().launch(simpleSetup(nodesOf([host], 'small')));
    const zuul = await get().newClient();
    const first = await zuul.getNodes(['small']);

    const secondId = await zuul.submit(['small']);
    const thirdId = await zuul.submit(['small'], { priority: 100 });
    await zuul.giveBack(first);
    await zuul.wait(thirdId);
    const { body: secondMeanwhile } = await zuul.readRequest(secondId);
    const third = await zuul.take(thirdId);
    await zuul.giveBack(third);
    const second = await zuul.take(secondId);
    await zuul.giveBack(second);

    expect(secondMeanwhile.state).toBe('requested');
    expect([...third, ...second].map(({ body }) => body.interface_ip)).toEqual([host.address, host.address]);
  });

  it('accepts any node with its label, also one with more labels', async () => {
    const host = get().host(0);
    await get().launch(simpleSetup([{ host, labels: ['small', 'fast'], maxParallelJobs: 2 }]));
    const zuul = await get().newClient();

    const nodes = await zuul.getNodes(['fast', 'small']);
    await zuul.giveBack(nodes);

    expect(nodes.map(({ body }) => body.slot).sort()).toEqual([0, 1]);
    expect(nodes.map(({ body }) => body.type)).toEqual([
      ['small', 'fast'],
      ['small', 'fast'],
    ]);
  });

  it('keeps unknown keys and all values that Zuul wrote', async () => {
    await get().launch(simpleSetup(nodesOf([get().host(0)], 'small')));
    const zuul = await get().newClient();
    const extra = { image_upload_uuid: 'abc', later: { nested: [1, null, 'ü'] } };

    const id = await zuul.submit(['small'], { extra, tenant: 'tenant-two' });
    const { body: submitted } = await zuul.readRequest(id);
    const request = await zuul.wait(id);
    await zuul.giveBack(await zuul.accept(id));

    expect(request).toMatchObject(extra);
    for (const key of ['requestor_data', 'event_id', 'created_time', 'requestor', 'tenant_name', 'provider']) {
      expect(request[key], key).toEqual(submitted[key]);
    }
  });

  it('is served earlier when its priority is revised while it waits', async () => {
    await get().launch(simpleSetup(nodesOf([get().host(0)], 'small')));
    const zuul = await get().newClient();
    const busy = await zuul.getNodes(['small']);
    const early = await zuul.submit(['small'], { relativePriority: 1 });
    const late = await zuul.submit(['small'], { relativePriority: 2 });

    const revised = await zuul.revise(late, 0);
    await zuul.giveBack(busy);
    const { state } = await zuul.wait(late);
    const { body: earlyMeanwhile } = await zuul.readRequest(early);
    await zuul.giveBack(await zuul.accept(late));
    await zuul.wait(early);
    await zuul.giveBack(await zuul.accept(early));

    expect(revised).toBe(true);
    expect(state).toBe('fulfilled');
    expect(earlyMeanwhile.state).toBe('requested');
  });

  it('of a kazoo client is served', async () => {
    const hosts = get().sshd.hosts.slice(0, 2);
    await get().launch(simpleSetup(nodesOf(hosts, 'small')));

    const { request, nodes } = await requestByPython(get().zookeeper, ['small', 'small']);

    expect(request.state).toBe('fulfilled');
    expect(nodes.map(({ interface_ip }) => interface_ip).sort()).toEqual(hosts.map(({ address }) => address).sort());
  });
});

describe('a node', () => {
  it('on hold is kept until it is released, and is then available again', async () => {
    const host = get().host(0);
    await get().launch(simpleSetup(nodesOf([host], 'small')));
    const zuul = await get().newClient();
    const node = await zuul.getNode('small');

    await zuul.hold([node], 'look at this', 3600);
    const waiting = await zuul.submit(['small']);
    const { body: held } = await zuul.readNode(node.id);
    const released = await zuul.releaseHeld(node.id);
    await zuul.wait(waiting);
    await zuul.giveBack(await zuul.accept(waiting));

    expect(held).toMatchObject({ state: 'hold', comment: 'look at this', hold_expiration: 3600 });
    expect(released).toBe(true);
  });

  it('whose host shows other keys than configured is not offered; other nodes are', async () => {
    const [good, bad] = [get().host(0), get().host(1)];
    const nodes = [...nodesOf([good], 'small'), { host: bad, labels: ['small'], hostKeys: good.hostKeys }];
    const launcher = await get().launch(simpleSetup(nodes));
    const zuul = await get().newClient();

    const node = await zuul.getNode('small');
    await zuul.giveBack([node]);
    const listed = await get().zk.getChildren('/nodepool/nodes');
    await get().reconfigure(launcher, simpleSetup(nodesOf([good, bad], 'small')));

    expect(node.body.interface_ip).toBe(good.address);
    expect(listed.length).toBeLessThanOrEqual(1);
  });

  it('that is unreachable is no longer offered and delays no other', async () => {
    const [good, dying] = [get().host(0), get().host(1)];
    await get().launch(simpleSetup(nodesOf([good, dying], 'small')));
    const zuul = await get().newClient();
    await get().assertClean();

    await dying.stop();
    const first = await zuul.getNodes(['small']);
    const waiting = await zuul.submit(['small']);
    const { body: request } = await zuul.readRequest(waiting);
    await zuul.giveBack(first);
    await zuul.wait(waiting);
    const second = await zuul.accept(waiting);
    await zuul.giveBack(second);
    await dying.start();

    expect([...first, ...second].map(({ body }) => body.interface_ip)).toEqual([good.address, good.address]);
    expect(requestPath(waiting)).toContain('200-');
    expect(request.declined_by ?? []).toEqual([]);
    // the next sweep, at the latest, offers the host again
    await get().assertClean(120_000);
  });
});
