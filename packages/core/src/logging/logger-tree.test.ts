import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { tempDir } from '../../test/support/temp-dir.js';
import { memoryLogging } from '../../test/support/memory-logging.js';

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

describe('loggers of different names', () => {
  const MANY = (loggers: string) => `
version: 1
formatters: {f: {format: '%(levelno)s %(name)s %(message)s'}}
handlers:
  out: {class: logging.StreamHandler, stream: ext://sys.stdout, formatter: f, level: 25}
  none: {class: logging.NullHandler}
loggers: ${loggers}
root: {level: NOTSET, handlers: [out]}
`;

  it('share a handler without listener warnings', async () => {
    const names = Array.from({ length: 40 }, (_, i) => `n${i}`);
    const rules = names.map((name) => `nodepool.${name}: {level: DEBUG}`).join(', ');
    const configFile = join(tempDir({ 'logging.yaml': MANY(`{${rules}}`) }), 'logging.yaml');
    const warnings: Error[] = [];
    const listener = (warning: Error) => void warnings.push(warning);
    process.on('warning', listener);
    onTestFinished(() => void process.off('warning', listener));
    const { logger, stdout } = memoryLogging({ configFile });

    for (const name of names) logger.child({}, name).warn('hello');
    await nextTurn();

    expect(stdout().match(/30 nodepool\.n\d+ hello\n/g)).toHaveLength(40);
    expect(warnings).toEqual([]);
  });

  it('apply the levels of their handlers, including numeric levels between two names', () => {
    const configFile = join(tempDir({ 'logging.yaml': MANY('{nodepool: {level: 15}}') }), 'logging.yaml');
    const { logger, stdout } = memoryLogging({ configFile });

    logger.info('below the handler');
    logger.warn('above');

    expect(stdout()).toBe('30 nodepool above\n');
  });

  it('write nothing if no handler accepts their lines, and nothing after close', () => {
    const rules = '{nodepool.quiet: {handlers: [none], propagate: false}, nodepool.off: {level: CRITICAL}}';
    const configFile = join(tempDir({ 'logging.yaml': MANY(rules) }), 'logging.yaml');
    const complaints: string[] = [];
    const { stdout, logger, close } = memoryLogging({ configFile });
    const write = process.stderr.write.bind(process.stderr);
    process.stderr.write = (text: string | Uint8Array) => complaints.push(String(text)) > 0;
    onTestFinished(() => void (process.stderr.write = write));

    logger.child({}, 'quiet').error('no');
    logger.child({}, 'off').error('no');
    close();
    logger.error('late');

    expect(stdout()).toBe('');
    expect(complaints).toEqual([]);
  });
});
