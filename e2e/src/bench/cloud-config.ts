/** An elastic provider to measure: pools on the fake cloud, optionally with slots on its nodes. */
export interface CloudSetup {
  /** Name of the provider. Default: `cloud`. */
  name?: string;
  /** `max-servers` of the pool. Default: no limit. */
  maxServers?: number;
  /** Settings of the cloud, as in `cloud-settings`. */
  settings?: Record<string, unknown>;
  /** Standby nodes of label `a`. */
  minReady?: number;
  /** Number of slots of label `slot` on each node of label `a`. */
  slotsPerNode?: number;
}

/** Configuration of one launcher with the fake cloud in the given directory. */
export function cloudConfig(
  connectString: string,
  cloudDir: string,
  { name = 'cloud', maxServers, settings, minReady, slotsPerNode }: CloudSetup,
  port: number,
): object {
  const [host, zkPort] = connectString.split(':');
  const label = { name: 'a', 'cloud-image': 'image', 'min-ram': 1024, 'host-key-checking': false };
  const pool = { name: 'main', labels: [label], ...(maxServers === undefined ? {} : { 'max-servers': maxServers }) };
  const cloud = {
    name,
    driver: 'fake',
    'cloud-images': [{ name: 'image' }],
    'cloud-settings': { 'state-dir': cloudDir, ...settings },
    pools: [pool],
  };
  const slot = {
    name: 'slot',
    'backing-label': 'a',
    'max-parallel-jobs': slotsPerNode,
    'grace-time': 2,
    'host-key-checking': false,
  };
  const slots = { name: 'slots', driver: 'metastatic', pools: [{ name: 'main', labels: [slot] }] };
  return {
    'zookeeper-servers': [{ host, port: Number(zkPort) }],
    webapp: { port, listen_address: '127.0.0.1' },
    labels: [{ name: 'a', 'min-ready': minReady ?? 0 }, ...(slotsPerNode === undefined ? [] : [{ name: 'slot' }])],
    providers: [cloud, ...(slotsPerNode === undefined ? [] : [slots])],
  };
}
