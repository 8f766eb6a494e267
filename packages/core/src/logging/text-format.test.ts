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

  it('begins with the time as installations know it', () => {
    const stdout = new PassThrough();
    const { logger } = createLogging({ streams: { stdout, stderr: stdout } });

    logger.info('x');

    expect(String(stdout.read())).toMatch(TIME);
  });

  it('repeats the prefix for further lines', () => {
    const { logger, stdout } = memoryLogging();

    logger.child({ nodeId: '1' }).info('one\ntwo');

    expect(stdout()).toBe('INFO nodepool: [node: 1] one\nINFO nodepool:   two\n');
  });

  it('has no control character of a text by others, which could drive a terminal', () => {
    const { logger, stdout } = memoryLogging();

    logger
      .child({ provider: 'a\u009b2J' })
      .warn('Said: \u001b[2J\u009bm', { reason: '\u009b2J', error: new Error('\u009bm') });

    expect(stdout()).toBe(
      'WARNING nodepool: Said: \\x1b[2J\\x9bm provider="a\\x9b2J" reason="\\x9b2J" error="\\x9bm"\n',
    );
  });

  it('shows an error with its causes, and its stack at debug level only', () => {
    const error = new Error('outer', { cause: Object.assign(new Error('inner'), { code: 'ECONNRESET' }) });
    const normal = memoryLogging();
    const debug = memoryLogging({ level: 'debug' });

    normal.logger.error('Failed', { error });
    debug.logger.error('Failed', { error });

    expect(normal.stdout()).toBe('ERROR nodepool: Failed error="outer: caused by inner (ECONNRESET)"\n');
    expect(debug.stdout()).toContain('ERROR nodepool:   Error: outer\n');
  });

  it('names a cause once that the message quotes, and what is behind it', () => {
    const { logger, stdout } = memoryLogging();
    const coded = (message: string, code: string, cause?: Error) =>
      Object.assign(new Error(message, { cause }), { code });
    const full = coded('ENOSPC: no space left', 'ENOSPC', new Error('the disk'));

    logger.error('Failed', { error: coded('cannot write a: ENOSPC: no space left', 'NODEPOOL_X', full) });
    logger.error('Failed', { error: new Error('it ended: gone', { cause: coded('gone', 'ECONNRESET') }) });

    expect(stdout()).toBe(
      'ERROR nodepool: Failed error="cannot write a: ENOSPC: no space left (NODEPOOL_X): caused by the disk"\n' +
        'ERROR nodepool: Failed error="it ended: gone: caused by gone (ECONNRESET)"\n',
    );
  });

  it('redacts secrets at any depth and cannot be forged by values', () => {
    const { logger, stdout } = memoryLogging();

    logger.info('Login', { password: 'p', auth: { api_token: 't', user: 'u' }, note: 'a\nERROR b=c' });

    expect(stdout()).toBe(
      'INFO nodepool: Login password=[redacted] auth={"api_token":"[redacted]","user":"u"} note="a\\nERROR b=c"\n',
    );
  });

  it('quotes ids that could forge an annotation or a line', () => {
    const { logger, stdout } = memoryLogging();

    logger.info('Seen', { eventId: 'x] [node: 7', requestId: '1]', nodeId: '2\nERROR nodepool: forged' });

    expect(stdout()).toBe(
      'INFO nodepool: [e: "x] [node: 7"] [node_request: "1]"] [node: "2\\nERROR nodepool: forged"] Seen\n',
    );
  });

  it('keeps fields whose names mean something to winston', () => {
    const { logger, stdout } = memoryLogging();

    logger.child({ level: 7, timestamp: 't' }).info('Odd', { message: 'm', exception: true, logger: 'l' });

    expect(stdout()).toBe('INFO nodepool: Odd level_=7 timestamp_=t message_=m exception_=true logger_=l\n');
  });

  it('survives values that have no JSON', () => {
    const { logger, stdout } = memoryLogging();
    const circle: Record<string, unknown> = {};
    circle['self'] = circle;

    logger.info('Odd', { circle, big: 1n, none: undefined });

    expect(stdout()).toMatch(/^INFO nodepool: Odd circle="\[not shown: .*" big="?1"?\n$/s);
  });
});
