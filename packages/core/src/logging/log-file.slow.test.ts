// The three ways to rotate a log that docs/operating.md describes, with the real logrotate.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ensureDebianPackages, run } from '@nodepool/test-servers';
import { beforeAll, describe, expect, it } from 'vitest';
import { tempDir } from '../../test/support/temp-dir.js';
import { createLogging, type Logging } from './create-logging.js';

const RULES = fileURLToPath(new URL('../../../../contrib/logrotate/nodepool', import.meta.url));
const ROTATIONS = 3;
const LINES = 400;

beforeAll(() => ensureDebianPackages(['logrotate']), 300_000);

/** Rotates at once. @param text - rules of logrotate */
async function rotate(dir: string, text: string): Promise<void> {
  const [rules, state] = [join(dir, 'rules'), join(dir, 'state')];
  writeFileSync(rules, text, { mode: 0o644 });
  await run('/usr/sbin/logrotate', ['--force', '--state', state, rules]);
}

/** Numbers of all lines in a log and its rotated files. */
function numbers(logs: string): number[] {
  return readdirSync(logs)
    .map((name) => readFileSync(join(logs, name)))
    .flatMap((data) => [...(data[0] === 0x1f ? gunzipSync(data) : data).toString().matchAll(/line (\d+)$/gm)])
    .map(([, number]) => Number(number))
    .sort((a, b) => a - b);
}

/**
 * Writes lines while they are rotated, and after each rotation until the log exists again: a file that is not there is not
 * rotated (`missingok`).
 * @returns how many lines
 */
async function writeWhile({ logger, close }: Logging, file: string, rotateOnce: () => Promise<void>): Promise<number> {
  let count = 0;
  logger.error(`line ${count++}`); // written at once: the rules do not rotate an empty file
  for (let round = 0; round < ROTATIONS; round += 1) {
    const rotating = rotateOnce();
    for (let line = 0; line < LINES; line += 1) {
      logger.info(`line ${count++}`);
      if (line % 10 === 0) await pause(2);
    }
    await rotating;
    while (!existsSync(file)) {
      logger.info(`line ${count++}`);
      await pause(10);
    }
  }
  close();
  return count;
}

describe('a log file that is rotated', () => {
  const prepare = (): { dir: string; logs: string; file: string } => {
    const dir = tempDir();
    const logs = join(dir, 'logs');
    mkdirSync(logs);
    return { dir, logs, file: join(logs, 'nodepool.log') };
  };

  it('by logrotate with the rules of contrib loses no line', async () => {
    const { dir, logs, file } = prepare();
    const { uid, gid } = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
    const [user, group] = await Promise.all([run('id', ['-nu', String(uid)]), run('getent', ['group', String(gid)])]);
    const who = `su ${user.stdout.trim()} ${group.stdout.split(':')[0] ?? ''}`;
    const text = readFileSync(RULES, 'utf8').replace('/var/log/nodepool', logs).replace('su nodepool nodepool', who);

    const count = await writeWhile(createLogging({ destination: { file } }), file, () => rotate(dir, text));

    expect(numbers(logs)).toEqual(Array.from({ length: count }, (_, i) => i));
    expect(readdirSync(logs).sort()).toEqual([
      'nodepool.log',
      ...['1', '2.gz', '3.gz'].map((end) => `nodepool.log.${end}`),
    ]);
  });

  it('by logrotate with copytruncate continues at the beginning of the file, without a hole', async () => {
    const { dir, logs, file } = prepare();
    const text = `${file} {\n  rotate 9\n  copytruncate\n}\n`;

    const count = await writeWhile(createLogging({ destination: { file } }), file, () => rotate(dir, text));

    expect(readdirSync(logs)).toHaveLength(ROTATIONS + 1);
    expect(readFileSync(file).includes(0)).toBe(false);
    expect(numbers(logs).at(-1)).toBe(count - 1);
  });

  it('by the service itself, as a RotatingFileHandler says, keeps as many files and loses no line of them', async () => {
    const { dir, logs, file } = prepare();
    const configFile = join(dir, 'logging.yaml');
    const handler = { class: 'logging.handlers.RotatingFileHandler', filename: file, maxBytes: 2_000, backupCount: 9 };
    writeFileSync(
      configFile,
      JSON.stringify({ version: 1, handlers: { file: handler }, root: { level: 'INFO', handlers: ['file'] } }),
    );

    const count = await writeWhile(createLogging({ configFile }), file, () => Promise.resolve());

    expect(readdirSync(logs).length).toBeGreaterThan(2);
    expect(numbers(logs)).toEqual(Array.from({ length: count }, (_, i) => i));
  });
});
