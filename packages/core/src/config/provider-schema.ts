import type { Driver, JsonSchema } from '../contract/driver.js';
import { DriverError } from '../contract/errors.js';
import { composeProviderSchema } from './compose-schema.js';
import { assertCompiles } from './schema-validator.js';

const composed = new WeakMap<JsonSchema, JsonSchema>();

/** Full schema of the provider entries of a driver, including common keys. Cached per driver. */
export function providerSchema(driver: Driver): JsonSchema {
  const known = composed.get(driver.schema);
  if (known !== undefined) return known;
  const schema = composeProviderSchema(driver.schema);
  composed.set(driver.schema, schema);
  return schema;
}

/** Compiles a driver's schema early. @throws {DriverError} the schema is invalid; the message names the package, if known */
export function assertUsableSchema(driver: Driver, packageName: string | undefined): void {
  try {
    assertCompiles(driver.name, providerSchema(driver));
  } catch (error) {
    if (!(error instanceof DriverError) || packageName === undefined) throw error;
    const message = `${error.message}; report this to the author of ${packageName}`;
    throw new DriverError(driver.name, message, { cause: error });
  }
}
