import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { plainDriver } from '../../test/support/plain-driver.js';
import { composeConfigSchema } from './config-schema.js';

/** A driver schema with internal references. */
const referring = plainDriver('referring', {
  schema: {
    type: 'object',
    definitions: { size: { type: 'integer', minimum: 1 } },
    properties: {
      size: { $ref: '#/definitions/size' },
      old: { type: 'string', description: 'Old name', deprecated: true },
    },
  },
});
const openstack = plainDriver('openstack', {
  schema: { type: 'object', required: ['cloud'], properties: { cloud: { type: 'string' } } },
});
const schema = composeConfigSchema([plainDriver('plain'), referring, openstack]);
const validate = new Ajv({ strict: false }).compile(schema);

describe('composeConfigSchema', () => {
  it.each([
    ['nothing', {}],
    [
      'an entry of its driver',
      { providers: [{ name: 'p', driver: 'plain', pools: [{ name: 'm', 'max-servers': 1 }] }] },
    ],
    ['an entry without driver, which is openstack', { providers: [{ name: 'p', cloud: 'c' }] }],
    ['an entry of a driver that is not there', { providers: [{ name: 'p', driver: 'rack', shelves: 3 }] }],
    ['a reference', { providers: [{ name: 'p', driver: 'referring', size: 1 }] }],
  ])('takes %s', (_name, value) => {
    expect(validate(value), JSON.stringify(validate.errors)).toBe(true);
  });

  it.each([
    ['an unknown key', { webap: {} }],
    ['a key of another driver', { providers: [{ name: 'p', driver: 'plain', cloud: 'c' }] }],
    ['an entry without driver that is no entry of openstack', { providers: [{ name: 'p' }] }],
    ['a wrong common key of any driver', { providers: [{ name: 'p', driver: 'rack', priority: 'high' }] }],
    ['an entry without a name', { providers: [{ driver: 'rack' }] }],
    ['what a reference forbids', { providers: [{ name: 'p', driver: 'referring', size: 0 }] }],
  ])('refuses %s', (_name, value) => {
    expect(validate(value)).toBe(false);
  });

  it('adapts textual defaults and deprecated names for editors', () => {
    const text = JSON.stringify(schema);

    expect(text).toContain('Ceiling of nodes at a time; 0 switches the pool off. Default: no limit');
    expect(text).toContain('"deprecationMessage":"Old name"');
  });

  it('can be composed without drivers', () => {
    const bare = new Ajv({ strict: false }).compile(composeConfigSchema([]));

    expect(bare({ providers: [{ name: 'p', driver: 'plain', what: 1 }] }), JSON.stringify(bare.errors)).toBe(true);
  });
});
