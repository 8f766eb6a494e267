import { isIP } from 'node:net';
import type { FoundCondition, HostStatus } from '@nodepool/core';
import type { NodeRecord } from '@nodepool/zk-protocol';
import type { MonitoredHost } from './host-monitor.js';

/** What is wrong with a host; `undefined`: its last check was good, or it has not been checked. */
export function hostCondition(host: MonitoredHost): FoundCondition | undefined {
  const { offer, failedWith } = host;
  if (failedWith === undefined) return undefined;
  const { provider, pool } = offer;
  const { name, port, username, labels } = offer.host;
  const reason = reasonOf(failedWith);
  return {
    kind: 'host',
    name: `${provider}/${username}@${isIP(name) === 6 ? `[${name}]` : name}:${port}`,
    type: 'HostUnusable',
    severity: 'error',
    reason,
    message: failedWith.message.replace(`${name} port ${port}: `, ''),
    nextStep: nextStepOf(reason, name, port),
    evidence: { provider, pool: `${provider}/${pool.name}`, host: name, port, username, labels: labels.join(',') },
    sinceMs: host.failingSinceMs,
    lastSeenMs: host.lastCheckMs,
  };
}

/** A host as people are shown it. @param nodes - the records of its slots */
export function hostStatus(host: MonitoredHost, nodes: readonly NodeRecord[]): HostStatus {
  const { name, port, username, labels, maxParallelJobs: slots } = host.offer.host;
  const condition = hostCondition(host);
  return {
    ...{ pool: host.offer.pool.name, host: name, port, username, labels, slots, nodes },
    health: healthOf(host),
    ...{ reason: condition?.reason, message: condition?.message },
    ...{ lastCheckMs: host.lastCheckMs, downSinceMs: host.failingSinceMs },
  };
}

function healthOf({ failures, contacted, facts }: MonitoredHost): HostStatus['health'] {
  if (failures > 0) return 'down';
  if (facts === undefined) return 'unknown';
  return contacted ? 'up' : 'trusted';
}

const REASONS = {
  unresolved: 'NameUnresolved',
  'key-mismatch': 'HostKeyMismatch',
  'no-common-key-type': 'HostKeyTypeUnknown',
  protocol: 'NotSsh',
} as const;

type Reason = (typeof REASONS)[keyof typeof REASONS] | 'NoAnswer';

/** Class of the error of a check. */
export function reasonOf(error: Error): Reason {
  const failure = 'failure' in error ? error.failure : undefined;
  return typeof failure === 'string' && isKnown(failure) ? REASONS[failure] : 'NoAnswer';
}

const DOWN: Readonly<Record<Reason, string>> = {
  NameUnresolved: 'the name of the host has no address',
  HostKeyMismatch: 'the host has not the key that is expected',
  HostKeyTypeUnknown: 'the host has no key of a known type',
  NotSsh: 'something other than an SSH server answers',
  NoAnswer: 'the host does not answer',
};

/** Why free nodes of a host are removed, for the log. */
export function downText(error: Error | undefined): string {
  return DOWN[error === undefined ? 'NoAnswer' : reasonOf(error)];
}

function isKnown(failure: string): failure is keyof typeof REASONS {
  return Object.hasOwn(REASONS, failure);
}

function nextStepOf(reason: Reason, name: string, port: number): string {
  switch (reason) {
    case 'NameUnresolved':
      return `correct the name in the configuration, or add "${name}" to the name service`;
    case 'HostKeyMismatch':
      return `if ${name} was installed again, write its new key at "host-key"; if not, find out what answers at its address`;
    case 'HostKeyTypeUnknown':
      return `ssh-keygen -A on ${name}, then restart its SSH server`;
    case 'NotSsh':
      return `see the log of the SSH server of ${name}, and whether "connection-port" ${port} is its port`;
    case 'NoAnswer':
      return `start ${name}, or open port ${port} to this launcher; it is checked again without a restart`;
  }
}
