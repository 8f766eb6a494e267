import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, describe, expect, it } from 'vitest';
import { createLogging, type Logging } from '../logging/create-logging.js';
import { Harness } from '../testing/harness/harness.js';
import { honestDriver, invalidConfigs, validConfig } from '../../test/contract/honest-driver.js';
import { TestCloud } from '../../test/contract/test-cloud.js';
import { tempDir } from '../../test/support/temp-dir.js';

/** Everything is shown but what the loggers keep back. */
const dict = (loggers: string) => `
version: 1
formatters: {names: {format: '%(name)s'}}
handlers: {console: {class: logging.StreamHandler, stream: ext://sys.stdout, formatter: names}}
loggers: ${loggers}
root: {level: DEBUG, handlers: [console]}
`;

const ini = `[loggers]
keys=root,workers,driver
[handlers]
keys=console
[formatters]
keys=names
[logger_root]
level=ERROR
handlers=console
[logger_workers]
level=DEBUG
handlers=
qualname=nodepool.DeletedNodeWorker
[logger_driver]
level=INFO
handlers=
qualname=nodepool.StateMachineNodeLauncher.test
[handler_console]
class=StreamHandler
formatter=names
args=(sys.stdout,)
[formatter_names]
format=%(name)s
`;

describe("the launcher's loggers", () => {
  const open: (Harness | Logging)[] = [];

  afterEach(async () => {
    for (const item of open.splice(0)) await item.close();
  });

  /**
   * The quota cannot be read at first; a request is served whose first launch fails, its node is given back, the cloud
   * fails once more, and the connection breaks. @returns loggers that wrote
   */
  async function namesIn(file: string, text: string): Promise<string[]> {
    const stdout = new PassThrough();
    const configFile = join(tempDir({ [file]: text }), file);
    const logging = createLogging({ configFile, streams: { stdout, stderr: stdout } });
    const cloud = new TestCloud();
    let asked = 0;
    const getQuotaLimits = () =>
      asked++ > 0 ? Promise.resolve({ instances: 10 }) : Promise.reject(new Error('no quota today'));
    const driver = honestDriver(() => cloud, { adapter: () => ({ getQuotaLimits }) });
    const harness = await Harness.open({ driver, cloud: () => cloud, validConfig, invalidConfigs });
    open.push(harness, logging);
    harness.logger = logging.logger;
    const launcher = await harness.startLauncher();
    cloud.failNext('error-state');
    await harness.giveBack(await harness.take(['small']));
    await harness.untilNoNodes();
    cloud.failNext('unavailable');
    launcher.link.break();
    await harness.pass(120_000);
    await harness.stopLauncher(launcher);
    return [...new Set(String(stdout.read() ?? '').split('\n'))].filter((name) => name.startsWith('nodepool')).sort();
  }

  it('have the names that logging files of installations know', async () => {
    expect(await namesIn('logging.yaml', dict('{}'))).toEqual([
      'nodepool.CleanupWorker',
      'nodepool.DeletedNodeWorker',
      'nodepool.NodePool',
      'nodepool.PoolWorker.test-main',
      'nodepool.StateMachineNodeDeleter.test',
      'nodepool.StateMachineNodeLauncher.test',
      'nodepool.StateMachineProvider.test',
      'nodepool.driver.NodeRequestHandler',
    ]);
  });

  it('have levels of their own in dict style', async () => {
    const loggers = `{nodepool: {level: CRITICAL}, nodepool.PoolWorker: {level: INFO}, nodepool.driver: {level: DEBUG}}`;

    const names = await namesIn('logging.yaml', dict(loggers));

    expect(names).toEqual(['nodepool.PoolWorker.test-main', 'nodepool.driver.NodeRequestHandler']);
  });

  it('have levels of their own in ini style', async () => {
    const names = await namesIn('logging.conf', ini);

    expect(names).toEqual([
      'nodepool.DeletedNodeWorker',
      'nodepool.StateMachineNodeLauncher.test',
      'nodepool.StateMachineProvider.test',
    ]);
  });
});
