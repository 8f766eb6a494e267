import type { ReadOperation, ZooKeeper } from '../../src/client/contract/types.js';

/**
 * A session that runs an action before it answers a read.
 * @param happen - the action; called with each read
 */
export function whileReading(zk: ZooKeeper, happen: (reads: readonly ReadOperation[]) => Promise<void>): ZooKeeper {
  const multiRead: ZooKeeper['multiRead'] = async (operations) => {
    const results = await zk.multiRead(operations);
    await happen(operations);
    return results;
  };
  return new Proxy(zk, {
    get(target, key) {
      if (key === 'multiRead') return multiRead;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
