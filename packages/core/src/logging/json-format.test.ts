import { describe, expect, it } from 'vitest';
import { memoryLogging } from '../../test/support/memory-logging.js';

describe('a line of JSON', () => {
  it('is one object with the fields', () => {
    const { logger, stdout } = memoryLogging({ format: 'json' });

    logger.child({ requestId: 'r' }).error('Failed', { error: new Error('why'), secret_key: 'k' });

    expect(JSON.parse(stdout())).toMatchObject({
      level: 'error',
      logger: 'nodepool',
      message: 'Failed',
      node_request: 'r',
      error: { message: 'why' },
      secret_key: '[redacted]',
    });
  });
});
