import { describe, expect, it } from 'vitest';
import { ConfigError } from '@nodepool/core';
import { AlreadyExistsError, errorOfAnswer, ExpiredError, NotYetError } from './errors.js';

const refused = (status: number, reason: string, message: string) =>
  errorOfAnswer('POST pods', { status, body: { reason, message } });

/** Messages of kube-apiserver 1.20. */
const MISSING_VERB =
  'pods is forbidden: User "nodepool" cannot create resource "pods" in API group "" in the namespace "main-0000000001"';
const QUOTA = 'pods "a" is forbidden: exceeded quota: small, requested: pods=1, used: pods=2, limited: pods=2';
const TOO_LARGE =
  'pods "a" is forbidden: exceeded quota: small, requested: requests.memory=4Gi, used: requests.memory=0, ' +
  'limited: requests.memory=2Gi';
const LIMIT_RANGE = 'pods "a" is forbidden: maximum cpu usage per Container is 1, but limit is 2';
const NO_ACCOUNT =
  'pods "a" is forbidden: error looking up service account ns/default: serviceaccount "default" not found';
const ENDING = 'pods "a" is forbidden: unable to create new content in namespace x because it is being terminated';

describe('the error of a refused call', () => {
  it.each([
    [403, 'Forbidden', QUOTA, 'NODEPOOL_QUOTA'],
    [403, 'Forbidden', TOO_LARGE, 'NODEPOOL_CONFIG'],
    [403, 'Forbidden', LIMIT_RANGE, 'NODEPOOL_CONFIG'],
    [403, 'Forbidden', MISSING_VERB, 'NODEPOOL_CONFIG'],
    [403, 'Forbidden', ENDING, 'NODEPOOL_LAUNCH_STATUS'],
    [404, 'NotFound', 'pods "a" not found', 'NODEPOOL_NOT_FOUND'],
    [422, 'Invalid', 'Pod "a" is invalid', 'NODEPOOL_CONFIG'],
    [400, 'BadRequest', 'unknown field', 'NODEPOOL_CONFIG'],
    [401, 'Unauthorized', 'Unauthorized', 'NODEPOOL_PROVIDER_UNAVAILABLE'],
    [429, 'TooManyRequests', 'slow down', 'NODEPOOL_PROVIDER_UNAVAILABLE'],
    [500, 'InternalError', 'etcd', 'NODEPOOL_PROVIDER_UNAVAILABLE'],
    [503, 'ServiceUnavailable', 'not ready', 'NODEPOOL_PROVIDER_UNAVAILABLE'],
  ])('of %d %s "%s" is %4$s', (status, reason, message, code) => {
    expect(refused(status, reason, message)).toMatchObject({ code });
  });

  it('names the verb that is missing, and where', () => {
    const error = refused(403, 'Forbidden', MISSING_VERB);

    expect(error.message).toContain('permission is missing: verb "create" on pods in namespace "main-0000000001"');
    expect(error).toMatchObject({
      reason: 'Forbidden',
      nextStep: expect.stringContaining('allow verb "create"') as string,
    });
  });

  it('names the verb of another API group', () => {
    const text = 'roles is forbidden: User "n" cannot create resource "roles" in API group "rbac.authorization.k8s.io"';

    expect(refused(403, 'Forbidden', text).message).toContain('verb "create" on roles.rbac.authorization.k8s.io');
  });

  it('says what a pod exceeds that can never fit', () => {
    expect(refused(403, 'Forbidden', TOO_LARGE)).toMatchObject({
      nextStep: 'lower requests.memory of the label, or raise quota "small"',
    });
  });

  it('repeats what a new namespace is not ready for, and what others changed meanwhile', () => {
    expect(refused(403, 'Forbidden', NO_ACCOUNT)).toBeInstanceOf(NotYetError);
    expect(refused(409, 'Conflict', 'the object has been modified')).toBeInstanceOf(NotYetError);
  });

  it('tells objects that exist and watches that expired apart from others', () => {
    expect(refused(409, 'AlreadyExists', 'namespaces "a" already exists')).toBeInstanceOf(AlreadyExistsError);
    expect(refused(410, 'Expired', 'too old resource version')).toBeInstanceOf(ExpiredError);
  });

  it('explains how to allow the creation of roles', () => {
    const text = 'roles "zuul" is forbidden: user "n" is attempting to grant RBAC permissions not currently held';
    const error = refused(403, 'Forbidden', text);

    expect(error).toBeInstanceOf(ConfigError);
    expect(error).toMatchObject({ nextStep: expect.stringContaining('cluster-role') as string });
  });
});
