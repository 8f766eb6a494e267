import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePorts, run } from '@nodepool/test-servers';
import { FrameProxy } from '../frame-proxy.js';
import type { LaunchOptions } from '../harness.js';
import type { OpenStackHarness } from '../openstack/openstack-harness.js';
import type { Incident } from './incident.js';

const WAIT_MS = 60_000;
/** Size of the disk of the log, in KiB. */
const DISK_KIB = 512;

const LAUNCHER_GONE = /LauncherGone|left the registry/;

/** Services, ZooKeeper, configuration, disk and clients. */
export const SERVICE_INCIDENTS: readonly Incident[] = [
  {
    name: 'a launcher is killed',
    named: LAUNCHER_GONE,
    cause: ({ launchers }) => launchers[1].kill(),
    repair: ({ harness, launchers: [, killed], setup }) =>
      harness.launch(setup, { name: 'third', webPort: killed.webPort }),
  },
  {
    name: 'a launcher is stopped (SIGSTOP)',
    named: LAUNCHER_GONE,
    cause: ({ launchers }) => launchers[1].pause(),
    repair: ({ launchers }) => launchers[1].resume(),
  },
  zooKeeperLost(),
  fullLogDisk(),
  {
    name: 'a wrong configuration is reloaded',
    named: /ConfigurationNotLoaded|former configuration/,
    cause: ({ launchers }) => launchers[1].rewriteConfig('labels: ['),
    repair: ({ harness, launchers, setup }) => harness.reconfigure(launchers[1], setup),
  },
  {
    name: 'a request has lost its client',
    named: /RequestsForgotten|fulfilled/,
    labels: [],
    cause: async (stage) => {
      stage.request = await stage.zuul.submit(['small']);
      await stage.zuul.wait(stage.request, WAIT_MS);
    },
    repair: async ({ zuul, request }) => zuul.cancel(request ?? ''),
  },
];

function zooKeeperLost(): Incident {
  let proxy: FrameProxy | undefined;
  let port = 0;
  const connect = async (harness: OpenStackHarness): Promise<void> => {
    proxy = await FrameProxy.start(harness.zookeeper.plainPort, port);
  };
  return {
    name: 'a launcher has lost ZooKeeper',
    named: /NotConnected|does not reach ZooKeeper/,
    prepare: async (harness) => {
      [port = 0] = await freePorts(1);
      await connect(harness);
      return { throughPort: port };
    },
    cause: () => proxy?.stop(),
    repair: ({ harness }) => connect(harness),
    end: () => proxy?.stop(),
  };
}

function fullLogDisk(): Incident {
  let dir = '';
  return {
    name: 'the disk of the log is full',
    named: /LogNotWritten|lines cannot be written/,
    prepare: async (harness): Promise<LaunchOptions> => {
      dir = join(harness.dir, 'log-disk');
      await mkdir(dir, { recursive: true });
      await run('mount', ['-t', 'tmpfs', '-o', `size=${DISK_KIB}k`, 'tmpfs', dir]);
      const file = { class: 'logging.FileHandler', filename: join(dir, 'launcher.log') };
      const config = { version: 1, handlers: { file }, root: { level: 'DEBUG', handlers: ['file'] } };
      const configFile = join(harness.dir, 'logging.yaml');
      await writeFile(configFile, JSON.stringify(config));
      return { args: ['-l', configFile] };
    },
    cause: async () => {
      await writeFile(join(dir, 'filler'), Buffer.alloc(DISK_KIB * 1_024)).catch(() => undefined); // as much as fits
    },
    repair: () => rm(join(dir, 'filler')),
    end: () => run('umount', [dir]),
  };
}
