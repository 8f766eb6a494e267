import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { memoryLogging } from '../../test/support/memory-logging.js';
import { tempDir } from '../../test/support/temp-dir.js';
import { dictFromIni } from './ini-config.js';

const SECTIONS = `[loggers]
keys=root
[handlers]
keys=out
[formatters]
keys=
[logger_root]
level=NOTSET
handlers=out
`;

describe('a logging configuration in ini style', () => {
  it('means the same as in dict style', () => {
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

  it('maps positional arguments to parameters of the handler class', () => {
    const handler = `[handler_out]\nclass=handlers.TimedRotatingFileHandler\nargs=('/var/log/it\\'s', "midnight", 1)\n`;

    expect(dictFromIni(SECTIONS + handler, 'a.conf')).toMatchObject({
      handlers: { out: { filename: "/var/log/it's", when: 'midnight', interval: 1 } },
      root: { level: 'NOTSET', handlers: ['out'], propagate: true },
      loggers: {},
    });
  });

  it('reports the name of a missing section', () => {
    expect(() => dictFromIni(SECTIONS, 'a.conf')).toThrow(
      'logging configuration a.conf: the section [handler_out] is missing',
    );
  });
});
