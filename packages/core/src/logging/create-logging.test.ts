import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import winston from 'winston';
import { memoryLogging } from '../../test/support/memory-logging.js';

/** A third-party transport that receives the lines as objects. */
function recordingTransport() {
  const stream = new PassThrough({ objectMode: true });
  const seen = () => Array.from({ length: stream.readableLength }, () => withoutSymbols(stream.read() as object));
  return { transport: new winston.transports.Stream({ stream }), seen };
}

const withoutSymbols = (info: object): Record<string, unknown> => Object.fromEntries(Object.entries(info));

describe('levels', () => {
  it('drops lines below the level of their logger', () => {
    const { logger, stdout } = memoryLogging({ levels: { 'nodepool.zk': 'warn' } });

    logger.debug('no');
    logger.child({}, 'zk').child({}, 'ZooKeeper').info('no');
    logger.child({}, 'zkx').info('yes');

    expect(stdout()).toBe('INFO nodepool.zkx: yes\n');
  });
});

describe('additional transports', () => {
  it('receive plain fields without secrets', () => {
    const { seen, transport } = recordingTransport();
    const { logger } = memoryLogging({ transports: [transport] });

    logger.child({ nodeId: '1' }, 'X').error('Failed', { error: new Error('why'), auth: { token: 't' }, none: null });

    expect(seen()[0]).toEqual({
      level: 'error',
      message: 'Failed',
      logger: 'nodepool.X',
      nodeId: '1',
      error: { message: 'why' },
      auth: { token: '[redacted]' },
    });
  });

  it('receive every line', () => {
    const { seen, transport } = recordingTransport();
    const { logger } = memoryLogging({ transports: [transport] });

    logger.info('hello');

    expect(seen()).toEqual([expect.objectContaining({ level: 'info', message: 'hello' })]);
  });
});
