import { expect, it } from 'vitest';
import { LauncherEvents } from './events.js';

const POOL = { launcherId: 'nl01-main', provider: 'cloud', pool: { name: 'main' } };

it('calls the listeners of an event in the order in which they came', () => {
  const events = new LauncherEvents();
  const heard: string[] = [];
  events.on('poolServes', ({ pool }) => heard.push(`first: ${pool.provider}`));
  events.on('poolServes', ({ pool }) => heard.push(`second: ${pool.provider}`));
  events.on('planDue', () => heard.push('closed'));

  events.emit('poolServes', { pool: POOL, serves: true });

  expect(heard).toEqual(['first: cloud', 'second: cloud']);
});

it('calls a listener no longer once it has ended', () => {
  const events = new LauncherEvents();
  const heard: string[] = [];
  const end = events.on('planDue', () => heard.push('ended'));
  events.on('planDue', () => heard.push('other'));

  end();
  events.emit('planDue', { pool: POOL });

  expect(heard).toEqual(['other']);
});
