import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { oneProvider } from '../elastic-config.js';
import type { FrameProxy, Verdict } from '../frame-proxy.js';
import { NodepoolProcess } from '../nodepool-process.js';
import { SOON_MS } from '../soon.js';
import { useElastic } from '../use-harness.js';

const get = useElastic();

/** Packet 1 creates the session. */
const FIRST_STEP = 2;
const AT_ONCE = 4;
/** With this label, the description of 200 nodes exceeds the size limit of an environment variable. */
const LONG_LABEL = `${'long-'.repeat(20)}label`;
const OWN_STATUS = 3;
/** Logs its start and the signals it receives, and runs until the file `stop` exists. */
const COMMAND = `
log="$1"; stop="$2"
trap 'echo INT >> "$log"; sleep 0.5; exit 70' INT
trap 'echo TERM >> "$log"; exit 71' TERM
trap 'echo HUP >> "$log"; exit 72' HUP
echo started >> "$log"
while [ ! -e "$stop" ]; do sleep 0.02; done
echo ended >> "$log"
exit ${OWN_STATUS}
`;
const SHELL_STATUS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 };

/** One call of `nodepool run` through its own proxy. */
class Run {
  private constructor(
    readonly proxy: FrameProxy,
    readonly process: NodepoolProcess,
    private readonly files: { log: string; stop: string },
  ) {}

  /**
   * @param trap - set before the program starts
   * @param terminalInput - run it in a terminal, with its standard input from this file
   */
  static async start(trap = (_proxy: FrameProxy, _run: () => Run): void => {}, terminalInput?: string): Promise<Run> {
    const dir = get().cloud.dir;
    const proxy = await get().newProxy();
    const config = join(dir, `nodepool-${proxy.port}.yaml`);
    const files = { log: join(dir, `log-${proxy.port}`), stop: join(dir, `stop-${proxy.port}`) };
    await writeFile(config, JSON.stringify({ 'zookeeper-servers': [{ host: '127.0.0.1', port: proxy.port }] }));
    await writeFile(files.log, '');
    trap(proxy, () => run); // called once the program sends something
    const command = ['sh', '-c', COMMAND, 'sh', files.log, files.stop];
    const args = ['-c', config, 'run', 'small', 'small', '--', ...command];
    const started =
      terminalInput === undefined ? NodepoolProcess.start(args) : NodepoolProcess.startInTerminal(args, terminalInput);
    onTestFinished(() => started.kill());
    const run: Run = new Run(proxy, started, files);
    return run;
  }

  /** Lines that the command has logged so far. */
  async log(): Promise<string[]> {
    return (await readFile(this.files.log, 'utf8')).split('\n').filter(Boolean);
  }

  async whenStarted(): Promise<void> {
    await expect.poll(() => this.log(), { timeout: SOON_MS, interval: 20 }).toContain('started');
  }

  letCommandEnd(): Promise<void> {
    return writeFile(this.files.stop, '');
  }
}

type Happening = (run: Run) => Promise<void>;
type Judgement = (run: Run, status: number | string, startedBefore: boolean, step: number) => Promise<void>;

/** Runs the program with something happening right before its n-th packet. @returns whether it sent that many */
async function atStep(step: number, happen: Happening, judge: Judgement): Promise<boolean> {
  let startedBefore = false;
  const run = await Run.start((proxy, self) =>
    proxy.trap(step, async (): Promise<Verdict> => {
      startedBefore = (await self().log()).includes('started');
      await happen(self());
      return 'forward';
    }),
  );
  const ended = run.process.end();
  await Promise.race([run.whenStarted().catch(() => undefined), ended]);
  await run.letCommandEnd();
  const status = await ended;
  if (run.proxy.hasFired) await judge(run, status, startedBefore, step);
  else expect(status).toBe(OWN_STATUS);
  return run.proxy.hasFired;
}

/** Runs the program once for each packet it sends, a few at the same time. @returns how many it sends */
async function atEveryStep(happen: Happening, judge: Judgement): Promise<number> {
  for (let step = FIRST_STEP; ; step += AT_ONCE) {
    const steps = Array.from({ length: AT_ONCE }, (_, i) => step + i);
    const sent = await Promise.all(steps.map((each) => atStep(each, happen, judge)));
    if (sent.includes(false)) return step + sent.indexOf(false) - 1;
  }
}

const send = (name: 'SIGINT' | 'SIGTERM' | 'SIGHUP') => async (run: Run) => {
  run.process.signal(name);
  await run.process.whenAsleep(); // the signal must be handled before the packet goes out
};

/** Expects that the command was either not started or allowed to finish. */
const endedBy = (name: 'SIGINT' | 'SIGTERM' | 'SIGHUP'): Judgement => {
  return async (run, status, startedBefore, step) => {
    const expected = startedBefore ? [['started', 'ended'], OWN_STATUS] : [[], SHELL_STATUS[name]];
    expect([await run.log(), status], `step ${step}: ${run.process.stderr}`).toEqual(expected);
  };
};

describe('nodepool run', () => {
  // Ready nodes of withdrawn requests are deleted soon.
  const labels = { small: { 'max-ready-age': 2 }, [LONG_LABEL]: { 'max-ready-age': 2 } };
  beforeEach(() => get().launch(oneProvider({ labels: ['small', LONG_LABEL] }, { labels })));

  it('does not start the command when SIGINT arrives at any step before', async () => {
    const steps = await atEveryStep(send('SIGINT'), endedBy('SIGINT'));

    expect(steps).toBeGreaterThan(10);
  });

  it.each(['SIGTERM', 'SIGHUP'] as const)('does the same on %s', async (name) => {
    const sent = await Promise.all([4, 9, 12].map((step) => atStep(step, send(name), endedBy(name))));

    expect(sent).toEqual([true, true, true]);
  });

  it('ends when the session is lost at any step, and never starts the command without its nodes', async () => {
    const judge: Judgement = async (run, status, startedBefore, step) => {
      const where = `step ${step}: ${run.process.stderr}`;
      const log = await run.log();
      if (!startedBefore) {
        expect([log, status], where).toEqual([[], 1]);
        expect(run.process.stderr, where).toMatch(/nodepool: .*(session|connection|lost|gone)/i);
      } else expect([log, status], where).toEqual([['started', 'ended'], OWN_STATUS]);
    };

    const steps = await atEveryStep((run) => run.proxy.expireSession(), judge);

    expect(steps).toBeGreaterThan(10);
  });

  it('ends the command when the session is lost while it runs', async () => {
    const run = await Run.start();
    await run.whenStarted();

    await run.proxy.expireSession();

    expect(await run.process.end()).toBe(1);
    expect(await run.log()).toEqual(['started', 'TERM']);
    expect(run.process.stderr).toContain('the nodes are lost');
  });

  it('keeps the exit status of the command when ZooKeeper does not answer while nodes are returned', async () => {
    const run = await Run.start();
    await run.whenStarted();
    run.proxy.trap(1, () => new Promise(() => {}));
    await run.letCommandEnd();

    expect(await run.process.end()).toBe(OWN_STATUS);
    expect(run.process.stderr).toContain('nodepool: ZooKeeper did not answer while returning the nodes');
  });

  it.each([
    ['to nodepool alone is passed on', (pid: number) => process.kill(pid, 'SIGINT')],
    ['to the whole process group reaches the command once', (pid: number) => process.kill(-pid, 'SIGINT')],
  ])('a signal %s', async (_how, kill) => {
    const run = await Run.start();
    await run.whenStarted();

    kill(run.process.pid);

    expect(await run.process.end()).toBe(70);
    expect(await run.log()).toEqual(['started', 'INT']);
  });

  it.each(['/dev/tty', '/dev/null'])('passes Ctrl-C of a terminal on once, with input from %s', async (input) => {
    const run = await Run.start(undefined, input);
    await run.whenStarted();

    run.process.type('\x03');
    await run.process.end();

    expect(await run.log()).toEqual(['started', 'INT']);
  });

  it('gives 200 nodes to a command', async () => {
    const show =
      'const nodes = JSON.parse(require("fs").readFileSync(process.env.NODEPOOL_NODES_FILE, "utf8"));' +
      'console.log(nodes.length, process.env.NODEPOOL_NODE_COUNT, process.env.NODEPOOL_NODES === undefined, ' +
      'new Set(nodes.map((node) => node.id)).size)';
    const config = join(get().cloud.dir, 'nodepool-200.yaml');
    await writeFile(config, JSON.stringify({ 'zookeeper-servers': get().zookeeper.servers }));

    const many = ['-c', config, 'run', LONG_LABEL, '--count', '200', '--', process.execPath, '-e', show];
    const run = NodepoolProcess.start(many);

    expect(await run.end(), run.stderr).toBe(0);
    expect(run.stdout).toBe('200 200 true 200\n');
  });
});
