import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { silentLogger } from '@nodepool/core';
import { connect, ImageTree, imageBuildRequestPath, systemClock, type BuildRecord } from '@nodepool/zk-protocol';
import { startEmbeddedServer } from '@nodepool/zk-protocol/embedded';
import type { Finding } from './finding.js';

const BUILDER = fileURLToPath(new URL('../../../packages/builder/bin/nodepool-builder.js', import.meta.url));
const IMAGES = 1_000;
const ROUNDS = 10;
const LOOK_MS = 2;
const PATIENCE_MS = 120_000;

/** Takes the arguments of the build tool, makes one small file, and records when it started and ended. */
const TOOL = `#!/bin/sh
began=$(date +%s%3N)
while [ $# -gt 0 ]; do [ "$1" = -o ] && base=$2; shift; done
echo image > "$base.raw"
echo "$began $(date +%s%3N)" > "$TIMES"
`;

/** Time from a request to the start of the build, and the builder's overhead over its tool, with 1,000 images. */
export async function measureImageBuilds(): Promise<Finding[]> {
  const dir = await mkdtemp(join(tmpdir(), 'nodepool-bench-images-'));
  const server = await startEmbeddedServer({ dataDir: join(dir, 'zk') });
  const zk = await connect({ servers: server.connectString });
  const tree = new ImageTree({ zk, clock: systemClock, logger: silentLogger, changed: () => undefined });
  const config = await writeConfig(dir, server.connectString);
  const env = { ...process.env, TMPDIR: dir };
  const builder = spawn(process.execPath, [BUILDER, '-f', '-c', config, '--no-webapp'], { stdio: 'ignore', env });
  try {
    await tree.start();
    const builds = () => [...(tree.images.get('wanted')?.builds.values() ?? [])];
    await until(() => builds().some(({ state }) => state === 'ready'));
    const rounds: Round[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const known = new Set(builds().map(({ id }) => id));
      const isNew = ({ id }: BuildRecord) => !known.has(id);
      const requestedMs = Date.now();
      await zk.create(imageBuildRequestPath('wanted'));
      await until(() => builds().some(isNew));
      const begunMs = Date.now();
      await until(() => builds().some((build) => isNew(build) && build.state === 'ready'));
      const readyMs = Date.now();
      const [began = 0, ended = 0] = (await readFile(join(dir, 'times'), 'utf8')).split(' ').map(Number);
      rounds.push({ startMs: begunMs - requestedMs, overheadMs: readyMs - requestedMs - (ended - began) });
      await until(async () => (await zk.exists(imageBuildRequestPath('wanted'))) === undefined);
    }
    return findings(rounds);
  } finally {
    tree.stop();
    const exited = once(builder, 'exit');
    if (builder.exitCode === null) {
      builder.kill('SIGTERM');
      await exited;
    }
    await zk.close();
    await server.close();
    await rm(dir, { recursive: true, force: true });
  }
}

interface Round {
  readonly startMs: number;
  /** From the request to the ready build, without the time of the tool. */
  readonly overheadMs: number;
}

function* figures(name: string, wanted: string, values: readonly number[]): Generator<Finding> {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted[Math.floor(sorted.length / 2)] ?? 0;
  yield { what: `${name}, ${IMAGES} images, median of ${values.length}`, value: middle, unit: 'ms', wanted };
  yield { what: `${name}, ${IMAGES} images, longest`, value: sorted.at(-1) ?? 0, unit: 'ms', wanted };
}

function findings(rounds: readonly Round[]): Finding[] {
  const starts = rounds.map(({ startMs }) => startMs);
  const overheads = rounds.map(({ overheadMs }) => overheadMs);
  return [
    ...figures('request of a build to its start', '< 1,000', starts),
    ...figures('build, beyond the time of its tool', '< 2,000', overheads),
  ];
}

async function writeConfig(dir: string, connectString: string): Promise<string> {
  const [host = '', port = ''] = connectString.split(':');
  const tool = join(dir, 'tool.sh');
  await mkdir(join(dir, 'images'));
  await writeFile(tool, TOOL);
  await chmod(tool, 0o755);
  const image = (name: string) => ({
    ...{ name, 'dib-cmd': tool, elements: ['vm'], formats: ['raw'], 'env-vars': { TIMES: join(dir, 'times') } },
    ...(name === 'wanted' ? {} : { builders: ['elsewhere'] }),
  });
  const names = ['wanted', ...Array.from({ length: IMAGES - 1 }, (_, number) => `image-${number}`)];
  const file = join(dir, 'nodepool.yaml');
  const config = {
    'zookeeper-servers': [{ host, port: Number(port) }],
    'images-dir': join(dir, 'images'),
    'build-log-dir': join(dir, 'logs'),
    diskimages: names.map(image),
    ...{ labels: [], providers: [] },
  };
  await writeFile(file, JSON.stringify(config));
  return file;
}

/** @throws when it is not so after two minutes */
async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const endMs = Date.now() + PATIENCE_MS;
  while (!(await condition())) {
    if (Date.now() > endMs) throw new Error('the builder does not do what is waited for');
    await pause(LOOK_MS);
  }
}
