import { describe, expect, it } from 'vitest';
import { memoryLogging } from '../../test/support/memory-logging.js';

describe('the fields of a line', () => {
  it('show an error with its causes, and its stack at debug level only', () => {
    const error = new Error('outer', { cause: Object.assign(new Error('inner'), { code: 'ECONNRESET' }) });
    const normal = memoryLogging();
    const debug = memoryLogging({ level: 'debug' });

    normal.logger.error('Failed', { error });
    debug.logger.error('Failed', { error });

    expect(normal.stdout()).toBe('ERROR nodepool: Failed error="outer: caused by inner (ECONNRESET)"\n');
    expect(debug.stdout()).toContain('ERROR nodepool:   Error: outer\n');
  });

  it('show a cause that the message quotes once, followed by its own causes', () => {
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

  it('hide secrets at any depth and cannot be forged by values', () => {
    const { logger, stdout } = memoryLogging();

    logger.info('Login', { password: 'p', auth: { api_token: 't', user: 'u' }, note: 'a\nERROR b=c' });

    expect(stdout()).toBe(
      'INFO nodepool: Login password=[redacted] auth={"api_token":"[redacted]","user":"u"} note="a\\nERROR b=c"\n',
    );
  });

  it('accept values that JSON cannot represent', () => {
    const { logger, stdout } = memoryLogging();
    const circle: Record<string, unknown> = {};
    circle['self'] = circle;

    logger.info('Odd', { circle, big: 1n, none: undefined });

    expect(stdout()).toMatch(/^INFO nodepool: Odd circle="\[not shown: .*" big="?1"?\n$/s);
  });

  it('omit fields without a value, and stop at a cycle of causes', () => {
    const { logger, stdout } = memoryLogging();
    const error = new Error('first');
    error.cause = new Error('second', { cause: error });

    logger.info('Odd', { none: null, missing: undefined, empty: '', error });

    expect(stdout()).toBe('INFO nodepool: Odd empty="" error="first: caused by second"\n');
  });
});
