import { createHash } from 'node:crypto';
import { NODE_ID_TAG, POOL_TAG, PROVIDER_TAG } from '@nodepool/core';

/** https://cloud.google.com/compute/docs/labeling-resources#requirements, ASCII only. */
const LABEL = /^[a-z0-9_-]{1,63}$/;
const MAX_PREFIX_LENGTH = 54;

/** Label with the request id of the insert of an instance, since the name does not identify the insert. */
export const ATTEMPT_LABEL = 'nodepool_attempt';

/** A string as a label value: unchanged if valid, else its valid characters with a hash, to keep it unique. */
export function labelValue(text: string): string {
  if (LABEL.test(text)) return text;
  const kept = text
    .toLowerCase()
    .replace(/[^a-z0-9_-]/g, '_')
    .slice(0, MAX_PREFIX_LENGTH);
  return `${kept}-${createHash('sha256').update(text).digest('hex').slice(0, 8)}`;
}

/** Nodepool's tags as labels. */
export function asLabels(tags: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(tags).map(([key, value]) => [key, labelValue(value)]));
}

type Labels = Readonly<Record<string, string>>;

/** Recognizes the resources of a provider by their labels. */
export class Ownership {
  readonly provider: string;
  readonly #value: string;
  readonly #pools: ReadonlyMap<string, string>;

  constructor(provider: string, pools: Iterable<string>) {
    this.provider = provider;
    this.#value = labelValue(provider);
    this.#pools = new Map(Array.from(pools, (pool) => [labelValue(pool), pool]));
  }

  /** Filter for own resources. Check results with `isOwn` nevertheless. */
  get filter(): string {
    return `labels.${PROVIDER_TAG}="${this.#value}"`;
  }

  isOwn({ labels }: { readonly labels?: Labels | undefined }): boolean {
    return labels?.[PROVIDER_TAG] === this.#value && labels[NODE_ID_TAG] !== undefined;
  }

  /** The tags of an own resource. */
  tagsOf(labels: Labels = {}): Record<string, string> {
    const pool = labels[POOL_TAG] ?? '';
    const own = Object.entries(labels).filter(([key]) => key.startsWith('nodepool_') && key !== ATTEMPT_LABEL);
    return {
      ...Object.fromEntries(own),
      [PROVIDER_TAG]: this.provider,
      [POOL_TAG]: this.#pools.get(pool) ?? pool,
      [NODE_ID_TAG]: labels[NODE_ID_TAG] ?? '',
    };
  }
}

/** Whether a resource has all of these tags. */
export function carries(tags: Labels, wanted: Labels): boolean {
  return Object.entries(wanted).every(([tag, value]) => tags[tag] === value);
}
