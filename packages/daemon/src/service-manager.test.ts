import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ServiceManager } from './service-manager.js';

let directory: string;
let manager: ServiceManager;
let errors: Error[];

/** A program of that name that records its arguments. */
beforeEach(async () => {
  errors = [];
  directory = await mkdtemp(join(tmpdir(), 'nodepool-notify-'));
  await writeFile(
    join(directory, 'systemd-notify'),
    '#!/bin/sh\nprintf "%s;" "$@" >> "$NOTIFY_SOCKET"\necho >> "$NOTIFY_SOCKET"\n',
  );
  await chmod(join(directory, 'systemd-notify'), 0o755);
});
afterEach(async () => {
  await manager.close();
  await rm(directory, { recursive: true });
});

const make = (env: Record<string, string>) => {
  manager = new ServiceManager({
    env: { PATH: `${directory}:${process.env['PATH']}`, ...env },
    onError: (e) => errors.push(e),
  });
};
const socket = () => join(directory, 'told');
const told = async () => (await readFile(socket(), 'utf8')).trim().split('\n');

it('tells in order what the service does', async () => {
  make({ NOTIFY_SOCKET: socket() });

  await Promise.all([manager.ready('Serving'), manager.reloading(), manager.ready('Serving'), manager.stopping()]);

  expect(await told()).toEqual([
    'READY=1;STATUS=Serving;',
    'RELOADING=1;STATUS=Reloading the configuration;',
    'READY=1;STATUS=Serving;',
    'STOPPING=1;STATUS=Stopping;',
  ]);
});

it('pings as often as the watchdog wants', async () => {
  make({ NOTIFY_SOCKET: socket(), WATCHDOG_USEC: '40000' });

  await manager.ready('Serving');

  await expect.poll(told).toContain('WATCHDOG=1;');
});

it('does nothing without a service manager', async () => {
  make({ WATCHDOG_USEC: '' });

  await manager.ready('Serving');

  await expect(readFile(socket())).rejects.toMatchObject({ code: 'ENOENT' });
});

it('continues when the service manager cannot be told', async () => {
  make({ NOTIFY_SOCKET: join(directory, 'no', 'such', 'place') });

  await manager.ready('Serving');

  expect(errors).toHaveLength(1);
});
