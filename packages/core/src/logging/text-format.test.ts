import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { memoryLogging, TIME } from '../../test/support/memory-logging.js';
import { createLogging } from './create-logging.js';

describe('a line of text', () => {
  it('has time, level and logger, annotations, message and the other fields', () => {
    const { logger, stdout } = memoryLogging();

    logger
      .child({ eventId: 'ev', requestId: '100-0000000001', provider: 'p' }, 'PoolWorker.p-main')
      .warn('Node failed', {
        nodeId: '0000000007',
        attempt: 2,
        reason: 'no answer',
      });

    expect(stdout()).toBe(
      'WARNING nodepool.PoolWorker.p-main: [e: ev] [node_request: 100-0000000001] [node: 0000000007] Node failed provider=p attempt=2 reason="no answer"\n',
    );
  });

  it('begins with the time in the default format of Python', () => {
    const stdout = new PassThrough();
    const { logger } = createLogging({ streams: { stdout, stderr: stdout } });

    logger.info('x');

    expect(String(stdout.read())).toMatch(TIME);
  });

  it('repeats the prefix on continuation lines', () => {
    const { logger, stdout } = memoryLogging();

    logger.child({ nodeId: '1' }).info('one\ntwo');

    expect(stdout()).toBe('INFO nodepool: [node: 1] one\nINFO nodepool:   two\n');
  });

  it('escapes control characters of external text, which could control a terminal', () => {
    const { logger, stdout } = memoryLogging();

    logger
      .child({ provider: 'a\u009b2J' })
      .warn('Said: \u001b[2J\u009bm', { reason: '\u009b2J', error: new Error('\u009bm') });

    expect(stdout()).toBe(
      'WARNING nodepool: Said: \\x1b[2J\\x9bm provider="a\\x9b2J" reason="\\x9b2J" error="\\x9bm"\n',
    );
  });

  it('quotes ids that could forge an annotation or a line', () => {
    const { logger, stdout } = memoryLogging();

    logger.info('Seen', { eventId: 'x] [node: 7', requestId: '1]', nodeId: '2\nERROR nodepool: forged' });

    expect(stdout()).toBe(
      'INFO nodepool: [e: "x] [node: 7"] [node_request: "1]"] [node: "2\\nERROR nodepool: forged"] Seen\n',
    );
  });
});
