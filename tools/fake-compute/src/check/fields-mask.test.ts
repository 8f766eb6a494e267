import { describe, expect, it } from 'vitest';
import { readMask } from './fields-mask.js';

const definitions = {
  List: {
    type: 'object',
    properties: {
      items: { type: 'array', items: { $ref: '#/definitions/Instance' } },
      byZone: { type: 'object', additionalProperties: { $ref: '#/definitions/Instance' } },
      nextPageToken: { type: 'string' },
    },
  },
  Instance: {
    type: 'object',
    properties: { name: { type: 'string' }, disks: { type: 'array', items: { $ref: '#/definitions/Disk' } } },
  },
  Disk: { type: 'object', properties: { source: { type: 'string' }, boot: { type: 'boolean' } } },
};
const instance = { name: 'a', disks: [{ source: 's', boot: true }] };

describe('readMask', () => {
  it.each([
    ['items(name,disks/source)', { items: [{ name: 'a', disks: [{ source: 's' }] }] }],
    ['items/disks(boot),nextPageToken', { items: [{ disks: [{ boot: true }] }], nextPageToken: 'p1' }],
    ['byZone/*/name', { byZone: { north: { name: 'a' } } }],
    ['items', { items: [instance] }],
  ])('reduces an answer to %s', (mask, expected) => {
    const answer = { items: [instance], byZone: { north: instance }, nextPageToken: 'p1' };

    expect(readMask(mask, 'List', definitions)(answer)).toEqual(expected);
  });

  it.each([
    ['items(name', 'a parenthesis is not closed'],
    ['items(name))', 'cannot be read from ")"'],
    ['items,,name', 'a name is missing'],
    ['items/color', 'there is no field "color"'],
    ['items/*', 'there is no field "*"'],
  ])('rejects %s', (mask, message) => {
    expect(() => readMask(mask, 'List', definitions)).toThrow(message);
  });
});
