import type { NodeRecord, RequestRecord } from '@nodepool/zk-protocol';
import type { Config } from '../../contract/config.js';
import type { ChangePreview } from '../../contract/driver.js';
import type { ProviderConfig } from '../../contract/provider-config.js';
import type { LimitChange } from './limit-changes.js';
import type { Offer } from './servable.js';

/** What planConfigChange looks at. */
export interface ConfigChangeInput {
  /** The configuration in force; `undefined` when not known. */
  readonly before: Config | undefined;
  readonly after: Config;
  readonly nodes: readonly NodeRecord[];
  readonly requests: readonly RequestRecord[];
  /** Registered pools now. */
  readonly offerBefore: Offer;
  /** Registered pools as they would be. */
  readonly offerAfter: Offer;
  readonly nowMs: number;
  /** What the driver says of a provider's nodes; `undefined` when it says nothing. See `Driver.previewChange`. */
  preview(config: ProviderConfig, nodes: readonly NodeRecord[], all: readonly NodeRecord[]): ChangePreview | undefined;
}

/** A provider or pool that comes, goes or changes. */
export interface PartChange {
  /** `provider` or `provider/pool`. */
  readonly name: string;
  readonly change: 'added' | 'removed' | 'changed';
}

/** What becomes of a waiting request. */
export interface RequestChange {
  readonly request: string;
  readonly labels: readonly string[];
  /** Pools that could serve it, or why none can. */
  readonly why: readonly string[];
}

/** What a new configuration would do to the live system. */
export interface ConfigChange {
  /** Labels that registered pools would offer or would offer no more. */
  readonly labels: { readonly gained: readonly string[]; readonly lost: readonly string[] };
  /** A changed provider is replaced: the new one starts beside the old one, which ends what it has begun. */
  readonly providers: readonly PartChange[];
  readonly pools: readonly PartChange[];
  readonly limits: readonly LimitChange[];
  readonly register: readonly (ChangePreview['register'][number] & { readonly provider: string })[];
  readonly delete: readonly (ChangePreview['delete'][number] & { readonly provider: string })[];
  /** Standby nodes that would be launched because of a new or raised `min-ready`. */
  readonly standby: readonly { readonly label: string; readonly count: number }[];
  /** Nodes that would be left as they are, although nothing in the new configuration makes such nodes. */
  readonly kept: readonly { readonly name: string; readonly count: number; readonly text: string }[];
  readonly waiting: number;
  readonly servable: readonly RequestChange[];
  readonly hopeless: readonly RequestChange[];
}
