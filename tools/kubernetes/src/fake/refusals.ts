import { groupOf, type FakeRule } from './rules.js';

/** A refusal, with the texts of kube-apiserver. */
export interface Refused {
  readonly status: number;
  readonly reason: string;
  readonly message: string;
}

const full = (kind: string) => (groupOf(kind) === '' ? kind : `${kind}.${groupOf(kind)}`);
const named = (kind: string, name: string) => `${full(kind)} "${name}"`;

/** Body of a refusal. */
export function statusBody({ status: code, reason, message }: Refused): Record<string, unknown> {
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code };
}

export const notFound = (kind: string, name: string): Refused => ({
  ...{ status: 404, reason: 'NotFound', message: `${named(kind, name)} not found` },
});

export const alreadyExists = (kind: string, name: string): Refused => ({
  ...{ status: 409, reason: 'AlreadyExists', message: `${named(kind, name)} already exists` },
});

export const terminating = (kind: string, name: string, namespace: string): Refused => ({
  ...{ status: 403, reason: 'Forbidden' },
  message:
    `${named(kind, name)} is forbidden: unable to create new content in namespace ${namespace} ` +
    'because it is being terminated',
});

export const noAccount = (name: string, namespace: string): Refused => ({
  ...{ status: 403, reason: 'Forbidden' },
  message:
    `pods "${name}" is forbidden: error looking up service account ${namespace}/default: ` +
    'serviceaccount "default" not found',
});

export const exceeded = (name: string, quota: string, used: number, limited: number): Refused => ({
  ...{ status: 403, reason: 'Forbidden' },
  message:
    `pods "${name}" is forbidden: exceeded quota: ${quota}, requested: pods=1, used: pods=${used}, ` +
    `limited: pods=${limited}`,
});

export const missingVerb = (verb: string, kind: string, namespace: string | undefined): Refused => {
  const group = groupOf(kind);
  const where = namespace === undefined ? 'at the cluster scope' : `in the namespace "${namespace}"`;
  const cannot = `User "nodepool" cannot ${verb} resource "${kind}" in API group "${group}" ${where}`;
  return { status: 403, reason: 'Forbidden', message: `${full(kind)} is forbidden: ${cannot}` };
};

/** Go writes a list of texts with a space between them. */
const listed = (texts: readonly string[]) => `[${texts.map((text) => JSON.stringify(text)).join(' ')}]`;

/** The user would give what it has not. @param more - what that is */
export const notHeld = (name: string, more: readonly FakeRule[]): Refused => ({
  ...{ status: 403, reason: 'Forbidden' },
  message:
    `${named('roles', name)} is forbidden: user "nodepool" (groups=["system:authenticated"]) is attempting to grant ` +
    `RBAC permissions not currently held:\n${more
      .map(
        ({ apiGroups, resources, verbs }) =>
          `{APIGroups:${listed(apiGroups)}, Resources:${listed(resources)}, Verbs:${listed(verbs)}}`,
      )
      .join('\n')}`,
});

export const badRequest = (message: string): Refused => ({ status: 400, reason: 'BadRequest', message });

export const unauthorized: Refused = { status: 401, reason: 'Unauthorized', message: 'Unauthorized' };

export const expired = (version: number, oldest: number): Refused => ({
  ...{ status: 410, reason: 'Expired', message: `too old resource version: ${version} (${oldest})` },
});

export const otherUid = (kind: string, name: string, wanted: string, uid: string): Refused => ({
  ...{ status: 409, reason: 'Conflict' },
  message:
    kind === 'namespaces'
      ? `Operation cannot be fulfilled on ${named(kind, name)}: Precondition failed: UID in precondition: ${wanted}, ` +
        `UID in object meta: ${uid}`
      : `Operation cannot be fulfilled on Pod "${name}": the UID in the precondition (${wanted}) does not match the UID ` +
        `in record (${uid}). The object might have been deleted and then recreated`,
});
