import {
  CERTIFICATES_KEY,
  certificateMode,
  createLeaseCache,
  createLeaseTokenCache,
  LEASE_SLOTS_ROOT,
  LEASE_TOKENS_ROOT,
  LEASES_ROOT,
  uuidHex,
  type JsonObject,
} from '@nodepool/zk-protocol';
import { LOGGER_NAMES } from '../../contract/logger-names.js';
import type { Engine, Feature, MakeFeature } from '../../launcher/nodes/feature.js';
import { loggingAs } from '../../launcher/state/context.js';
import { LeaseKeeper } from './lease-keeper.js';
import { Leases } from './leases.js';

/** Nodes lent over HTTP, for the web server that {@link leasesOf} gives them to. Pools announce whose certificates their machines trust. */
class LeaseFeature implements Feature {
  readonly directories = [LEASES_ROOT, LEASE_SLOTS_ROOT, LEASE_TOKENS_ROOT];
  readonly caches;
  readonly leases: Leases;
  readonly #keeper: LeaseKeeper;

  constructor({ context, serverClock, providers, registry }: Engine) {
    const common = loggingAs(context, LOGGER_NAMES.launcher);
    const [cache, tokens] = [createLeaseCache(common), createLeaseTokenCache(common)];
    const lending = { ...loggingAs(context, 'nodepool.Leases'), clock: serverClock };
    this.caches = [cache, tokens];
    this.leases = new Leases(lending, cache, tokens, uuidHex(), providers);
    this.#keeper = new LeaseKeeper(lending, this.leases);
    registry.announce((_labels, provider): JsonObject => {
      const mode = certificateMode(context.config.now.providers.get(provider)?.entry['lease-certificates']);
      return mode ? { [CERTIFICATES_KEY]: mode } : {};
    });
  }

  reconsider(): void {
    this.#keeper.reconsider();
  }

  stop(): void {
    this.#keeper.stop();
    this.leases.stop();
  }
}

/** Leases over HTTP. */
export const leases: MakeFeature = (engine) => new LeaseFeature(engine);

/** The leases of a launcher; `undefined`: it has none. */
export function leasesOf({ features }: { readonly features: readonly Feature[] }): Leases | undefined {
  return features.find((feature) => feature instanceof LeaseFeature)?.leases;
}
