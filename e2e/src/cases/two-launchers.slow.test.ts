import { expect, it } from 'vitest';
import { nodesOf, providerOf, simpleSetup } from '../static-config.js';
import { useStatic } from '../use-harness.js';
import type { ZuulClient } from '../zuul-client.js';

const get = useStatic({ sshd: { count: 4, keyTypes: ['ed25519'] } });

/** Requests, uses and returns the nodes of each job in sequence. Throws if another job holds one of the nodes. */
async function runJobs(zuul: ZuulClient, jobs: string[][], held: Set<string>): Promise<number> {
  let done = 0;
  for (const labels of jobs) {
    const nodes = await zuul.getNodes(labels);
    for (const { id } of nodes) {
      if (held.has(id)) throw new Error(`node ${id} was given to two requests`);
      held.add(id);
    }
    expect(nodes.map(({ body }) => body.type[0])).toEqual(labels);
    for (const { id } of nodes) held.delete(id);
    await zuul.giveBack(nodes);
    done += 1;
  }
  return done;
}

it('two launchers share a pool and never give a node to two requests', async () => {
  const setup = simpleSetup([
    ...nodesOf(get().sshd.hosts.slice(0, 3), 'small').map((node) => ({ ...node, maxParallelJobs: 2 })),
    ...nodesOf(get().sshd.hosts.slice(3), 'big'),
  ]);
  await Promise.all([get().launch(setup, { name: 'one' }), get().launch(setup, { name: 'two' })]);
  const clients = await Promise.all(Array.from({ length: 4 }, () => get().newClient()));
  const held = new Set<string>();
  const jobs = [['small'], ['small', 'small'], ['small', 'big'], ['small'], ['big'], ['small', 'small', 'small']];

  const done = await Promise.all(clients.map((zuul) => runJobs(zuul, jobs, held)));

  expect(done).toEqual(clients.map(() => jobs.length));
});

it('two launchers serve the same label from different pools', async () => {
  const { hosts } = get().sshd;
  const first = { providers: [providerOf('static-one', nodesOf(hosts.slice(0, 2), 'small'))] };
  const second = { providers: [providerOf('static-two', nodesOf(hosts.slice(2), 'small'))] };
  await Promise.all([get().launch(first, { name: 'one' }), get().launch(second, { name: 'two' })]);
  const zuul = await get().newClient();

  const all = (await Promise.all(Array.from({ length: 4 }, () => zuul.getNodes(['small'])))).flat();
  await zuul.giveBack(all);

  expect(new Set(all.map(({ body }) => body.interface_ip)).size).toBe(4);
});

it('a stopped launcher leaves its requests to the other one', async () => {
  const setup = simpleSetup(nodesOf(get().sshd.hosts, 'small'));
  const [first] = await Promise.all([get().launch(setup, { name: 'one' }), get().launch(setup, { name: 'two' })]);
  const zuul = await get().newClient();
  const ids = await Promise.all(Array.from({ length: 12 }, () => zuul.submit(['small'])));

  const stopped = first.stop();
  // The order is undefined: each launcher starts with the requests that prefer it.
  await Promise.all(ids.map((id) => zuul.finish(id)));
  await stopped;

  expect(first.exitCode).toBe(0);
});
