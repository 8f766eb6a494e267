import { describe, expect, it } from 'vitest';
import type { NodeRecord } from '@nodepool/core';
import { namesIn, useFakeWorlds } from '../test/fake-world.js';
import { PROJECTS } from './spaces.js';

const { fake: startFake, world: startWorld } = useFakeWorlds();
const OPENSHIFT = { driver: 'openshift' } as const;

describe('a project of OpenShift', () => {
  it('is a node with the role "admin" in it', async () => {
    const fake = await startFake();
    const world = await startWorld(fake, {}, OPENSHIFT);

    const { node } = await world.launch('space');

    expect(node).toMatchObject({
      ...{ state: 'ready', externalId: 'main-0000000001', connectionType: 'project', interfaceIp: null },
      connectionPort: { name: 'main-0000000001', namespace: 'main-0000000001', user: 'zuul-worker', host: fake.url },
    });
    expect(namesIn(fake, 'roles')).toEqual([]);
    expect(fake.cluster.store.list('rolebindings')[0]?.['roleRef']).toMatchObject({
      kind: 'ClusterRole',
      name: 'admin',
    });
  });

  it('may have a pod', async () => {
    const fake = await startFake({ startMs: 200 });
    const world = await startWorld(fake, {}, OPENSHIFT);

    const { node } = await world.launch('small');

    expect(node).toMatchObject({ state: 'ready', connectionType: 'kubectl', interfaceIp: 'small', hostId: 'node-1' });
    // one look for each change, not one each second
    expect(world.calls.filter((call) => call === 'pods.get').length).toBeLessThan(4);
  });

  it('is made and deleted without any right in the cluster but to request projects', async () => {
    const fake = await startFake();
    for (const verb of ['create', 'delete', 'get', 'list', 'watch', 'patch']) fake.denied.add(`${verb} namespaces`);
    const world = await startWorld(fake, {}, OPENSHIFT);

    const { node } = await world.launch('space');
    await world.cleanUp(node);

    expect(namesIn(fake, 'namespaces')).toEqual(['default', 'kube-system']);
    expect(fake.calls.some(({ namespace, kind }) => kind === 'pods' && namespace === undefined)).toBe(false);
  });

  it('is launched although some servers do not know yet that it belongs to its requester', async () => {
    const fake = await startFake();
    const world = await startWorld(fake, {}, OPENSHIFT);
    fake.denied.add('create serviceaccounts');
    const callsOf = (kind: string) => fake.calls.filter((call) => call.kind === kind).length;
    const launch = world.launch('space');
    await expect.poll(() => callsOf('serviceaccounts')).toBeGreaterThan(1);
    fake.denied.clear();

    expect((await launch).state).toBe('ready');
    expect(callsOf('projectrequests')).toBe(1);
  });

  it('is deleted as a leak by the tags in its description', async () => {
    const fake = await startFake();
    const first = await startWorld(fake, {}, OPENSHIFT);
    await first.launch('space');
    await first.end();
    const second = await startWorld(fake, {}, { ...OPENSHIFT, firstNode: 2 });

    await second.findLeaks();

    expect(namesIn(fake, 'namespaces')).toEqual(['default', 'kube-system']);
  });
});

describe('a project without tags', () => {
  const unmarked = { metadata: { name: 'main-0000000007', annotations: { 'openshift.io/requester': 'nodepool' } } };
  const port = { namespace: 'main-0000000007', token: 'x' };
  const record = (connectionPort: NodeRecord['connectionPort']) =>
    ({ id: '0000000007', externalId: 'main-0000000007', pool: 'main', connectionPort }) as unknown as NodeRecord;

  it('is deleted with the record that has its login data', async () => {
    const fake = await startFake();
    fake.cluster.create('namespaces', undefined, unmarked);
    const world = await startWorld(fake, {}, OPENSHIFT);

    await world.cleanUp(record(port));

    expect(namesIn(fake, 'namespaces')).toEqual(['default', 'kube-system']);
  });

  it('is not changed in any other case', async () => {
    const fake = await startFake();
    fake.cluster.create('namespaces', undefined, unmarked);
    const world = await startWorld(fake, {}, OPENSHIFT);

    await world.cleanUp(record(null));
    await world.cleanUp(record({ ...port, namespace: 'main-0000000008' }));
    await world.findLeaks();

    expect(namesIn(fake, 'namespaces')).toContain('main-0000000007');
  });
});

it('marks a project with a description, and keeps its tags when it adds some', () => {
  const annotations = { nodepool_node_id: '0000000001', other: 'x' };
  const metadata = { name: 'main-0000000001', labels: { team: 'a' }, annotations };

  expect(PROJECTS.creation({ metadata })).toEqual({
    ...{ apiVersion: 'project.openshift.io/v1', kind: 'ProjectRequest', metadata: { name: 'main-0000000001' } },
    ...{ displayName: 'Nodepool: main-0000000001', description: '{"nodepool_node_id":"0000000001"}' },
  });
  expect(PROJECTS.change({ annotations })).toEqual({
    metadata: { annotations: { 'openshift.io/description': '{"nodepool_node_id":"0000000001"}' } },
  });
});
