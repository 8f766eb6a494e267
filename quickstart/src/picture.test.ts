import { expect, it } from 'vitest';
import { pictureOf } from './picture.js';

const node = (provider: string, state: string, locked = 'unlocked') => ({ id: '1', provider, state, locked });

it('shows the machines of each provider by what they do, and who waits', () => {
  const nodes = [
    node('rack', 'ready'),
    node('rack', 'ready', 'locked'),
    node('cloud', 'building', 'locked'),
    node('rack', 'in-use', 'locked'),
    node('rack', 'used'),
  ];
  const requests = [
    { id: '1', state: 'requested' },
    { id: '2', state: 'fulfilled' },
  ];

  expect(pictureOf(nodes, requests)).toEqual([
    '',
    '  cloud  ◌',
    '  rack   ○ ● ● ×',
    '  ○ free   ● in use   ◌ being made   × being cleaned up',
    '  1 request waits',
  ]);
});
