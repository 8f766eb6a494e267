import { describe, expect, it } from 'vitest';
import { memoryLogging } from '../../test/support/memory-logging.js';

describe('a logger with a name', () => {
  it('keeps fields whose names are reserved by winston', () => {
    const { logger, stdout } = memoryLogging();

    logger.child({ level: 7, timestamp: 't' }).info('Odd', { message: 'm', exception: true, logger: 'l' });

    expect(stdout()).toBe('INFO nodepool: Odd level_=7 timestamp_=t message_=m exception_=true logger_=l\n');
  });

  it('passes its fields to its children and prefixes their names with its own', () => {
    const { logger, stdout } = memoryLogging();

    logger.child({ provider: 'sky' }, 'PoolWorker').child({ attempt: 2 }, 'launch').warn('Retrying');
    logger.child({}, 'zk').child({}, 'nodepool.driver.gce').warn('Slow');

    expect(stdout()).toBe(
      'WARNING nodepool.PoolWorker.launch: Retrying provider=sky attempt=2\nWARNING nodepool.driver.gce: Slow\n',
    );
  });

  it('lets a line override the fields of its logger', () => {
    const { logger, stdout } = memoryLogging();

    logger.child({ attempt: 1 }).warn('Retrying', { attempt: 2 });

    expect(stdout()).toBe('WARNING nodepool: Retrying attempt=2\n');
  });
});
