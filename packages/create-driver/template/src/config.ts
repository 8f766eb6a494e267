import {
  readStateMachineProvider,
  STATE_MACHINE_SCHEMAS,
  type Json,
  type JsonObject,
  type JsonSchema,
  type ProviderConfigContext,
  type StateMachineLabelConfig,
  type StateMachinePoolConfig,
  type StateMachineProviderConfig,
} from '@nodepool/core';
import { DRIVER_NAME } from './name.js';

/** A label with the size of its instances. */
export interface TemplateLabelConfig extends StateMachineLabelConfig {
  readonly size: string;
}

/** A pool with its labels. */
export interface TemplatePoolConfig extends StateMachinePoolConfig {
  readonly labels: ReadonlyMap<string, TemplateLabelConfig>;
}

/** Typed form of a provider entry. */
export interface TemplateProviderConfig extends StateMachineProviderConfig {
  readonly pools: ReadonlyMap<string, TemplatePoolConfig>;
  /** Address of the cloud's API. */
  readonly url: string;
}

const list = (items: JsonSchema): JsonSchema => ({ type: 'array', items });
const text: JsonSchema = { type: 'string', minLength: 1 };

const label: JsonSchema = {
  type: 'object',
  required: ['name', 'cloud-image', 'size'],
  properties: { ...STATE_MACHINE_SCHEMAS.label, size: text },
};
const pool: JsonSchema = {
  type: 'object',
  required: ['name', 'labels'],
  properties: { ...STATE_MACHINE_SCHEMAS.pool, labels: list(label) },
};

/** Schema of the driver's own keys. Nodepool reports unknown keys. */
export const schema: JsonSchema = {
  type: 'object',
  required: ['url', 'pools'],
  properties: {
    ...STATE_MACHINE_SCHEMAS.provider,
    url: text,
    'cloud-images': list({ type: 'object', required: ['name'], properties: STATE_MACHINE_SCHEMAS.cloudImage }),
    pools: list(pool),
  },
};

/** Reads an entry that matches the schema, and reports problems that the schema cannot express. */
export function readProviderConfig(entry: JsonObject, context: ProviderConfigContext): TemplateProviderConfig {
  const common = readStateMachineProvider(entry, { driverName: DRIVER_NAME });
  const url = textOf(entry['url']);
  if (!URL.canParse(url)) context.problem(['url'], `"${url}" is no URL, expected something like http://cloud:8080`);
  const pools = objects(entry['pools']).map((one, index) => readPool(one, index, common, context));
  return { ...common, url: url.replace(/\/+$/, ''), pools: new Map(pools.map((one) => [one.name, one])) };
}

function readPool(
  entry: JsonObject,
  index: number,
  { pools, cloudImages }: StateMachineProviderConfig,
  context: ProviderConfigContext,
): TemplatePoolConfig {
  const common = pools.get(textOf(entry['name']));
  if (!common) throw new Error(`pool ${index} was not read`); // readStateMachineProvider returns every pool
  const labels = objects(entry['labels']).flatMap((one, at): TemplateLabelConfig[] => {
    const known = common.labels.get(textOf(one['name']));
    if (!known) return [];
    if (!cloudImages.has(known.cloudImage ?? '')) {
      const place = ['pools', index, 'labels', at, 'cloud-image'];
      context.problem(place, `"${known.cloudImage}" is not defined: add it to "cloud-images"`);
    }
    return [{ ...known, size: textOf(one['size']) }];
  });
  return { ...common, labels: new Map(labels.map((one) => [one.name, one])) };
}

/** The schema guarantees a string. */
function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}

function objects(value: Json | undefined): JsonObject[] {
  if (!Array.isArray(value)) return [];
  return value.filter((one): one is JsonObject => typeof one === 'object' && one !== null && !Array.isArray(one));
}
