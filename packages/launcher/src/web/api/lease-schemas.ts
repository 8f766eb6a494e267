import type { JsonObject } from '@nodepool/zk-protocol';
import { FLAG, listOf, orNull, record, ref, TEXT, TIME, WHOLE } from '@nodepool/daemon';

/** Time to live of a lease for which none is given. */
export const DEFAULT_TTL_S = 3_600;
/** How long a lease without `give_up` waits: its request would outlive all who could serve it. */
export const DEFAULT_GIVE_UP_S = 86_400;
const LONGEST_WAIT_S = 60;
const MOST_LABELS = 100;

/** Ten years: far below what a date can hold. */
const LONGEST_S = 315_360_000;

/** A duration. */
export const SECONDS: JsonObject = { type: 'number', exclusiveMinimum: 0, maximum: LONGEST_S };
/** No control characters, and none with which text becomes markup. */
const NAME_PATTERN = String.raw`^[^\p{Cc}<>]+$`;
/** Line breaks are the only control characters. */
const TEXT_PATTERN = String.raw`^[\P{Cc}\n]*$`;
/** How long a call waits for a lease. */
export const WAIT: JsonObject = {
  ...{ type: 'number', minimum: 0, maximum: LONGEST_WAIT_S },
  description:
    'Answer when the lease does not wait any more, but after this time at the latest, seconds; default 0: at once',
};

/** Schema of what a token allows. */
const LEASE_RIGHTS_SCHEMA: JsonObject = record({
  name: { ...TEXT, description: 'Name of the token' },
  owner: { ...TEXT, description: 'Owner of its leases' },
  labels: { ...listOf(TEXT), description: 'Patterns of labels; * stands for any characters' },
  max_ttl: orNull({ type: 'number', description: 'Longest time to live and longest renewal, seconds; null: no limit' }),
  max_nodes: orNull({
    ...WHOLE,
    description: 'Most nodes at a time, waiting ones and those being deleted included; null: no limit',
  }),
  highest_priority: { ...WHOLE, description: 'Smallest number that priority may have' },
  tenant_name: orNull(TEXT),
  admin: { ...FLAG, description: 'Whether it may see and end the leases of all owners' },
  operator: { ...FLAG, description: 'Whether it is one of api-tokens, which may write everything else as well' },
});

/** Schemas of leases, by name. */
export const LEASE_SCHEMAS: Readonly<Record<string, JsonObject>> = {
  LeaseRights: LEASE_RIGHTS_SCHEMA,
  LeasedNode: record({
    ...{ id: TEXT, label: TEXT, host: orNull(TEXT), port: orNull(WHOLE), username: orNull(TEXT) },
    connection_type: { ...TEXT, description: 'ssh unless the label says otherwise' },
    known_hosts: { ...listOf(TEXT), description: 'Lines for a known_hosts file' },
    kubeconfig: { ...orNull(TEXT), description: 'A kubeconfig file for a node that kubectl reaches, with its token' },
    certificate: {
      ...orNull(TEXT),
      description:
        'SSH certificate for the `ssh_key` of the lease, one line; ask again for a fresh one. null: none, and in lists',
    },
    certificate_expires: orNull({
      ...TIME,
      description: 'Until when it may log in: ten minutes, or the end of the lease',
    }),
    certificate_problem: orNull({ ...TEXT, description: 'Why it could not be signed' }),
    machine_problem: orNull({
      ...TEXT,
      description: 'Why the machine cannot be used any more: the lease is not renewed; return it, and request another',
    }),
    ...{ provider: orNull(TEXT), pool: orNull(TEXT), zone: orNull(TEXT), hostname: orNull(TEXT) },
    ...{ public_ipv4: orNull(TEXT), private_ipv4: orNull(TEXT), public_ipv6: orNull(TEXT) },
    ...{ cloud: orNull(TEXT), region: orNull(TEXT), host_id: orNull(TEXT), external_id: {} },
    ...{ python_path: orNull(TEXT), shell_type: orNull(TEXT), attributes: {} },
    labels: { ...listOf(TEXT), description: 'All labels of the node' },
    interface_ip: { ...orNull(TEXT), description: 'The address that its provider prefers' },
    host_keys: { ...listOf(TEXT), description: 'Without the names of the host' },
    slot: { ...orNull(WHOLE), description: 'Of a machine with several nodes' },
  }),
  Lease: record({
    id: TEXT,
    state: {
      ...{ type: 'string', enum: ['waiting', 'active', 'ended', 'failed'] },
      description:
        'waiting for nodes; active: they are yours; ended: returned, expired or lost; failed: no pool can serve it',
    },
    ...{ owner: TEXT, labels: listOf(TEXT), reason: TEXT, priority: WHOLE, tenant_name: orNull(TEXT) },
    ...{ created_time: TIME, state_time: TIME },
    ttl: { type: 'number', description: 'Time to live once it is active, seconds' },
    expires: orNull({ ...TIME, description: 'When an active lease ends: it expires, or max-hold-age ends it' }),
    gives_up: orNull({ ...TIME, description: 'When a waiting lease ends unserved; null: never' }),
    nodes: { ...listOf(ref('LeasedNode')), description: 'Of an active lease' },
    request: orNull({ ...TEXT, description: 'Id of the request of a waiting lease' }),
    end_reason: orNull({ ...TEXT, description: 'Why it ended or failed' }),
  }),
  WaitingLease: {
    type: 'object',
    description: 'A lease; while it waits, with its position in the queue and the explanation of each pool',
    required: ['id', 'state'],
    properties: {
      position: orNull({ ...WHOLE, description: 'Number of requests ahead of it; null once it is accepted' }),
      explanation: ref('Explanation'),
    },
  },
};

/** Body of a new lease. */
export const LEASE_BODY: JsonObject = {
  type: 'object',
  additionalProperties: false,
  required: ['labels'],
  properties: {
    labels: {
      ...{ type: 'array', minItems: 1, maxItems: MOST_LABELS, items: { type: 'string', minLength: 1, maxLength: 255 } },
      ...{ description: 'One node each', examples: [['small']] },
    },
    ttl: {
      ...SECONDS,
      description: `Time to live once it is active, seconds; default ${DEFAULT_TTL_S}, or what token and max-hold-age allow if that is less`,
    },
    give_up: { ...SECONDS, description: `End it unserved after this time, seconds; default ${DEFAULT_GIVE_UP_S}` },
    owner: {
      ...{ type: 'string', maxLength: 255, pattern: NAME_PATTERN },
      description: 'Default: the owner of the token; another only with an admin token',
    },
    reason: { type: 'string', maxLength: 1_000, pattern: TEXT_PATTERN, description: 'For people' },
    ssh_key: {
      ...{
        type: 'string',
        examples: ['ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHgB2vVYcEHh2rAsxVBbX4gAIuU5j1dYGY4mrlzVvaxo'],
      },
      description:
        'Public key, one line without options; its certificates, one for each node, log in to the nodes during the lease',
    },
    priority: { type: 'integer', minimum: 1, maximum: 999, description: '100 high, 200 normal (default), 300 low' },
    wait: WAIT,
  },
};
