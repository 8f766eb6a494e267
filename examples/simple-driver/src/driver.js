import { readStateMachineProvider, SimpleTaskManagerDriver, STATE_MACHINE_SCHEMAS } from '@nodepool/core';
import { ShedAdapter } from './adapter.js';

const object = (properties, required) => ({ type: 'object', additionalProperties: false, properties, required });
const list = (items) => ({ type: 'array', items });

const label = object({ ...STATE_MACHINE_SCHEMAS.label, size: { type: 'string', enum: ['s', 'm', 'l'] } }, [
  'name',
  'cloud-image',
  'size',
]);
const pool = object({ ...STATE_MACHINE_SCHEMAS.pool, labels: list(label) }, ['name', 'labels']);

const schema = {
  type: 'object',
  required: ['url', 'pools'],
  properties: {
    ...STATE_MACHINE_SCHEMAS.provider,
    url: { type: 'string' },
    'cloud-images': list(object(STATE_MACHINE_SCHEMAS.cloudImage, ['name'])),
    pools: list(pool),
  },
};

/** Creates nodes in a shed. */
class ShedDriver extends SimpleTaskManagerDriver {
  name = 'shed';
  schema = schema;

  getProviderConfig(entry) {
    const config = readStateMachineProvider(entry, { driverName: this.name });
    return { ...config, url: entry.url, pools: withSizes(config.pools, entry.pools) };
  }

  getAdapter(config) {
    return new ShedAdapter(config);
  }
}

/** Adds the driver's own key, the size, to each label. */
function withSizes(pools, entries) {
  const sizes = new Map(
    entries.flatMap((pool) => pool.labels.map((label) => [`${pool.name} ${label.name}`, label.size])),
  );
  return new Map(
    [...pools].map(([name, pool]) => {
      const labels = [...pool.labels.values()].map((label) => ({ ...label, size: sizes.get(`${name} ${label.name}`) }));
      return [name, { ...pool, labels: new Map(labels.map((label) => [label.name, label])) }];
    }),
  );
}

/** Entry point that Nodepool loads. */
export const driver = new ShedDriver();
