import type { ProviderContext } from '../../../contract/driver.js';
import { inDriverScope, outOfDriverScope, type DriverScope } from './driver-scope.js';

type AnyFunction = (...args: unknown[]) => unknown;

/**
 * The services of a provider with a clear border: what a driver hands over to be called back is run in its scope, and what
 * it calls is not, so that neither is blamed for the other's mistakes.
 */
export function scopeContext(context: ProviderContext, scope: DriverScope): ProviderContext {
  const { clock, committer } = context;
  return {
    ...context,
    clock: {
      now: () => clock.now(),
      setTimer: (ms, fn) => outOfDriverScope(() => clock.setTimer(ms, () => inDriverScope(scope, fn))),
    },
    committer: { commit: (operations) => outOfDriverScope(() => committer.commit(operations)) },
    zk: bordered(context.zk, scope),
    nodes: bordered(context.nodes, scope),
    requests: bordered(context.requests, scope),
    capacityChanged: (pool) => outOfDriverScope(() => context.capacityChanged(pool)),
  };
}

/** The same object; functions given to its methods are listeners of the driver. */
function bordered<T extends object>(target: T, scope: DriverScope): T {
  const methods = new Map<string | symbol, AnyFunction>();
  return new Proxy(target, {
    get(from, key) {
      const known = methods.get(key);
      if (known) return known;
      const value: unknown = Reflect.get(from, key, from);
      if (typeof value !== 'function') return value;
      const method = value as AnyFunction;
      const crossing: AnyFunction = (...args) => {
        const listening = args.map((arg) => (typeof arg === 'function' ? listener(arg as AnyFunction, scope) : arg));
        return outOfDriverScope(() => Reflect.apply(method, from, listening));
      };
      methods.set(key, crossing);
      return crossing;
    },
  });
}

function listener(called: AnyFunction, scope: DriverScope): AnyFunction {
  return (...args) => inDriverScope(scope, () => called(...args));
}
