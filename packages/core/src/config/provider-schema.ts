import type { Driver, JsonSchema } from '../contract/driver.js';
import { composeProviderSchema } from './compose-schema.js';

const composed = new WeakMap<JsonSchema, JsonSchema>();

/** Full schema of a driver's provider entries, common keys included. The same object for the same driver. */
export function providerSchema(driver: Driver): JsonSchema {
  const known = composed.get(driver.schema);
  if (known !== undefined) return known;
  const schema = composeProviderSchema(driver.schema);
  composed.set(driver.schema, schema);
  return schema;
}
