import { describe, expect, it } from 'vitest';
import { requestByPython } from '../python-client.js';
import { whenGone } from '../session.js';
import { nodesOf, simpleSetup } from '../static-config.js';
import { useStatic } from '../use-harness.js';

describe('a launcher on a single ZooKeeper server', () => {
  const get = useStatic({
    zookeeper: { tickMs: 200, minSessionTimeoutMs: 1000 },
    sshd: { count: 2, keyTypes: ['ed25519'] },
  });

  it('registers again and continues to serve after its session expired', async () => {
    const setup = simpleSetup(nodesOf(get().sshd.hosts, 'small'), { zookeeperTimeoutSeconds: 1.5 });
    const launcher = await get().launch(setup);
    const zuul = await get().newClient();
    const before = await get().zk.getChildren('/nodepool/components/pool');

    launcher.pause();
    const id = await zuul.submit(['small']);
    for (const name of before) await whenGone(get().zk, `/nodepool/components/pool/${name}`);
    launcher.resume();
    const { state } = await zuul.wait(id);
    await zuul.giveBack(await zuul.accept(id));
    await get().assertClean();

    const after = await get().zk.getChildren('/nodepool/components/pool');
    expect(state).toBe('fulfilled');
    expect(after).toHaveLength(1);
    expect(after).not.toEqual(before);
  });

  it('continues with all requests after a restart of the server', async () => {
    await get().launch(simpleSetup(nodesOf(get().sshd.hosts, 'small')));
    const zuul = await get().newClient();
    const nodes = await zuul.getNodes(['small', 'small']);
    const id = await zuul.submit(['small']);

    await get().zookeeper.restart();
    await zuul.giveBack(nodes);
    const { state } = await zuul.wait(id);
    await zuul.giveBack(await zuul.accept(id));

    expect(state).toBe('fulfilled');
  });

  it('survives a server that does not answer for twice the session timeout', async () => {
    await get().launch(simpleSetup(nodesOf(get().sshd.hosts, 'small'), { zookeeperTimeoutSeconds: 1.5 }));
    const zuul = await get().newClient();
    await get().assertClean();

    get().zookeeper.pause();
    const submitted = zuul.submit(['small']);
    await new Promise((resolve) => setTimeout(resolve, 3000)); // twice the session timeout
    get().zookeeper.resume();
    const { state } = await zuul.wait(await submitted);
    await zuul.giveBack(await zuul.accept(await submitted));

    expect(state).toBe('fulfilled');
  });
});

describe('TLS with client certificates', () => {
  const get = useStatic({ zookeeper: { tls: true }, sshd: { count: 1, keyTypes: ['ed25519'] } });

  it('carries requests of our client and of kazoo from submission to return', async () => {
    await get().launch(simpleSetup(nodesOf(get().sshd.hosts, 'small')));
    const zuul = await get().newClient();

    const nodes = await zuul.getNodes(['small']);
    await zuul.giveBack(nodes);
    const { request } = await requestByPython(get().zookeeper, ['small']);

    expect(nodes).toHaveLength(1);
    expect(request.state).toBe('fulfilled');
  });
});

describe('a launcher on an ensemble', () => {
  const get = useStatic({ zookeeper: { ensemble: true }, sshd: { count: 4, keyTypes: ['ed25519'] } });

  it('loses no request when the leader dies', async () => {
    await get().launch(simpleSetup(nodesOf(get().sshd.hosts, 'small')));
    const zuul = await get().newClient();
    const held = await zuul.getNodes(['small', 'small']);
    const ids = await Promise.all(Array.from({ length: 6 }, () => zuul.submit(['small', 'small'])));

    const leader = await get().zookeeper.leader();
    await get().zookeeper.kill(leader);
    try {
      await zuul.giveBack(held);
      await Promise.all(ids.map((id) => zuul.finish(id)));
    } finally {
      await get().zookeeper.restart(leader);
    }

    expect(await get().zookeeper.leader()).not.toBe(leader);
  });

  it('continues when the server that it is connected to dies', async () => {
    await get().launch(simpleSetup(nodesOf(get().sshd.hosts, 'small')));
    const zuul = await get().newClient();

    for (let server = 0; server < 3; server += 1) {
      await get().zookeeper.kill(server);
      try {
        const nodes = await zuul.getNodes(['small', 'small']);
        await zuul.giveBack(nodes);
        expect(nodes).toHaveLength(2);
      } finally {
        await get().zookeeper.restart(server);
      }
    }
  });
});
