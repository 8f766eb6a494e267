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
  return withCall(zk, { multiRead });
}

/** A session that runs an action before it sends a transaction. */
export function whileWriting(zk: ZooKeeper, happen: () => Promise<void>): ZooKeeper {
  const multi: ZooKeeper['multi'] = async (operations) => {
    await happen();
    return zk.multi(operations);
  };
  return withCall(zk, { multi });
}

function withCall(zk: ZooKeeper, call: Partial<ZooKeeper>): ZooKeeper {
  return new Proxy(zk, {
    get(target, key) {
      if (key in call) return Reflect.get(call, key) as unknown;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
