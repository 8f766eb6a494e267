import type { JsonObject } from '@nodepool/zk-protocol';
import type { InstanceRecord, UploadedImage } from './types.js';

/** A record that survives the process of a cloud. */
export type CloudRecord =
  | InstanceRecord
  | { readonly image: UploadedImage }
  | {
      /** Settings as in YAML. */
      readonly settings: JsonObject;
      /** The last configuration of each owner, as JSON. */
      readonly owners: readonly (readonly [owner: string, text: string])[];
    };

/** Store of the records of a cloud; instances and images under their ids. */
export type CloudRecords = Pick<Map<string, CloudRecord>, 'values' | 'set' | 'delete'>;
