import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LogFields } from '@nodepool/core';
import { createLogging } from '@nodepool/core/service';
import winston from 'winston';
import type { Finding } from './finding.js';

const LINES = 200_000;
/** Lines that a busy launcher writes in one turn of its event loop. */
const LINES_A_TURN = 20;
const FIELDS = { nodeId: '0000000007', provider: 'cloud-east', attempt: 2 };

interface Subject {
  readonly what: string;
  log(message: string, fields: LogFields): void;
  /** Resolves when everything is written. */
  close(): Promise<void> | void;
}

/** CPU of one line: with plain winston, with the launcher's logger, and below its level. */
export async function measureLogging(): Promise<Finding[]> {
  const dir = await mkdtemp(join(tmpdir(), 'nodepool-bench-log-'));
  const findings: Finding[] = [];
  try {
    for (const subject of subjects(dir)) {
      const before = process.cpuUsage();
      await write(subject);
      await subject.close();
      const { user, system } = process.cpuUsage(before);
      findings.push({ what: `log line, ${subject.what}`, value: (user + system) / LINES, unit: 'µs CPU' });
    }
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
  return findings;
}

function* subjects(dir: string): Generator<Subject> {
  const { format, transports } = winston;
  const file = new transports.File({ filename: join(dir, 'bare.log') });
  const bare = winston.createLogger({ format: format.combine(format.timestamp(), format.json()), transports: [file] });
  yield {
    what: "winston's own JSON and file transport",
    log: (message, fields) => bare.info(message, fields),
    close: async () => {
      while (bare.readableLength + bare.writableLength + file.writableLength > 0) await nextTurn();
      bare.close();
    },
  };
  for (const kind of ['text', 'json'] as const) {
    const { logger, close } = createLogging({ destination: { file: join(dir, `${kind}.log`) }, format: kind });
    const child = logger.child({ eventId: 'event', requestId: '100-0000000001' }, 'PoolWorker.cloud-east-main');
    yield { what: `${kind} to a file`, log: (message, fields) => child.info(message, fields), close };
    if (kind === 'text')
      yield { what: 'below the level', log: (message, fields) => child.debug(message, fields), close: () => {} };
  }
}

async function write(subject: Subject): Promise<void> {
  for (let line = 0; line < LINES; line += LINES_A_TURN) {
    for (let i = 0; i < LINES_A_TURN; i++) subject.log('Node is ready', FIELDS);
    await nextTurn();
  }
}
