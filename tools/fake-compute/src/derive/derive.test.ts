import { expect, it } from 'vitest';
import { derive, type ProtoPackage } from './derive.js';
import { toModule } from './to-module.js';

/** A package in the format of protobufjs. */
const protos: ProtoPackage = {
  Boats: {
    methods: {
      Build: {
        requestType: 'BuildBoatRequest',
        responseType: 'Boat',
        options: {
          '(google.api.http).post': '/v1/{harbour}/boats/{boat_name}',
          '(google.api.http).body': 'boat_resource',
        },
      },
    },
  },
  BuildBoatRequest: {
    fields: {
      boatResource: { type: 'Boat' },
      harbour: { type: 'string' },
      boatName: { type: 'string' },
      requestId: { type: 'string' },
    },
  },
  Boat: {
    fields: {
      weight: { type: 'uint64' },
      colour: { type: 'string' },
      masts: { type: 'Mast', rule: 'repeated' },
      notes: { type: 'string', keyType: 'string' },
      tender: { type: 'Boat' },
      state: { type: 'State' },
    },
    nested: {
      Colour: { values: { UNDEFINED_COLOUR: 0, RED: 7 } },
      State: { values: { UNDEFINED_STATE: 0, AFLOAT: 1, SUNK: 2 } },
    },
  },
  State: { fields: { capital: { type: 'string' } } },
  Mast: { fields: { height: { type: 'double' } } },
};

it('extracts a method and its messages from the description', () => {
  const { methods, definitions } = derive(protos, ['Boats.Build'], 'boats@1');

  expect(methods).toEqual([
    {
      name: 'Boats.Build',
      verb: 'POST',
      path: '/v1/{harbour}/boats/{boat_name}',
      query: { requestId: { type: 'string' } },
      body: 'Boat',
      response: 'Boat',
    },
  ]);
  expect(definitions).toEqual({
    Boat: {
      type: 'object',
      additionalProperties: false,
      properties: {
        weight: { type: 'string', pattern: '^[0-9]+$' },
        colour: { enum: ['RED'] },
        masts: { type: 'array', items: { $ref: '#/definitions/Mast' } },
        notes: { type: 'object', additionalProperties: { type: 'string' } },
        tender: { $ref: '#/definitions/Boat' },
        state: { enum: ['AFLOAT', 'SUNK'] },
      },
    },
    Mast: { type: 'object', additionalProperties: false, properties: { height: { type: 'number' } } },
  });
});

it('names a missing method or message', () => {
  expect(() => derive(protos, ['Boats.Sink'], '')).toThrow('no method Boats.Sink');
  expect(() => derive({ Boats: protos['Boats'] ?? {} }, ['Boats.Build'], '')).toThrow('no message BuildBoatRequest');
});

it('writes one line for each method and message, and the source', () => {
  const module = toModule(derive(protos, ['Boats.Build'], 'boats@1'));

  expect(module).toContain('boats@1');
  expect(module).toContain('"Mast": {"type":"object"');
});
