import { STATE_MACHINE_SCHEMAS, type JsonSchema } from '@nodepool/core';
import type { Json } from '@nodepool/zk-protocol';

const unusable = 'nothing can connect to it';
const port = {
  type: 'integer',
  minimum: 1,
  maximum: 65535,
  'x-tolerates': { minimum: unusable, maximum: unusable },
};
const textOrTexts = { type: ['string', 'array'], items: { type: 'string' } };

const PINNED_OR_FLAG: Json = [{ type: 'boolean' }, { type: 'string', enum: ['pinned'] }];

/** One entry of `pools[].nodes`: a host. */
const nodeSchema = {
  title: 'Host',
  type: 'object',
  additionalProperties: false,
  required: ['name', 'labels'],
  properties: {
    name: {
      type: 'string',
      minLength: 1,
      pattern: String.raw`^(?!-)[^\s\x00-\x1f\x7f]*$`,
      description: 'Name or address of the host; unique in the file together with `username` and `connection-port`',
      examples: ['rack1.example.org', '192.0.2.7'],
    },
    labels: {
      ...textOrTexts,
      description: 'Labels that the host serves: a list, or one string with spaces between them',
      examples: [['small', 'gpu']],
    },
    username: {
      type: 'string',
      pattern: STATE_MACHINE_SCHEMAS.cloudImage.username.pattern,
      description: 'User that jobs log in as',
      default: 'zuul',
    },
    timeout: {
      type: 'integer',
      minimum: 1,
      'x-tolerates': { minimum: 'every check of the host fails at once' },
      description: 'Time limit for checking the host, in seconds',
      default: 5,
    },
    'host-key-checking': {
      anyOf: PINNED_OR_FLAG,
      description:
        'Whether the keys of the host are checked before use; if not, the host is never contacted. ' +
        '`pinned`: a host whose keys have changed is refused',
      default: true,
    },
    'host-key': {
      ...textOrTexts,
      description: 'Expected host keys; the host must have each of them',
      'x-default': 'any key',
      examples: ['ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA...'],
    },
    'connection-port': { ...port, description: 'Port that jobs connect to', default: 22 },
    'ssh-port': { ...port, description: 'Old name of `connection-port`', deprecated: true },
    'connection-type': {
      type: 'string',
      description: 'How jobs connect: `ssh`, `winrm` or another plug-in of Ansible',
      default: 'ssh',
    },
    'shell-type': { type: 'string', description: 'Shell that Ansible uses', 'x-default': "Ansible's own" },
    'python-path': { type: 'string', description: 'Python that Ansible uses', default: 'auto' },
    'max-parallel-jobs': {
      type: 'integer',
      minimum: 0,
      'x-tolerates': { minimum: 'taken as 0' },
      description: 'Slots: maximum number of concurrent jobs on the host',
      default: 1,
    },
  },
};

/** The driver's own keys of a provider entry. */
export const schema: JsonSchema = {
  title: 'Provider of static nodes',
  description: 'Lends existing machines',
  type: 'object',
  'x-ours': ['pools[].nodes[].host-key-checking: pinned'],
  'x-services-only': ['pools[].nodes[].ssh-port'],
  properties: {
    pools: {
      type: 'array',
      description: 'Groups of hosts',
      'x-default': 'none',
      items: {
        title: 'Pool of hosts',
        type: 'object',
        additionalProperties: false,
        required: ['name'],
        properties: { nodes: { type: 'array', description: 'The hosts', 'x-default': 'none', items: nodeSchema } },
      },
    },
  },
};
