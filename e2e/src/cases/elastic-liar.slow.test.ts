import { expect, it } from 'vitest';
import { oneProvider } from '../elastic-config.js';
import { useElastic } from '../use-harness.js';

/** An instance without a record is deleted after two sweeps, a minute apart, have seen it. */
const LEAKS_FOUND_MS = 150_000;

/** A machine that is gone is found within a minute. */
const WATCH_MS = 60_000;

const get = useElastic();

it('a node stays when the cloud temporarily does not list its instance', async () => {
  const zuul = await get().newClient();
  await get().launch(oneProvider({ maxServers: 1 }));
  const nodes = await zuul.getNodes(['small']);
  const id = String(nodes[0]?.body['external_id']);

  const hidden = get().cloud.until((instances) => instances.length === 0); // watch before hiding: the instance may soon be listed again
  await get().cloud.call('hide', { id, forMs: 500 });
  await hidden;
  await get().cloud.until((instances) => instances.length === 1);
  const { body } = await zuul.readNode(nodes[0]?.id ?? '');
  await zuul.giveBack(nodes);
  await get().cloud.until((instances) => instances.length === 0);

  expect(body.state).toBe('in-use');
  expect(body['external_id']).toBe(id);
});

it('a ready node whose instance vanishes while its request waits for another is replaced', async () => {
  const zuul = await get().newClient();
  await get().launch(oneProvider({ maxServers: 2 }));
  const others = await zuul.getNodes(['small']);
  const waiting = await zuul.submit(['small', 'small']);
  await get().cloud.until((instances) => instances.filter(({ status }) => status === 'active').length === 2);
  const lost = [...get().cloud.instances.keys()].find((id) => id !== others[0]?.body['external_id']);

  await get().cloud.call('kill', lost);
  await get().cloud.until((instances) => instances.length === 2 && instances.every(({ id }) => id !== lost), WATCH_MS);
  await zuul.giveBack(others);
  const nodes = await zuul.take(waiting);
  await zuul.giveBack(nodes);
  await get().cloud.until((instances) => instances.length === 0);

  expect(nodes).toHaveLength(2);
  expect(nodes.map(({ body }) => body['external_id'])).not.toContain(lost);
});

it('instances that reappear or were created twice for one node are deleted', async () => {
  const zuul = await get().newClient();
  await get().launch(oneProvider({}, { cloudSettings: { 'create-time': 600 } }));
  let hidden = '';
  const nodeOf = new Map<string, string | undefined>();
  get().cloud.onChange(({ id, instance }) => {
    if (instance) nodeOf.set(id, instance.metadata['nodepool_node_id']);
    if (hidden !== '' || instance?.status !== 'building') return;
    hidden = id;
    void get().cloud.set('create-time', 0.3);
    void get().cloud.call('hide', { id, forMs: 10_000 }); // long enough for even a busy launcher to miss it
  });

  const lostSight = await zuul.getNodes(['small']);
  await get().cloud.until((instances) => instances.some(({ id }) => id === hidden));
  await get().cloud.set('failures.duplicate', 1);
  const doubled = await zuul.getNodes(['small']);
  const made = [...nodeOf.values()].filter((node) => node === doubled[0]?.id).length;
  await zuul.giveBack([...lostSight, ...doubled]);
  await get().assertClean(LEAKS_FOUND_MS);

  expect(lostSight[0]?.body['external_id']).not.toBe(hidden);
  expect(made).toBe(2);
}, 300_000);

it('an instance whose creation was not answered is found again', async () => {
  const zuul = await get().newClient();
  await get().launch(oneProvider({}, { cloudSettings: { failures: { 'connection-reset': 1 } } }));

  const id = await zuul.submit(['small']);
  const { state } = await zuul.wait(id);
  await get().cloud.set('failures.connection-reset', 0);
  const nodes = await zuul.accept(id);
  await zuul.use(nodes);
  await zuul.giveBack(nodes);

  expect(state).toBe('fulfilled');
  expect(get().cloud.most).toBe(1);
});

it('instances of other users are not touched', async () => {
  const zuul = await get().newClient();
  await get().launch(oneProvider());
  const { id } = (await get().cloud.call('leak', { metadata: { nodepool_provider_name: 'another' } })) as {
    id: string;
  };

  const nodes = await zuul.getNodes(['small']);
  await zuul.giveBack(nodes);
  await get().cloud.until((instances) => instances.length === 1);
  const [left] = get().cloud.instances.keys();
  await get().cloud.call('kill', id);

  expect(left).toBe(id);
});
