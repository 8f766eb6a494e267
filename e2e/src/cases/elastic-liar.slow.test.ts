import { expect, it } from 'vitest';
import { oneProvider } from '../elastic-config.js';
import { useElastic } from '../use-harness.js';

/** Instances without a record are deleted when two sweeps, a minute apart, have seen them. */
const LEAKS_FOUND_MS = 150_000;

const get = useElastic();

it('keeps a node whose instance the cloud does not show for a while', async () => {
  const zuul = await get().newClient();
  await get().launch(oneProvider({ maxServers: 1 }));
  const nodes = await zuul.getNodes(['small']);
  const id = String(nodes[0]?.body['external_id']);

  const hidden = get().cloud.until((instances) => instances.length === 0); // from here on: it may be shown again soon
  await get().cloud.call('hide', { id, forMs: 500 });
  await hidden;
  await get().cloud.until((instances) => instances.length === 1);
  const { body } = await zuul.readNode(nodes[0]?.id ?? '');
  await zuul.giveBack(nodes);
  await get().cloud.until((instances) => instances.length === 0);

  expect(body.state).toBe('in-use');
  expect(body['external_id']).toBe(id);
});

it('deletes instances it lost sight of, and both of two with the tags of one node', async () => {
  const zuul = await get().newClient();
  await get().launch(oneProvider({}, { cloudSettings: { 'create-time': 600 } }));
  let hidden = '';
  const nodeOf = new Map<string, string | undefined>();
  get().cloud.onChange(({ id, instance }) => {
    if (instance) nodeOf.set(id, instance.metadata['nodepool_node_id']);
    if (hidden !== '' || instance?.status !== 'building') return;
    hidden = id;
    void get().cloud.set('create-time', 0.3);
    void get().cloud.call('hide', { id, forMs: 10_000 }); // so long that it is missed, however busy the launcher is
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

it('finds an instance again whose creation was not answered', async () => {
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

it('does not touch instances of others', async () => {
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
