import { Readable } from 'node:stream';
import { VirtualClock } from '@nodepool/core/testing';
import { systemClock, type Clock } from '@nodepool/zk-protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '@nodepool/core';
import type { FakeKubernetes } from '@nodepool/kubernetes';
import { httpOf, startFake } from '../test/fake-world.js';
import type { ApiNamespace } from './api.js';
import { createKubernetesClient, type KubernetesClient } from './client.js';
import { ForbiddenError } from './errors.js';
import type { Http } from './http.js';
import { PROJECTS } from './spaces.js';
import { Watcher, type Change } from './watcher.js';

const NEVER = new AbortController().signal;
const labels = { nodepool_provider_name: 'cluster' };
const tasks = { call: <T>(_name: string, fn: (signal: AbortSignal) => Promise<T>) => fn(NEVER), list: () => undefined };

let fake: FakeKubernetes;
let http: Http;
let seen: string[];
let errors: (Error | undefined)[];
let watcher: Watcher<'namespaces'>;
/** Whether lists may take the place of watches that are refused. */
let isPolled: boolean;

function watch(
  client: Pick<KubernetesClient, 'list' | 'watch'>,
  isResumable = true,
  clock: Clock = systemClock,
): Watcher<'namespaces'> {
  return new Watcher(
    {
      ...{ client, clock, logger: silentLogger, random: () => 0, isResumable },
      selection: { kind: 'namespaces', selector: 'nodepool_provider_name=cluster' },
      answered: (error) => errors.push(error),
      refused: (error) => isPolled && error instanceof ForbiddenError,
    },
    ({ object, isGone }: Change<ApiNamespace>) => seen.push(`${isGone ? '-' : '+'}${object.metadata.name}`),
  );
}

const make = (name: string, of = labels) =>
  fake.cluster.create('namespaces', undefined, { metadata: { name, labels: of } });
const remove = (name: string) => fake.cluster.delete('namespaces', undefined, name, undefined);
const until = (isSo: () => boolean) => expect.poll(isSo).toBe(true);

beforeEach(async () => {
  fake = await startFake();
  http = httpOf(fake);
  seen = [];
  errors = [];
  isPolled = false;
  watcher = watch(createKubernetesClient(http, tasks as never));
});

afterEach(async () => {
  await watcher.stop();
  await http.close();
  await fake.stop();
});

describe('a watch', () => {
  it('reports what is there, what comes and what goes, of its selection', async () => {
    make('a');
    make('foreign', { nodepool_provider_name: 'other' });
    await watcher.start(NEVER);
    expect(seen).toEqual(['+a']);

    make('b');
    remove('a');

    await until(() => seen.includes('-a'));
    expect(seen.filter((one) => one.startsWith('+'))).toEqual(['+a', '+b', '+a']); // ending, then gone
    expect(watcher.objects.map(({ metadata }) => metadata.name)).toEqual(['b']);
    expect(fake.calls.length).toBe(1);
  });

  it('continues after its connection broke, without a new list', async () => {
    await watcher.start(NEVER);
    await until(() => fake.watches === 1);
    fake.breakWatches();
    make('a');

    await until(() => seen.includes('+a'));
    await until(() => watcher.failure === undefined);
    expect(fake.calls.filter(({ verb }) => verb === 'list').length).toBe(1);
    expect(errors.some((error) => error !== undefined)).toBe(true);
  });

  it('lists again after its connection broke if it cannot continue, and reports what it missed', async () => {
    watcher = watch(createKubernetesClient(http, tasks as never, PROJECTS), false);
    const requested = { metadata: { name: 'a', annotations: { 'openshift.io/requester': 'nodepool' } } };
    fake.cluster.create('namespaces', undefined, requested);
    await watcher.start(NEVER);
    await until(() => fake.watches === 1);
    fake.breakWatches();
    remove('a');

    await until(() => seen.includes('-a'));
    expect(fake.calls.filter(({ verb }) => verb === 'list').length).toBe(2);
  });

  it.each([-3_600_000, 3_600_000])(
    'that ends at once waits a second, the clock is set by %i ms each time',
    async (byMs) => {
      const clock = new VirtualClock();
      let watches = 0;
      watcher = watch(
        {
          list: () => Promise.resolve({ version: '1', items: [] }),
          watch: () => {
            watches++;
            clock.set(clock.now() + byMs);
            return Readable.from([]);
          },
        },
        true,
        clock,
      );
      await watcher.start(NEVER);

      await clock.advance(10_500);

      expect(watches).toBe(11);
    },
  );

  it('lists again after its version expired, and reports what it missed', async () => {
    make('gone');
    await watcher.start(NEVER);
    await until(() => fake.watches === 1);
    fake.denied.add('watch namespaces'); // so that it stays away while things change
    fake.breakWatches();
    remove('gone');
    make('new');
    fake.cluster.store.compact();
    fake.denied.clear();

    await until(() => seen.includes('-gone') && seen.includes('+new'));
    expect(watcher.objects.map(({ metadata }) => metadata.name)).toEqual(['new']);
  });

  it('keeps what it saw after a list began that arrives late', async () => {
    const client = createKubernetesClient(http, tasks as never);
    let arrive: () => void = () => undefined;
    let isLate = false;
    const slow: Pick<KubernetesClient, 'list' | 'watch'> = {
      watch: (...args) => client.watch(...args),
      list: async (...args) => {
        const answer = await client.list(...args);
        if (isLate) await new Promise<void>((resolve) => (arrive = resolve));
        return answer;
      },
    };
    watcher = watch(slow);
    make('old');
    await watcher.start(NEVER);
    await until(() => fake.watches === 1);
    isLate = true;
    const list = watcher.list(NEVER);
    await until(() => fake.calls.length === 2);
    make('new');
    remove('old');
    await until(() => seen.includes('+new') && seen.includes('-old'));
    arrive();
    await list;

    expect(watcher.objects.map(({ metadata }) => metadata.name)).toEqual(['new']);
    expect(seen.at(-1)).toBe('-old');
  });

  // Ends: WatchFails WatchFails
  it('says why changes do not arrive', async () => {
    fake.denied.add('watch namespaces');
    await watcher.start(NEVER);

    await until(() => watcher.failure !== undefined);
    expect(watcher.failure?.error.message).toContain('permission is missing: verb "watch" on namespaces');
    fake.denied.clear();
    await until(() => watcher.failure === undefined);
  });

  it('that is refused is replaced by lists, which is no failure', async () => {
    isPolled = true;
    fake.denied.add('watch namespaces');
    await watcher.start(NEVER);
    await until(() => watcher.polls);
    make('a');

    await expect.poll(() => seen, { timeout: 10_000 }).toContain('+a');
    expect([watcher.failure, errors.filter(Boolean)]).toEqual([undefined, []]);
    fake.denied.clear();
    await expect.poll(() => watcher.polls, { timeout: 10_000 }).toBe(false);
  }, 30_000);

  it('does not start when the first list fails', async () => {
    fake.denied.add('list namespaces');

    await expect(watcher.start(NEVER)).rejects.toThrow('permission is missing: verb "list" on namespaces');
  });
});
