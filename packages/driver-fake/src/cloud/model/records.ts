import type { JsonObject } from '@nodepool/zk-protocol';
import type { InstanceRecord, UploadedImage } from './types.js';

/** One thing that survives the end of a cloud's process. */
export type CloudRecord =
  | InstanceRecord
  | { readonly image: UploadedImage }
  | {
      /** Knobs as in YAML. */
      readonly settings: JsonObject;
      /** What each owner has configured last, as JSON text. */
      readonly owners: readonly (readonly [owner: string, text: string])[];
    };

/** Where a cloud keeps its records: those of instances and images under their ids. In a plain `Map` nothing survives. */
export type CloudRecords = Pick<Map<string, CloudRecord>, 'values' | 'set' | 'delete'>;
