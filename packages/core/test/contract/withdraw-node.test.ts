import { afterEach, describe, expect, it } from 'vitest';
import type { AdapterContext } from '../../src/index.js';
import { Harness } from '../../src/testing/harness/harness.js';
import { honestDriver, validConfig } from './honest-driver.js';
import { TestCloud } from './test-cloud.js';

const WHY = 'the cloud takes it back';
let harness: Harness | undefined;
afterEach(() => harness?.close());

/** A launcher, and the adapter contexts of its providers. */
async function setUp() {
  let cloud = new TestCloud();
  const contexts = new Map<string, AdapterContext>();
  const noted = (name: string) =>
    honestDriver(() => cloud, {
      driver: { name },
      adapter: (_honest, _cloud, context) => {
        contexts.set(name, context);
        return {};
      },
    });
  const opened = await Harness.open({
    driver: noted('honest'),
    otherDrivers: [noted('other')],
    file: { providers: [{ ...validConfig, name: 'other', driver: 'other' }] },
    cloud: () => (cloud = new TestCloud()),
    validConfig,
    invalidConfigs: {},
  });
  harness = opened;
  await opened.startLauncher();
  const withdraw = (provider: string, id: Parameters<NonNullable<AdapterContext['withdrawNode']>>[0]) => {
    const answer = contexts.get(provider)?.withdrawNode?.(id, WHY);
    return opened.during(Promise.resolve(answer), 'the node is withdrawn');
  };
  return { harness: opened, withdraw };
}

/** A ready node that is not allocated to a request. */
async function freeNode(opened: Harness) {
  const request = await opened.submit(['small']);
  const [node] = await opened.fulfilled(request);
  await opened.forget(request);
  await opened.until(() => [...opened.history.nodes.values()].every(({ allocatedTo }) => allocatedTo === null), 'free');
  if (!node) throw new Error('the request has no node');
  return node;
}

describe('a provider withdraws a node', () => {
  it('that is free: the node is deleted, and its record has the reason', async () => {
    const { harness: opened, withdraw } = await setUp();
    const { id, provider } = await freeNode(opened);

    const isWithdrawn = await withdraw(provider === 'test' ? 'honest' : 'other', id);
    await opened.until(() => !opened.history.nodes.has(id), 'the node is deleted');

    expect(isWithdrawn).toBe(true);
    expect(opened.history.statesOf(id).slice(-2)).toEqual(['ready', 'deleting']);
    expect(opened.history.nodeHistory.filter((node) => node.id === id).at(-1)?.comment).toBe(WHY);
    expect(await opened.resources.instances()).toEqual([]);
  });

  it.each(['in use', 'of another provider', 'unknown'] as const)(
    'and the node is unchanged if it is %s',
    async (what) => {
      const { harness: opened, withdraw } = await setUp();
      const node = what === 'in use' ? (await opened.take(['small'])).nodes[0] : await freeNode(opened);
      const own = node?.provider === 'test' ? 'honest' : 'other';
      const other = own === 'other' ? 'honest' : 'other';
      const id = what === 'unknown' ? '9999999999' : node?.id;

      const isWithdrawn = await withdraw(
        what === 'of another provider' ? other : own,
        id as NonNullable<typeof node>['id'],
      );
      await opened.pass(60_000);

      expect(isWithdrawn).toBe(false);
      expect(opened.history.nodes.get(node?.id as NonNullable<typeof node>['id'])?.state).toMatch(/^(in-use|ready)$/);
    },
  );
});
