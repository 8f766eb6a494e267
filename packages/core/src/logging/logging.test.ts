import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import winston from 'winston';
import { tempDir } from '../../test/support/temp-dir.js';
import { createLogging, type LoggingOptions } from './create-logging.js';

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/** Messages of a file in the default format. */
const messages = (file: string) =>
  readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => line.replace(/^.* INFO nodepool: /, ''));

const TIME = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} /gm;

/** A logger whose console text can be read. */
function memoryLogging(options: LoggingOptions = {}) {
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const logging = createLogging({ ...options, streams: { stdout, stderr } });
  onTestFinished(() => logging.close());
  const textOf = (stream: PassThrough) => String(stream.read() ?? '').replace(TIME, '');
  return { ...logging, stdout: () => textOf(stdout), stderr: () => textOf(stderr) };
}

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

  it('shows an error with its causes, and its stack at debug level only', () => {
    const error = new Error('outer', { cause: Object.assign(new Error('inner'), { code: 'ECONNRESET' }) });
    const normal = memoryLogging();
    const debug = memoryLogging({ level: 'debug' });

    normal.logger.error('Failed', { error });
    debug.logger.error('Failed', { error });

    expect(normal.stdout()).toBe('ERROR nodepool: Failed error="outer: caused by inner (ECONNRESET)"\n');
    expect(debug.stdout()).toContain('ERROR nodepool:   Error: outer\n');
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

describe('levels', () => {
  it('drops what is below, by logger name', () => {
    const { logger, stdout } = memoryLogging({ levels: { 'nodepool.zk': 'warn' } });

    logger.debug('no');
    logger.child({}, 'zk').child({}, 'ZooKeeper').info('no');
    logger.child({}, 'zkx').info('yes');

    expect(stdout()).toBe('INFO nodepool.zkx: yes\n');
  });
});

describe('a log file', () => {
  it('is opened anew when another program has moved it', () => {
    const file = join(tempDir(), 'log', 'nodepool.log');
    let reopened = 0;
    const { logger, close } = createLogging({ destination: { file }, onReopen: () => reopened++ });

    logger.info('one');
    close();
    const second = createLogging({ destination: { file }, onReopen: () => reopened++ });
    renameSync(file, `${file}.1`);
    second.logger.info('two');
    second.close();

    expect(readFileSync(`${file}.1`, 'utf8')).toContain('one');
    expect(readFileSync(file, 'utf8')).toMatch(/two\n$/);
    expect(reopened).toBe(1);
  });

  it('that cannot be written is a clear error', () => {
    const dir = tempDir({ file: '' });

    expect(() => createLogging({ destination: { file: join(dir, 'file', 'x.log') } })).toThrow(
      /log file .* cannot be written/,
    );
  });
});

describe('a log file on a full disk', () => {
  it('is written again when there is room, with what was logged meanwhile', async () => {
    const dir = tempDir();
    const file = join(dir, 'nodepool.log');
    symlinkSync('/dev/full', file); // each write ends with ENOSPC
    const errors: unknown[] = [];
    const { logger, close } = createLogging({ destination: { file }, onError: (error) => errors.push(error) });

    logger.info('one');
    await nextTurn();
    logger.info('two');
    await nextTurn();
    rmSync(file);
    logger.info('three');
    await nextTurn();

    expect(messages(file)).toEqual(['one', 'two', 'three']);
    expect(errors).toEqual([expect.objectContaining({ code: 'ENOSPC' })]);
    close();
  });

  it('does not fill the memory: the oldest lines are dropped, whole', async () => {
    const dir = tempDir();
    const file = join(dir, 'nodepool.log');
    symlinkSync('/dev/full', file);
    const { logger, close } = createLogging({ destination: { file }, onError: () => {} });

    for (let turn = 0; turn < 30; turn++) {
      for (let line = 0; line < 100; line++) logger.info(`${turn * 100 + line} ${'x'.repeat(1_000)}`);
      await nextTurn();
    }
    rmSync(file);
    close();

    const kept = messages(file).map((message) => Number(message.split(' ')[0]));
    expect(kept.at(-1)).toBe(2_999);
    expect(kept).toEqual(Array.from({ length: kept.length }, (_, i) => 3_000 - kept.length + i));
    expect(statSync(file).size).toBeLessThan(1.2 * 2 ** 20);
  });
});

/** A transport as somebody may bring along: it gets the lines as objects. */
function recordingTransport() {
  const stream = new PassThrough({ objectMode: true });
  const seen = () => Array.from({ length: stream.readableLength }, () => withoutSymbols(stream.read() as object));
  return { transport: new winston.transports.Stream({ stream }), seen };
}

const withoutSymbols = (info: object): Record<string, unknown> => Object.fromEntries(Object.entries(info));

describe('further transports', () => {
  it('see plain fields without secrets', () => {
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

  it('get every line', () => {
    const { seen, transport } = recordingTransport();
    const { logger } = memoryLogging({ transports: [transport] });

    logger.info('hello');

    expect(seen()).toEqual([expect.objectContaining({ level: 'info', message: 'hello' })]);
  });
});

const DICT = (dir: string) => `
version: 1
disable_existing_loggers: false
formatters:
  simple: {format: '%(levelname)-8s|%(name)s|%(message)s'}
  dated: {format: '%(asctime)s %(message)s', datefmt: '%Y'}
handlers:
  console: {class: logging.StreamHandler, stream: ext://sys.stdout, formatter: simple, level: WARNING}
  file: {class: logging.handlers.WatchedFileHandler, filename: ${dir}/a.log, formatter: simple}
  sized: {class: logging.handlers.RotatingFileHandler, filename: ${dir}/b.log, maxBytes: 10, backupCount: 2, formatter: dated}
  timed: {class: logging.handlers.TimedRotatingFileHandler, filename: ${dir}/c.log, when: midnight, backupCount: 3}
loggers:
  nodepool: {level: DEBUG, handlers: [file, timed]}
  nodepool.zk: {level: ERROR, handlers: [sized], propagate: false}
root: {level: WARNING, handlers: [console]}
`;

describe('loggers of many names', () => {
  const MANY = (loggers: string) => `
version: 1
formatters: {f: {format: '%(levelno)s %(name)s %(message)s'}}
handlers:
  out: {class: logging.StreamHandler, stream: ext://sys.stdout, formatter: f, level: 25}
  none: {class: logging.NullHandler}
loggers: ${loggers}
root: {level: NOTSET, handlers: [out]}
`;

  it('share a handler without complaints', async () => {
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

  it('obey the levels of their handlers, also those between two names', () => {
    const configFile = join(tempDir({ 'logging.yaml': MANY('{nodepool: {level: 15}}') }), 'logging.yaml');
    const { logger, stdout } = memoryLogging({ configFile });

    logger.info('below the handler');
    logger.warn('above');

    expect(stdout()).toBe('30 nodepool above\n');
  });

  it('write nothing when no handler takes their lines, and nothing after the end', () => {
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

describe('a date format', () => {
  it.each([
    ['%Y-%m-%dT%H:%M:%S%z', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4} x\n$/],
    ['%d/%b/%y %I:%M %p', /^\d\d\/[A-Z][a-z]{2}\/\d\d \d\d:\d\d [AP]M x\n$/],
    ['at %H hours, 100%%', /^at \d\d hours, 100% x\n$/],
  ])('%s is understood', (datefmt, expected) => {
    const text = `version: 1
formatters: {f: {format: '%(asctime)s %(message)s', datefmt: '${datefmt}'}}
handlers: {out: {class: logging.StreamHandler, stream: ext://sys.stdout, formatter: f}}
root: {level: INFO, handlers: [out]}
`;
    const stdout = new PassThrough();
    const configFile = join(tempDir({ 'logging.yaml': text }), 'logging.yaml');
    const { logger } = createLogging({ configFile, streams: { stdout, stderr: stdout } });

    logger.info('x');

    expect(String(stdout.read())).toMatch(expected);
  });
});

describe('a logging configuration', () => {
  it('in dict style sets levels, handlers, formats and propagation', () => {
    const dir = tempDir();
    const configFile = join(tempDir({ 'logging.yaml': DICT(dir) }), 'logging.yaml');
    const { logger, close, stdout } = memoryLogging({ configFile });

    logger.debug('quiet');
    logger.warn('loud');
    logger.child({}, 'zk').error('apart');
    close();

    expect(stdout()).toBe('WARNING |nodepool|loud\n');
    expect(readFileSync(join(dir, 'a.log'), 'utf8')).toBe('DEBUG   |nodepool|quiet\nWARNING |nodepool|loud\n');
    expect(readFileSync(join(dir, 'b.log'), 'utf8')).toBe(`${new Date().getFullYear()} apart\n`);
    expect(readFileSync(join(dir, 'c.log'), 'utf8')).toBe('quiet\nloud\n');
  });

  it('puts a file aside when it has reached its size, and keeps so many', () => {
    const dir = tempDir({ 'b.log': 'long enough to be put aside\n' });
    const configFile = join(tempDir({ 'logging.yml': DICT(dir) }), 'logging.yml');
    for (let round = 0; round < 4; round++) {
      const { logger, close } = memoryLogging({ configFile });
      logger.child({}, 'zk').error(`round ${round}`);
      close();
    }

    const names = readdirSync(dir).filter((name) => name.startsWith('b.log'));
    expect(names.sort()).toEqual(['b.log', 'b.log.1', 'b.log.2']);
    expect(readFileSync(join(dir, 'b.log'), 'utf8')).toContain('round 3');
  });

  it('in ini style means the same', () => {
    const dir = tempDir();
    const ini = `[loggers]
keys=root,np
[handlers]
keys=console, file
[formatters]
keys=simple
[logger_root]
level=WARNING
handlers=console
[logger_np]
level=DEBUG
handlers=file
qualname=nodepool
propagate=0
[handler_console]
class=StreamHandler
args=(sys.stdout,)
[handler_file]
class=handlers.RotatingFileHandler
formatter=simple
args=('${dir}/np.log', 'a', 1000000, 3)
[formatter_simple]
format=%(levelname)s %(message)s
`;
    const configFile = join(tempDir({ 'logging.conf': ini }), 'logging.conf');
    const { logger, close, stdout } = memoryLogging({ configFile });

    logger.debug('hello');
    close();

    expect(readFileSync(join(dir, 'np.log'), 'utf8')).toBe('DEBUG hello\n');
    expect(stdout()).toBe('');
  });

  it.each([
    ['missing.yaml', undefined, /missing\.yaml cannot be read: ENOENT/],
    ['a.yaml', 'handlers: [', /a\.yaml:1:\d+: YAML parsing failed/],
    ['a.json', '{"version": 2}', /version: expected 1/],
    [
      'a.yaml',
      'version: 1\nhandlers: {h: {class: logging.handlers.SMTPHandler}}',
      /handlers\.h: class "logging\.handlers\.SMTPHandler" is not supported/,
    ],
    [
      'a.yaml',
      'version: 1\nroot: {handlers: [conosle]}\nhandlers: {console: {class: logging.StreamHandler}}',
      /did you mean "console"/,
    ],
    [
      'a.yaml',
      'version: 1\nformatters: {f: {format: "%(mesage)s"}}',
      /formatters\.f: log format: unknown name %\(mesage\)s/,
    ],
    ['a.yaml', 'version: 1\nroot: {level: LOUD}', /root: level "LOUD" is not known/],
    ['a.conf', '[loggers]\nkeys=root\n', /the section \[formatters\] is missing/],
  ])('%s with a fault says which', (name, text, expected) => {
    const configFile = join(tempDir(text === undefined ? {} : { [name]: text }), name);

    expect(() => createLogging({ configFile })).toThrow(expected);
    expect(existsSync(configFile)).toBe(text !== undefined);
  });
});

describe('lines of one turn', () => {
  it('follow each other in the file after what others appended', () => {
    const file = join(tempDir(), 'nodepool.log');
    const { logger, close } = createLogging({ destination: { file } });
    appendFileSync(file, 'other\n');

    for (let number = 0; number < 100; number++) logger.info('line', { number });
    close();

    const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
    expect(lines[0]).toBe('other');
    expect(lines.slice(1).map((line) => line.replace(/.*number=/, ''))).toEqual(
      Array.from({ length: 100 }, (_, i) => String(i)),
    );
  });
});

describe('a file rotated by time', () => {
  it('is put aside at midnight under the day it was written', () => {
    const dir = tempDir();
    const configFile = join(tempDir({ 'logging.yaml': DICT(dir) }), 'logging.yaml');
    let nowMs = new Date(2026, 10, 21, 23, 59).getTime();
    const clock = { now: () => nowMs, setTimer: () => () => {} };
    writeFileSync(join(dir, 'c.log'), 'before\n');
    utimesSync(join(dir, 'c.log'), nowMs / 1000, nowMs / 1000);
    const first = memoryLogging({ configFile, clock });
    first.logger.warn('evening');
    first.close();
    utimesSync(join(dir, 'c.log'), nowMs / 1000, nowMs / 1000);

    const second = memoryLogging({ configFile, clock });
    nowMs += 120_000;
    second.logger.warn('night');
    second.close();

    expect(readFileSync(join(dir, 'c.log.2026-11-21'), 'utf8')).toBe('before\nevening\n');
    expect(readFileSync(join(dir, 'c.log'), 'utf8')).toBe('night\n');
  });
});
