import type { NodeRecord, RequestRecord } from '@nodepool/zk-protocol';
import type { Config } from '../../contract/config.js';
import type { ChangePreview } from '../../contract/driver.js';
import type { ProviderConfig } from '../../contract/provider-config.js';
import type { LimitChange } from './limit-changes.js';
import type { Offer } from './servable.js';

/** The input of `planConfigChange`. */
export interface ConfigChangeInput {
  /** The configuration in force; `undefined` if not known. */
  readonly before: Config | undefined;
  readonly after: Config;
  readonly nodes: readonly NodeRecord[];
  readonly requests: readonly RequestRecord[];
  /** Registered pools now. */
  readonly offerBefore: Offer;
  /** Registered pools after the change. */
  readonly offerAfter: Offer;
  readonly nowMs: number;
  /** The driver's preview for a provider's nodes; `undefined` if it has none. See `Driver.previewChange`. */
  preview(config: ProviderConfig, nodes: readonly NodeRecord[], all: readonly NodeRecord[]): ChangePreview | undefined;
}

/** A provider or pool that is added, removed or changed. */
export interface PartChange {
  /** `provider` or `provider/pool`. */
  readonly name: string;
  readonly change: 'added' | 'removed' | 'changed';
}

/** The effect on a waiting request. */
export interface RequestChange {
  readonly request: string;
  readonly labels: readonly string[];
  /** Pools that could serve it, or why none can. */
  readonly why: readonly string[];
}

/** The effects of a new configuration on the live system. */
export interface ConfigChange {
  /** Labels that registered pools would gain or lose. */
  readonly labels: { readonly gained: readonly string[]; readonly lost: readonly string[] };
  /** A changed provider is replaced: the new one starts while the old one finishes its work. */
  readonly providers: readonly PartChange[];
  readonly pools: readonly PartChange[];
  readonly limits: readonly LimitChange[];
  readonly register: readonly (ChangePreview['register'][number] & { readonly provider: string })[];
  readonly delete: readonly (ChangePreview['delete'][number] & { readonly provider: string })[];
  /** Nodes that would be launched, to be kept free, because of a new or raised `min-ready`. */
  readonly freeNodes: readonly { readonly label: string; readonly count: number }[];
  /** Nodes that would be kept although nothing in the new configuration creates such nodes. */
  readonly kept: readonly { readonly name: string; readonly count: number; readonly text: string }[];
  readonly waiting: number;
  readonly servable: readonly RequestChange[];
  readonly hopeless: readonly RequestChange[];
}
