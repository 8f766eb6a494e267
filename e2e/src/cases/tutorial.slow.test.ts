import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePorts, startSshd, type SshdHandle } from '@nodepool/test-servers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SOON_MS } from '../soon.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const FAKE_OPENSTACK = new URL('../../../packages/driver-openstack/test/fake/fake-openstack.ts', import.meta.url).href;

interface FakeCloud {
  readonly entry: object;
  listen(): Promise<FakeCloud>;
  close(): Promise<void>;
}

/** Home directory of a user with two machines, an SSH agent that holds their key, and a cloud. */
let directory = '';
let env: NodeJS.ProcessEnv = {};
let sshd: SshdHandle;
let cloud: FakeCloud;
let webPort = 0;
let launcher: ReturnType<typeof spawn> | undefined;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'nodepool-tutorial-'));
  sshd = await startSshd({ count: 2, keyTypes: ['ed25519'] });
  [webPort = 0] = await freePorts(1);
  const agentSocket = join(directory, 'agent');
  const agent = spawn('ssh-agent', ['-D', '-a', agentSocket], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(agent.stdout, 'data');
  env = {
    PATH: [join(ROOT, 'node_modules/.bin'), process.env['PATH']].join(delimiter),
    ...{ HOME: directory, STATE_DIRECTORY: join(directory, 'state'), SSH_AUTH_SOCK: agentSocket },
  };
  await shell(`ssh-add -q ${sshd.clientKeyFile}`);
  cloud = await new ((await import(FAKE_OPENSTACK)) as { FakeOpenStack: new () => FakeCloud }).FakeOpenStack().listen();
  await mkdir(join(directory, '.config/openstack'), { recursive: true });
  await writeFile(
    join(directory, '.config/openstack/clouds.yaml'),
    JSON.stringify({ clouds: { mycloud: cloud.entry } }),
  );
  return async () => {
    agent.kill();
    await once(agent, 'close');
  };
});
afterAll(async () => {
  if (launcher?.exitCode === null) {
    launcher.kill('SIGTERM');
    await once(launcher, 'close');
  }
  await cloud.close();
  await sshd.stop();
  await rm(directory, { recursive: true, force: true });
});

/** Each machine name of the documents, with the address that replaces it here. */
const machines = () =>
  sshd.hosts.slice(0, 2).flatMap(({ address, port }, index): [string, string][] => [
    [`ci@build0${index + 1}`, `root@${address}:${port}`],
    [`ci@build0${index + 1}`, `root@${address} port ${port}`],
  ]);

/** Runs a command as a user types it. */
function shell(command: string): Promise<{ status: number; output: string }> {
  return new Promise((resolve) => {
    const typed = machines().reduce(
      (text, [name, here]) => text.replaceAll(name, here.replace(' port ', ':')),
      command,
    );
    execFile('sh', ['-c', `${typed} 2>&1`], { cwd: directory, env }, (error, stdout) => {
      const status = error === null ? 0 : Number(error.code);
      resolve({ status, output: machines().reduce((text, [name, here]) => text.replaceAll(here, name), stdout) });
    });
  });
}

/** Starts the service on a free port and waits until it serves requests. */
async function startService(command: string): Promise<void> {
  const file = join(directory, 'nodepool.yaml');
  await writeFile(file, (await readFile(file, 'utf8')).replace('port: 8005', `port: ${webPort}`));
  const [program = '', ...args] = command.split(' ');
  launcher = spawn(program, args, { cwd: directory, env, stdio: 'ignore' });
  const ready = () =>
    fetch(`http://127.0.0.1:${webPort}/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  await expect.poll(ready, { timeout: SOON_MS, interval: 50 }).toBe(true);
  // wait until both machines have been checked
  const nodes = async () => (await shell('nodepool list --no-headers --fields state')).output.trim().split('\n').length;
  await expect.poll(nodes, { timeout: SOON_MS }).toBe(2);
}

/** A client reads only the latest state, so it does not show this one if the request is fulfilled before it has read. */
const MAY_BE_MISSED = '[ 0 s] accepted by a launcher';

/** Lines of an output with numbers and spaces normalized. */
const normal = (text: string) =>
  text
    .split('\n')
    .map((line) =>
      line
        .replace(/\d[\d.]*/g, '0')
        .replace(/ +/g, ' ')
        .trim(),
    )
    .filter((line) => line !== '' && line !== MAY_BE_MISSED);

/** Compares lines in any order: machines are checked in parallel. `...` stands for any further lines. */
function compare(command: string, expected: string, output: string): void {
  const lines = normal(output).sort();
  const wanted = normal(expected);
  const whole = wanted.filter((line) => line !== '...');
  if (whole.length === wanted.length) expect(lines, command).toEqual(whole.sort());
  else expect(lines, command).toEqual(expect.arrayContaining(whole));
}

/** Commands with their output in the `console` blocks of a page. */
async function commandsOf(page: string): Promise<{ command: string; expected: string }[]> {
  const text = await readFile(join(ROOT, page), 'utf8');
  const blocks = [...text.matchAll(/^```console\n(.*?)^```$/gms)].map(([, block = '']) => block);
  return blocks.flatMap((block) =>
    block
      .split(/^\$ /m)
      .slice(1)
      .map((each) => {
        const [command = '', ...expected] = each.split('\n');
        return { command, expected: expected.join('\n') };
      }),
  );
}

describe('a newcomer who follows the documents', { concurrent: false }, () => {
  it('gets the output shown in the tutorial from each command', async () => {
    const commands = await commandsOf('docs/tutorial.md');
    expect(commands.length).toBeGreaterThan(8);
    for (const { command, expected } of commands) {
      if (command.startsWith('nodepool-launcher')) await startService(command);
      else {
        const { status, output } = await shell(command);
        expect(status, `${command}\n${output}`).toBe(0);
        compare(command, expected, output);
      }
    }
  });

  it('can paste the commands of the README for scripts, Jenkins, GitHub Actions and GitLab', async () => {
    const text = await readFile(join(ROOT, 'README.md'), 'utf8');
    const section = /^## Use it from a script.*?(?=^## )/ms.exec(text)?.[0] ?? '';
    const blocks = [...section.matchAll(/^```\w+\n(.*?)^```$/gms)].map(([, block = '']) => block);
    const commands = blocks.flatMap((block) =>
      [...block.matchAll(/(?:^|sh '|run: |- )(nodepool (?:ssh|run) .*?)(?:' \}|\s{2,}#.*|)$/gm)].map(
        ([, command = '']) => command.replace(/' } }.*/, ''),
      ),
    );
    await writeFile(
      join(directory, 'Makefile'),
      'test:\n\t@echo "<testsuite/>" > report.xml\n\t@echo "42 tests passed"\n',
    );

    expect(commands).toHaveLength(6);
    for (const command of commands) {
      await rm(join(directory, 'report.xml'), { force: true });
      const { status, output } = await shell(command);
      expect(status, `${command}\n${output}`).toBe(0);
      if (!command.includes('make test')) continue;
      expect(output).toContain('42 tests passed');
      expect(await readFile(join(directory, 'report.xml'), 'utf8')).toBe('<testsuite/>\n');
    }
  });

  it('can use the configuration in the README', async () => {
    const text = await readFile(join(ROOT, 'README.md'), 'utf8');
    const block = /^```yaml\n(labels:.*?)^```$/ms.exec(text)?.[1] ?? '';
    await writeFile(join(directory, 'readme.yaml'), block);

    expect(block.match(/name: build0\d/g)).toHaveLength(5);
    expect(await shell('nodepool config-validate -c readme.yaml')).toMatchObject({ status: 0 });
  });
});
