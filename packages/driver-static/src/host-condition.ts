import { isIP } from 'node:net';
import { newCondition, type FoundCondition, type HostStatus } from '@nodepool/core';
import { steadyNow, type Clock, type NodeRecord } from '@nodepool/zk-protocol';
import type { MonitoredHost } from './host-monitor.js';

/** Conditions of hosts. */
export const CONDITIONS = {
  HostUnusable: {
    kind: 'host',
    severity: 'error',
    meaning: 'a static host cannot be registered or used; the name is `PROVIDER/USER@HOST:PORT`',
    reasons: {
      NoAnswer: 'its port does not answer',
      NameUnresolved: 'its name has no address',
      HostKeyMismatch: 'it does not have the configured host key',
      HostKeyTypeUnknown: 'it has no host key of a known type',
      SshMethodUnknown: 'its SSH server has no method of key exchange or encryption that the launcher knows',
      Refused: 'its SSH server refuses connections of the launcher for now',
      NotSsh: 'its port is not an SSH port',
    },
    nextStep: 'start the host, or correct its name, port or key; no restart is needed',
  },
  HostKeyChanged: {
    kind: 'host',
    severity: 'warning',
    meaning:
      'a static host changed its host key within the last day, and the new key was accepted; ends early after a restart, or when `host-key` is set',
    reasons: { Accepted: '`host-key-checking` is not `pinned`' },
    nextStep: 'if the host was not reinstalled, find out which machine answers at its address',
  },
} as const;

/** An accepted key change is reported for a day, so that a daily check finds it. */
const KEY_CHANGE_TOLD_MS = 24 * 3_600_000;

/** Current problems of a host. Empty if its last check passed, or if it has not been checked. */
export function hostConditions(host: MonitoredHost, clock: Clock): FoundCondition[] {
  return [unusable(host) ?? [], keyChanged(host, clock) ?? []].flat();
}

function unusable(host: MonitoredHost): FoundCondition | undefined {
  const { failedWith } = host;
  if (failedWith === undefined) return undefined;
  const { name, port } = host.offer.host;
  const reason = reasonOf(failedWith);
  const lastError = failedWith.cause instanceof Error ? failedWith.cause.message : null;
  return newCondition(CONDITIONS, 'HostUnusable', {
    ...subjectOf(host, { lastError }),
    reason,
    message: reason === 'NoAnswer' ? `it does not answer on port ${port}` : errorText(failedWith, name, port),
    nextStep: NEXT_STEPS[reason](name, port),
    sinceMs: host.failingSinceMs,
    lastSeenMs: host.lastCheckMs,
  });
}

function keyChanged(host: MonitoredHost, clock: Clock): FoundCondition | undefined {
  const { keyChange } = host;
  if (keyChange === undefined || steadyNow(clock) - keyChange.steadyMs >= KEY_CHANGE_TOLD_MS) return undefined;
  const { name } = host.offer.host;
  return newCondition(CONDITIONS, 'HostKeyChanged', {
    ...subjectOf(host),
    reason: 'Accepted',
    message: `its host key ${keyChange.keys.join(', ')} was replaced, and the new key was accepted`,
    nextStep:
      `if ${name} was reinstalled, do nothing: this ends after a day. If not, find out which machine answers at its address. ` +
      '"host-key-checking: pinned" refuses a host with changed keys',
    sinceMs: keyChange.atMs,
  });
}

function subjectOf({ offer }: MonitoredHost, more: FoundCondition['evidence'] = {}) {
  const { provider, pool } = offer;
  const { name: host, port, username, labels } = offer.host;
  return {
    name: `${provider}/${username}@${isIP(host) === 6 ? `[${host}]` : host}:${port}`,
    evidence: { provider, pool: pool.name, host, port, username, labels: labels.join(','), ...more },
  };
}

function errorText({ message }: Error, name: string, port: number): string {
  return message.replace(`${name} port ${port}: `, '');
}

/** Status of a host for listings. @param nodes - the records of its slots */
export function hostStatus(host: MonitoredHost, nodes: readonly NodeRecord[]): HostStatus {
  const { name, port, username, labels, maxParallelJobs: slots } = host.offer.host;
  const { failedWith } = host;
  return {
    ...{ pool: host.offer.pool.name, host: name, port, username, labels, slots, nodes },
    health: healthOf(host),
    ...{ reason: failedWith && reasonOf(failedWith), message: failedWith && errorText(failedWith, name, port) },
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
  'no-common-method': 'SshMethodUnknown',
  refused: 'Refused',
  protocol: 'NotSsh',
} as const;

type Reason = (typeof REASONS)[keyof typeof REASONS] | 'NoAnswer';

/** Reason of a failed check, as conditions and listings show it. */
export function reasonOf(error: Error): Reason {
  const failure = 'failure' in error ? error.failure : undefined;
  return typeof failure === 'string' && isKnown(failure) ? REASONS[failure] : 'NoAnswer';
}

const DOWN: Readonly<Record<Reason, string>> = {
  NameUnresolved: 'the name of the host has no address',
  HostKeyMismatch: 'the host does not have the expected key',
  HostKeyTypeUnknown: 'the host has no key of a known type',
  SshMethodUnknown: 'the SSH server of the host has no method that this launcher knows',
  Refused: 'the SSH server of the host refuses this launcher for now',
  NotSsh: 'the service on the port is not an SSH server',
  NoAnswer: 'the host does not answer',
};

/** Why the free nodes of a host are removed, for the log. */
export function downText(error: Error | undefined): string {
  return DOWN[error === undefined ? 'NoAnswer' : reasonOf(error)];
}

function isKnown(failure: string): failure is keyof typeof REASONS {
  return Object.hasOwn(REASONS, failure);
}

const NEXT_STEPS: Readonly<Record<Reason, (name: string, port: number) => string>> = {
  NameUnresolved: (name) => `correct the name in the configuration, or add "${name}" to the name service`,
  HostKeyMismatch: (name) =>
    `if ${name} was reinstalled, set "host-key" to its new key; if not, find out which machine answers at its address`,
  HostKeyTypeUnknown: (name) => `run ssh-keygen -A on ${name}, then restart its SSH server`,
  SshMethodUnknown: (name) =>
    `add a method to "KexAlgorithms", "Ciphers" or "MACs" in the sshd_config of ${name}, such as curve25519-sha256, aes256-gcm@openssh.com or hmac-sha2-256`,
  Refused: (name) =>
    `add the address of this launcher to "PerSourcePenaltyExemptList" in the sshd_config of ${name}, or raise its "MaxStartups"; the launcher keeps checking`,
  NotSsh: (name, port) => `check that the SSH server of ${name} listens on "connection-port" ${port}, and read its log`,
  NoAnswer: (name, port) => `start ${name}, or open port ${port} to this launcher; the launcher keeps checking`,
};
