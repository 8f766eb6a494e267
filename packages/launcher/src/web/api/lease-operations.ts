import { LEASE_STATES } from '@nodepool/zk-protocol';
import { listOf, ref, TEXT, type ApiOperation } from '@nodepool/daemon';
import { LeaseAccess, rightsToApi, type LeaseCaller } from './lease-access.js';
import { LeaseCalls } from './lease-calls.js';
import { LEASES_A_PAGE } from './lease-list.js';
import { LEASE_BODY, SECONDS, WAIT } from './lease-schemas.js';
import { LeaseStreams } from './lease-streams.js';
import type { LeaseSources } from './sources.js';

const ID = { id: { type: 'string', description: 'Id of the lease' } };
const FORBIDDEN = { 403: 'The token does not allow it' };
const NOT_NOW = {
  429: 'Too many requests, or nodes of ended leases are still being deleted (nodes-being-deleted); repeat it after Retry-After',
};
const NO_LEASE = { 404: 'There is no such lease, or it belongs to another owner' };

/** Operations on leases: nodes for anybody who has a token. In one piece: a table. */
export function leaseOperations(sources: LeaseSources): ApiOperation[] {
  const { clock, config } = sources;
  const access = new LeaseAccess(sources);
  const calls = new LeaseCalls(sources, new LeaseStreams(clock, sources));
  const common = { authorize: access.callerOf };
  const path = '/leases/{id}';
  return [
    {
      ...common,
      ...{ id: 'getLeaseRights', method: 'GET', path: '/lease-rights', summary: 'Owner and limits of the token' },
      ...{ answer: ref('LeaseRights') },
      handle: ({ caller }) => rightsToApi(caller as LeaseCaller, config().maxHoldAgeMs),
    },
    {
      ...common,
      ...{ id: 'createLease', method: 'POST', path: '/leases', summary: 'Request nodes', isIdempotent: true },
      ...{ body: LEASE_BODY, answer: ref('Lease') },
      errors: { ...FORBIDDEN, 422: 'The body asks for the impossible', ...NOT_NOW },
      handle: (call) => calls.create(call),
    },
    {
      ...common,
      ...{ id: 'listLeases', method: 'GET', path: '/leases', summary: 'Own leases; with an admin token, all' },
      query: {
        owner: { type: 'string', description: 'Only of this owner' },
        state: {
          ...{ type: 'string' },
          description: `Only in this state: ${LEASE_STATES.join(', ')}; all: in any. Default: open, those that wait or are active`,
        },
        limit: {
          ...{ type: 'integer', minimum: 1, maximum: LEASES_A_PAGE.most },
          description: `Most leases of a page; default ${LEASES_A_PAGE.default}`,
        },
        cursor: {
          ...{ type: 'string', maxLength: 255 },
          description:
            'Continue behind this lease, CREATED_TIME:ID; the header Link of a page has the address of the next',
        },
      },
      answer: listOf(ref('Lease')),
      handle: (call) => calls.list(call),
    },
    {
      ...common,
      ...{ id: 'getLease', method: 'GET', path, summary: 'One lease, and why it waits', pathParameters: ID },
      ...{ query: { wait: WAIT }, answer: { allOf: [ref('Lease'), ref('WaitingLease')] }, errors: NO_LEASE },
      handle: (call) => calls.get(call),
    },
    {
      ...common,
      ...{ id: 'renewLease', method: 'POST', path: `${path}/renew`, summary: 'Keep a lease for longer' },
      pathParameters: ID,
      body: {
        ...{ type: 'object', additionalProperties: false },
        properties: { ttl: { ...SECONDS, description: 'Seconds from now; default: its time to live' } },
      },
      ...{ answer: ref('Lease'), errors: { ...FORBIDDEN, ...NO_LEASE, 409: 'It is over, or has lost a node' } },
      handle: (call) => calls.renew(call),
    },
    {
      ...common,
      ...{ id: 'endLease', method: 'DELETE', path, summary: 'Return the nodes', pathParameters: ID },
      ...{ answer: ref('Lease'), errors: NO_LEASE },
      handle: (call) => calls.end(call),
    },
    {
      ...common,
      ...{ id: 'streamLease', method: 'GET', path: `${path}/events`, summary: 'Changes of a lease, until it is over' },
      ...{ pathParameters: ID, answer: TEXT, errors: { ...NO_LEASE, 503: 'Too many streams are open' } },
      handle: (call) => calls.get(call),
      stream: (call, response) => calls.stream(call, response),
    },
  ];
}
