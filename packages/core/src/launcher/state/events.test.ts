import { expect, it } from 'vitest';
import { LauncherEvents } from './events.js';

const POOL = { launcherId: 'nl01-main', provider: 'cloud', pool: { name: 'main' } };

it('calls the listeners of an event in the order in which they came', () => {
  const events = new LauncherEvents();
  const heard: string[] = [];
  events.on('poolOpened', ({ pool }) => heard.push(`first: ${pool.provider}`));
  events.on('poolOpened', ({ pool }) => heard.push(`second: ${pool.provider}`));
  events.on('poolClosed', () => heard.push('closed'));

  events.emit('poolOpened', { pool: POOL });

  expect(heard).toEqual(['first: cloud', 'second: cloud']);
});

it('calls a listener no longer once it has ended', () => {
  const events = new LauncherEvents();
  const heard: string[] = [];
  const end = events.on('poolRested', () => heard.push('ended'));
  events.on('poolRested', () => heard.push('other'));

  end();
  events.emit('poolRested', { pool: POOL });

  expect(heard).toEqual(['other']);
});
