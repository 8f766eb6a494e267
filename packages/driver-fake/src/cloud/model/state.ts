import type { JsonObject } from '@nodepool/zk-protocol';
import type { InstanceRecord, UploadedImage } from './types.js';

/** All that survives the end of a cloud's process. */
export interface CloudState {
  /** Part of every id, so that two clouds never have one in common. */
  readonly idPrefix: string;
  readonly nextId: number;
  /** Knobs as in YAML. */
  readonly settings: JsonObject;
  /** What each owner has configured last, as JSON text. */
  readonly owners: ReadonlyMap<string, string>;
  readonly images: ReadonlyMap<string, UploadedImage>;
  readonly instances: ReadonlyMap<string, InstanceRecord>;
}

/** One change of a {@link CloudState}. */
export type StateEntry =
  | { readonly kind: 'start'; readonly idPrefix: string; readonly nextId: number }
  | { readonly kind: 'settings'; readonly settings: JsonObject }
  | { readonly kind: 'owner'; readonly owner: string; readonly text: string }
  | { readonly kind: 'instance'; readonly record: InstanceRecord }
  | { readonly kind: 'gone'; readonly id: string }
  | { readonly kind: 'image'; readonly image: UploadedImage }
  | { readonly kind: 'image-gone'; readonly id: string };

/** A cloud in which nothing has happened yet. */
export function emptyState(random: () => number): CloudState {
  const idPrefix = Math.floor(random() * 0x1_0000_0000)
    .toString(16)
    .padStart(8, '0');
  return { idPrefix, nextId: 1, settings: {}, owners: new Map(), images: new Map(), instances: new Map() };
}

/** The entries that make up a state. */
export function* entriesOf(state: CloudState): Generator<StateEntry> {
  yield { kind: 'start', idPrefix: state.idPrefix, nextId: state.nextId };
  yield { kind: 'settings', settings: state.settings };
  for (const [owner, text] of state.owners) yield { kind: 'owner', owner, text };
  for (const image of state.images.values()) yield { kind: 'image', image };
  for (const record of state.instances.values()) yield { kind: 'instance', record };
}

/** The state that entries make up, applied in order. `undefined`: there was no beginning. */
export function stateOf(entries: Iterable<StateEntry>): CloudState | undefined {
  let start: { idPrefix: string; nextId: number } | undefined;
  let settings: JsonObject = {};
  const owners = new Map<string, string>();
  const images = new Map<string, UploadedImage>();
  const instances = new Map<string, InstanceRecord>();
  const seen = (id: string) => {
    const number = Number(id.slice(id.lastIndexOf('-') + 1));
    if (start && number >= start.nextId) start.nextId = number + 1;
  };
  for (const entry of entries) {
    switch (entry.kind) {
      case 'start':
        start = { idPrefix: entry.idPrefix, nextId: entry.nextId };
        break;
      case 'settings':
        settings = entry.settings;
        break;
      case 'owner':
        owners.set(entry.owner, entry.text);
        break;
      case 'instance':
        instances.set(entry.record.instance.id, entry.record);
        seen(entry.record.instance.id);
        break;
      case 'gone':
        instances.delete(entry.id);
        seen(entry.id);
        break;
      case 'image':
        images.set(entry.image.id, entry.image);
        seen(entry.image.id);
        break;
      case 'image-gone':
        images.delete(entry.id);
        break;
    }
  }
  return start && { ...start, settings, owners, images, instances };
}
