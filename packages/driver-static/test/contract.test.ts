import { describe, it } from 'vitest';
import { testDriverContract, VirtualClock } from '@nodepool/core/testing';
import { driver } from '../src/index.js';

const host = { name: 'rack-1.fake', labels: ['small'], 'max-parallel-jobs': 2 };
const pool = { name: 'main', nodes: [host, { name: 'rack-2.fake', labels: 'small large' }] };
const entry = { name: 'rack', driver: 'static', pools: [pool] };
const withHost = (changes: object) => ({ ...entry, pools: [{ ...pool, nodes: [{ ...host, ...changes }] }] });

testDriverContract({
  driver,
  cloud() {
    const clock = new VirtualClock();
    return {
      clock,
      advance: (ms) => clock.advance(ms),
      list: () => pool.nodes.map(({ name }) => ({ id: name, isReady: true })),
      failNext: () => {},
    };
  },
  validConfig: entry,
  invalidConfigs: {
    'a host without a name': { ...entry, pools: [{ ...pool, nodes: [{ labels: ['small'] }] }] },
    'slots that are no number': withHost({ 'max-parallel-jobs': 'many' }),
    'a pool that is a text': { ...entry, pools: ['main'] },
    'two hosts that are the same': { ...entry, pools: [{ ...pool, nodes: [host, host] }] },
  },
  packageFile: new URL('../package.json', import.meta.url),
  test: { describe, it },
});
