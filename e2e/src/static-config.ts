import type { SshHost } from '@nodepool/test-servers';
import { LAUNCHER_SESSION_S } from './soon.js';

/** A host as a static node. */
export interface StaticNode {
  host: SshHost;
  labels: string[];
  /** Slots. Default: 1. */
  maxParallelJobs?: number;
  /** Default: the host's real keys. */
  hostKeys?: readonly string[];
  /** Default: true. */
  hostKeyChecking?: boolean;
}

/** A pool of static nodes. */
export interface StaticPool {
  name: string;
  nodes: StaticNode[];
}

/** A provider of static nodes. */
export interface StaticProvider {
  name: string;
  priority?: number;
  /** For whom its hosts take certificates of leases. */
  leaseCertificates?: 'user' | 'host';
  pools: StaticPool[];
}

/** Settings of nodepool.yaml in a test. */
export interface StaticSetup {
  providers: StaticProvider[];
  /** More labels to know than nodes have. */
  extraLabels?: string[];
  maxHoldAgeSeconds?: number;
  /** Private key that signs certificates of leases. */
  leaseCaKey?: string;
  /** Session timeout of the launcher. Default: longer than a busy machine makes it wait. */
  zookeeperTimeoutSeconds?: number;
}

/** One place for one job that the configuration promises. */
export interface ExpectedSlot {
  provider: string;
  pool: string;
  address: string;
  slot: number;
}

/** A provider with the given nodes in one pool, `main`. */
export function providerOf(name: string, nodes: StaticNode[], priority?: number): StaticProvider {
  return { name, pools: [{ name: 'main', nodes }], ...(priority === undefined ? {} : { priority }) };
}

/** One provider and pool over the given nodes: enough for most tests. */
export function simpleSetup(nodes: StaticNode[], more: Partial<StaticSetup> = {}): StaticSetup {
  return { providers: [providerOf('static-one', nodes)], ...more };
}

/** Each of these hosts with one slot and the same labels. */
export function nodesOf(hosts: readonly SshHost[], ...labels: string[]): StaticNode[] {
  return hosts.map((host) => ({ host, labels }));
}

function nodeEntry(node: StaticNode): Record<string, unknown> {
  return {
    name: node.host.address,
    labels: node.labels,
    username: 'root',
    timeout: 5,
    'connection-port': node.host.port,
    'host-key': node.hostKeys ?? node.host.hostKeys,
    'max-parallel-jobs': node.maxParallelJobs ?? 1,
    'host-key-checking': node.hostKeyChecking ?? true,
  };
}

/** The `labels` and `providers` of nodepool.yaml. */
export function staticConfig(setup: StaticSetup): Record<string, unknown> {
  const used = setup.providers.flatMap(({ pools }) => pools.flatMap(({ nodes }) => nodes.flatMap((n) => n.labels)));
  const labels = [...new Set([...used, ...(setup.extraLabels ?? [])])];
  return {
    ...(setup.maxHoldAgeSeconds === undefined ? {} : { 'max-hold-age': setup.maxHoldAgeSeconds }),
    ...(setup.leaseCaKey === undefined ? {} : { 'lease-ca-key': setup.leaseCaKey }),
    'zookeeper-timeout': setup.zookeeperTimeoutSeconds ?? LAUNCHER_SESSION_S,
    labels: labels.map((name) => ({ name })),
    providers: setup.providers.map(({ name, priority, leaseCertificates, pools }) => ({
      name,
      driver: 'static',
      ...(priority === undefined ? {} : { priority }),
      ...(leaseCertificates === undefined ? {} : { 'lease-certificates': leaseCertificates }),
      pools: pools.map((pool) => ({ name: pool.name, nodes: pool.nodes.map(nodeEntry) })),
    })),
  };
}

/** All slots that should be ready while they are unused. */
export function expectedSlots(setup: StaticSetup): ExpectedSlot[] {
  return setup.providers.flatMap((provider) =>
    provider.pools.flatMap((pool) =>
      pool.nodes.flatMap(({ host, maxParallelJobs = 1 }) =>
        Array.from({ length: maxParallelJobs }, (_, slot) => ({
          provider: provider.name,
          pool: pool.name,
          address: host.address,
          slot,
        })),
      ),
    ),
  );
}
