import {
  CapacityError,
  ConfigError,
  LaunchError,
  NotFoundError,
  ProviderUnavailableError,
  QuotaError,
  RateLimitedError,
} from '@nodepool/core';
import type { ApiStatus } from './api.js';
import { parseQuantity } from './quantity.js';
import { nameOf, type Right } from './rules.js';

/** An object of this name exists. */
export class AlreadyExistsError extends LaunchError {}

/** The cluster is not ready for this call yet, which had no effect: repeat it. */
export class NotYetError extends ProviderUnavailableError {}

/** The version from which a watch should continue is no longer known: list again. */
export class ExpiredError extends ProviderUnavailableError {}

/** The account lacks a verb on a resource. */
export class ForbiddenError extends ConfigError {
  readonly right: Right;

  constructor(right: Right, message: string) {
    const named = nameOf(right).slice(right.verb.length + 1);
    super(message, [], { reason: 'Forbidden', nextStep: `allow verb "${right.verb}" on ${named}: ${DOCS}` });
    this.right = right;
  }
}

/** The account may not give others what it has not itself. */
export class NotHeldError extends ConfigError {}

/** A refused call. */
export interface Refusal {
  readonly status: number;
  readonly body: ApiStatus;
  readonly retryAfterMs?: number | undefined;
}

const DOCS = 'see the permissions in docs/kubernetes.md';
const VERB = /cannot (\w+) resource "([^"]+)" in API group "([^"]*)"(?: in the namespace "([^"]+)")?/;
const QUOTA = /exceeded quota: ([^,]+), requested: (.+), used: (.+), limited: (.+)$/;
const GRANT = /attempting to grant RBAC permissions not currently held|cannot bind|cannot escalate/;
/** What a new namespace lacks for some milliseconds. */
const NOT_YET =
  /serviceaccount "[^"]+" not found|No API token found for service account|status unknown for quota|^roles\.rbac\.authorization\.k8s\.io "[^"]+" not found/;
const TERMINATING = /because it is being terminated/;

/** The error of a refused call. @param what - the call, for the message */
export function errorOfAnswer(what: string, refusal: Refusal): Error {
  const { status, body } = refusal;
  const message = `${what}: ${status} ${body.reason ?? 'without a reason'}: ${body.message ?? 'no message'}`;
  const { reason } = body;
  if (status === 429) return new RateLimitedError(message, { retryAfterMs: refusal.retryAfterMs });
  if (status === 410 || reason === 'Expired' || reason === 'Gone') return new ExpiredError(message);
  if (NOT_YET.test(body.message ?? '')) return new NotYetError(message);
  if (status === 404) return new NotFoundError(message);
  if (status === 409) {
    return reason === 'AlreadyExists' ? new AlreadyExistsError('status', message) : new NotYetError(message);
  }
  if (status === 403) return errorOfForbidden(what, body.message ?? '', message);
  if (status === 400 || status === 422 || status === 405 || status === 415) return new ConfigError(message);
  return new ProviderUnavailableError(message);
}

/** 403 is the answer of permissions, quotas and admission alike; the message says which. */
function errorOfForbidden(what: string, text: string, message: string): Error {
  if (TERMINATING.test(text)) return new LaunchError('status', message);
  const [, quota, requested, , limited] = QUOTA.exec(text) ?? [];
  if (quota !== undefined && requested !== undefined && limited !== undefined) {
    return errorOfQuota(message, quota, requested, limited);
  }
  const [, verb, resource, group, namespace] = VERB.exec(text) ?? [];
  if (verb !== undefined && resource !== undefined) {
    const where = namespace === undefined ? '' : ` in namespace "${namespace}"`;
    const named = group ? `${resource}.${group}` : resource;
    const said = `${what}: permission is missing: verb "${verb}" on ${named}${where}: ${text}`;
    return new ForbiddenError({ verb, group: group ?? '', resource }, said);
  }
  if (GRANT.test(text)) {
    return new NotHeldError(message, [], {
      reason: 'Forbidden',
      nextStep: `allow verbs "bind" and "escalate" on roles, or use cluster-role: ${DOCS}`,
    });
  }
  return new ConfigError(message, [], { reason: 'Refused', nextStep: 'change the label, or the admission policy' });
}

/** A pod that is larger than the whole quota never fits; others fit later. */
function errorOfQuota(message: string, quota: string, requested: string, limited: string): Error {
  const limits = amountsOf(limited);
  const tooLarge = [...amountsOf(requested)].find(([name, amount]) => amount > (limits.get(name) ?? Infinity));
  if (!tooLarge) return new QuotaError(message);
  return new ConfigError(message, [], {
    reason: 'LargerThanQuota',
    nextStep: `lower ${tooLarge[0]} of the label, or raise quota "${quota}"`,
  });
}

function amountsOf(text: string): Map<string, number> {
  const pairs = text.split(',').map((pair) => pair.split('='));
  return new Map(pairs.map(([name = '', amount = '']) => [name.trim(), parseQuantity(amount) ?? 0]));
}

/** No node of the cluster can take a pod at present. */
export function unschedulable(what: string, message: string): Error {
  return new CapacityError(`${what} is unschedulable: ${message}`);
}

/** The message of a thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
