import { describe, expect, it } from 'vitest';
import { labelOf } from '../test/labels.js';
import { loginOf } from '../test/fake-cloud.js';
import { toInstance, usable } from './instance.js';

const namespace = { metadata: { name: 'main-1', uid: 'n', annotations: { nodepool_attempt: 'a', note: 'x' } } };
const pod = { metadata: { name: 'small', uid: 'p' }, spec: { nodeName: 'node-1' }, status: { phase: 'Running' } };
const grant = { token: 't', user: 'zuul-worker' };
const place = { namespace: 'main-1', pod: 'small' };

describe('an instance', () => {
  it('is a namespace with its pod, and is not usable as it is seen', () => {
    expect(toInstance('main-1', namespace, pod)).toMatchObject({
      ...{ externalId: 'main-1', uid: 'n', ready: false, status: 'Running', interfaceIp: 'small', isEnding: false },
      ...{ attempt: 'a', metadata: { nodepool_attempt: 'a' } },
    });
  });

  it('is a pod alone in a shared namespace', () => {
    const ending = { ...pod, metadata: { ...pod.metadata, deletionTimestamp: 'now' } };

    expect(toInstance('main-small', undefined, ending)).toMatchObject({ uid: 'p', isEnding: true, attempt: undefined });
    expect(toInstance('main-small', undefined, undefined)).toBeUndefined();
  });

  it('cannot be used when it is being deleted, or its pod has ended', () => {
    const ending = { metadata: { ...namespace.metadata, deletionTimestamp: 'now' } };
    const evicted = { ...pod, status: { phase: 'Failed', reason: 'Evicted', message: 'low on memory' } };

    expect(toInstance('main-1', namespace, pod)?.unusable).toBeUndefined();
    expect(toInstance('main-1', ending, pod)?.unusable).toBe('another program deletes it');
    expect(toInstance('main-1', namespace, evicted)?.unusable).toContain('Evicted: low on memory');
  });

  it('is usable with a token, and carries the authority of a cluster with TLS', () => {
    const instance = toInstance('main-1', namespace, pod);
    if (!instance) throw new Error('there is no instance');
    const { cluster, ...login } = loginOf('https://cluster:6443');
    const secure = { ...login, cluster: { ...cluster, skipTls: false, ca: 'PEM' } };

    const { connectionPort, ...rest } = usable(instance, grant, place, labelOf({ image: 'x' }), secure);

    expect(rest).toMatchObject({ ready: true, connectionType: 'kubectl', hostId: 'node-1', cloud: 'fake' });
    expect(connectionPort).toEqual({
      ...{ name: 'main-1', namespace: 'main-1', host: 'https://cluster:6443', skiptls: false, pod: 'small' },
      ...{ token: 't', user: 'zuul-worker', ca_crt: Buffer.from('PEM').toString('base64') },
    });
  });

  it('carries how the cluster is reached, but not the login of the launcher at its proxy', () => {
    const instance = toInstance('main-1', namespace, pod);
    if (!instance) throw new Error('there is no instance');
    const { cluster, ...login } = loginOf('https://10.0.0.1:6443');
    const behind = { tlsServerName: 'cluster.example.org', proxyUrl: 'http://launcher:secret@proxy:3128' };

    const { connectionPort } = usable(instance, grant, place, labelOf({ image: 'x' }), {
      ...login,
      cluster: { ...cluster, ...behind },
    });

    expect(connectionPort).toMatchObject({ tls_server_name: 'cluster.example.org', proxy_url: 'http://proxy:3128/' });
  });
});
