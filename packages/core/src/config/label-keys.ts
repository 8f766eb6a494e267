import type { Json, JsonObject } from '@nodepool/zk-protocol';
import type { LabelConfig } from '../contract/config.js';
import type { SenseCheck } from './check-sense.js';
import { checkPrices, PRICE, readPrice } from './label-price.js';
import { checkStandby, readKeep, readStandby, STANDBY } from './standby-settings.js';

/** Schemas of the keys of labels that the original does not have. */
export const LABEL_KEYS: Readonly<Record<string, JsonObject>> = { standby: STANDBY, price: PRICE };

/** Reads those of one label. @param entry - validated against {@link LABEL_KEYS} @param timeZone - of the file */
export function readLabelKeys(
  entry: Readonly<Record<string, Json | undefined>>,
  timeZone: string | undefined,
): Pick<LabelConfig, 'standby' | 'keep' | 'price'> {
  const [standby, keep] = [readStandby(entry['standby'], timeZone), readKeep(entry['standby'])];
  const price = readPrice(entry['price']);
  return { ...(standby && { standby }), ...(keep && { keep }), ...(price !== undefined && { price }) };
}

/** Reports what is wrong with those of all labels, though it matches the schema. */
export function checkLabelKeys(top: JsonObject, check: SenseCheck): void {
  checkStandby(top, check);
  checkPrices(top, check);
}
