import { Document, isMap, isScalar, visit } from 'yaml';
import type { JsonObject } from '@nodepool/zk-protocol';
import type { HostAddress } from './hosts.js';

/** A machine to write down, with the host keys it has. */
export interface CheckedHost {
  readonly host: HostAddress;
  readonly keys: readonly string[];
}

const HEAD = ` What the launcher of Nodepool works from. Written by \`nodepool init\`; edit it as you like: a running launcher reads
 it again by itself. \`nodepool config-validate -c FILE\` checks it. There is no "zookeeper-servers" here, so the launcher
 keeps its data in a ZooKeeper server of its own on this machine.`;

/** What a key means, where it stands for the first time. */
const COMMENTS: Readonly<Record<string, string>> = {
  labels: ' What a job asks for.',
  webapp: ' Status page and API: http://127.0.0.1:8005. Any machine may reach it with listen_address 0.0.0.0.',
  'lease-ca-key': ' Signs the certificates with which lessees log in: docs/leases.md.',
  providers: ' Where machines come from.',
  nodes: ' Fixed machines. A machine with "max-parallel-jobs: 2" is lent to two jobs at a time.',
  'host-key': ' The machine must prove that it owns this key, as it did when this file was written.',
  'cloud-images': ' What machines boot from, and who logs in.',
  'max-servers': ' At most this many machines at a time.',
};

/** The configuration for fixed machines, all with one label. @param leaseCaKey - file of the key that they trust */
export function staticConfig(hosts: readonly CheckedHost[], label: string, leaseCaKey?: string): string {
  const nodes = hosts.map(({ host: { user, host, port }, keys }) => ({
    ...{ name: host, labels: label, username: user },
    ...(port !== 22 && { 'connection-port': port }),
    ...(keys[0] !== undefined && { 'host-key': keys[0] }),
  }));
  const pools = [{ name: 'main', nodes }];
  const provider = {
    ...{ name: 'machines', driver: 'static' },
    ...(leaseCaKey !== undefined && { 'lease-certificates': 'host' }),
  };
  return configText({ ...provider, pools }, label, leaseCaKey);
}

/** The configuration for one provider with one label. */
export function configText(provider: JsonObject, label: string, leaseCaKey?: string): string {
  // the configuration is read as YAML 1.1, where `yes` is a truth value
  const document = new Document(
    {
      labels: [{ name: label }],
      ...(leaseCaKey !== undefined && { 'lease-ca-key': leaseCaKey }),
      webapp: { listen_address: '127.0.0.1', port: 8005 },
      providers: [provider],
    },
    { version: '1.1' },
  );
  document.commentBefore = HEAD;
  const described = new Set<string>();
  visit(document, {
    Pair(_key, { key }, path) {
      if (!isScalar(key) || typeof key.value !== 'string' || described.has(key.value)) return;
      const comment = COMMENTS[key.value];
      if (comment === undefined) return;
      described.add(key.value);
      key.commentBefore = comment;
      // a blank line before each part of the file
      if (isMap(path.at(-1)) && path.length === 2 && key.value !== 'labels') key.spaceBefore = true;
    },
  });
  return document.toString({ lineWidth: 0 });
}
