import { expect, it } from 'vitest';
import { limitsOf } from './quota.js';

const server = { cpu: { total: 8 }, memory: { total: 16 * 2 ** 30 } };

it('is the hardware of all servers times the overcommit', () => {
  expect(limitsOf({}, [server, server], { cpu: 4, memory: 0.5 })).toEqual({ cores: 64, ram: 16_384 });
});

it('is what the project allows, if that is less', () => {
  const project = { 'limits.instances': '5', 'limits.cpu': '4', 'limits.memory': '2GiB', 'limits.disk': '100GiB' };

  expect(limitsOf(project, [server], { cpu: 4, memory: 1 })).toEqual({
    instances: 5,
    cores: 4,
    ram: 2_048,
    'disk-gb': 100,
  });
});

it('has no limit that it cannot know', () => {
  expect(limitsOf({ 'limits.memory': '50%' }, [], { cpu: 4, memory: 1 })).toEqual({});
});
