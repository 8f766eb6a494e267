import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { ensureDebianPackages } from '@nodepool/test-servers';
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { NODEPOOL_PROGRAM } from '../nodepool-process.js';
import { RecipeGround } from '../recipe-ground.js';
import { LEASE_TOKEN } from '../lessee.js';
import { SOON_MS } from '../soon.js';
import { nodesOf, simpleSetup } from '../static-config.js';
import { useStatic } from '../use-harness.js';

const SECURE = { 'api-tokens': [{ name: 'e2e', token: LEASE_TOKEN }] };
const NODEPOOL = `exec '${process.execPath}' '${NODEPOOL_PROGRAM}' "$@"`;
const soon = { timeout: SOON_MS, interval: 50 };

beforeAll(() => ensureDebianPackages(['ansible-core', 'curl', 'jq', 'openssh-client']), 300_000);

const get = useStatic({ sshd: { count: 1, keyTypes: ['ed25519'] } });
let ground: RecipeGround;

beforeEach(async () => {
  const launcher = await get().launch(simpleSetup(nodesOf(get().sshd.hosts, 'small')), { secure: SECURE });
  ground = await RecipeGround.make(launcher);
});

/** What `SSH_CONNECTION` on the node ends with. */
const onNode = () => ` ${get().host(0).address} ${get().host(0).port}\n`;
const expectGone = (pid: number) => expect.poll(() => existsSync(`/proc/${pid}`), soon).toBe(false);

describe('GitLab: the custom executor, started by a stand-in for gitlab-runner', () => {
  /** Starts stages as the runner does: with the directory of the job, its variables, and the statuses that it understands. */
  async function startJob(label = 'small') {
    const config = await readFile(RecipeGround.path('gitlab/config.toml'), 'utf8');
    const job = await mkdtemp(join(ground.directory, 'custom-executor'));
    const env = {
      ...{ CUSTOM_ENV_CI_JOB_ID: '4711', CUSTOM_ENV_CI_JOB_URL: 'https://gitlab.example.com/j/4711' },
      ...{ CUSTOM_ENV_NODEPOOL_LABEL: label, NODEPOOL_SSH_KEY: get().sshd.clientKeyFile },
      ...{ BUILD_FAILURE_EXIT_CODE: '101', SYSTEM_FAILURE_EXIT_CODE: '102' },
      ...{ TMPDIR: job, BUILD_EXIT_CODE_FILE: join(job, 'exit-code') },
    };
    const stage = (name: string, ...args: string[]) => {
      const command = new RegExp(`${name}_exec = "/usr/local/lib/nodepool/(.*)"\\s+${name}_args = \\["(.*)"\\]`);
      const [, program = '', words = ''] = command.exec(config) ?? [];
      return ground.start('sh', [RecipeGround.path('gitlab', program), words, ...args], env);
    };
    const script = async (name: string, lines: string) => {
      await writeFile(join(job, name), `set -eo pipefail\n: | eval $'${lines}'\nexit 0\n`);
      return stage('run', join(job, name), name);
    };
    return { job, stage, script };
  }

  it('runs all stages of a job on one node, and returns it', async () => {
    const { job, stage, script } = await startJob();
    const config = stage('config');
    expect(await config.end(), config.output).toBe(0);
    expect(JSON.parse(config.stdout)).toMatchObject({ builds_dir: '/tmp/gitlab-job-4711/builds' });
    const prepare = stage('prepare');
    expect(await prepare.end(), prepare.output).toBe(0);
    const [lease] = await ground.current();
    expect(lease).toMatchObject({ state: 'active', reason: 'GitLab job https://gitlab.example.com/j/4711' });
    expect((lease?.expires?.getTime() ?? Infinity) - Date.now()).toBeLessThan(185_000);

    const good = await script('get_sources', 'mkdir -p /tmp/gitlab-job-4711; cat; echo "$SSH_CONNECTION"');
    expect(await good.end(), good.output).toBe(0);
    expect(good.stdout).toContain(onNode());
    const bad = await script('build_script', 'exit 7');
    expect(await bad.end(), bad.output).toBe(101);
    expect(await readFile(join(job, 'exit-code'), 'utf8')).toBe('7\n');
    const cleanup = stage('cleanup');
    expect(await cleanup.end(), cleanup.output).toBe(0);

    expect(await ground.current()).toEqual([]);
    await expect(readFile('/tmp/gitlab-job-4711')).rejects.toThrow('ENOENT');
    await ground.expectHidden(prepare.output + good.output + bad.output + cleanup.output);
    await get().assertClean();
  });

  it('ends the processes of a cancelled job on the node, and returns it', async () => {
    const { stage, script } = await startJob();
    expect(await stage('prepare').end()).toBe(0);
    const build = await script('build_script', 'echo "pid $$"; sleep 4321');
    await expect.poll(() => build.stdout, soon).toMatch(/pid \d+\n/);

    build.signal('SIGTERM');

    expect(await build.end(), build.output).toBe(102);
    await expectGone(Number(build.stdout.slice(4)));
    const cleanup = stage('cleanup');
    expect(await cleanup.end(), cleanup.output).toBe(0);
    await get().assertClean();
  });

  it('blames the system for a job without a node, and says why', async () => {
    const { stage } = await startJob('nosuch');

    const prepare = stage('prepare');

    expect(await prepare.end()).toBe(102);
    expect(prepare.output).toContain('"code":"unknown-label"');
    expect(await stage('cleanup').end()).toBe(0);
  });

  it('ends the lease of a job that is cancelled while it waits', async () => {
    const other = await ground.client.lease(['small']);
    const { stage } = await startJob();
    const prepare = stage('prepare');
    await expect.poll(ground.current, soon).toHaveLength(2);

    prepare.signal('SIGTERM');
    await prepare.end();

    const cleanup = stage('cleanup');
    expect(await cleanup.end(), cleanup.output).toBe(0);
    expect(await ground.current()).toHaveLength(1);
    await other.release();
  });
});

describe('GitHub Actions: an ephemeral runner, with stand-ins for GitHub and its runner', () => {
  const GITHUB_TOKEN = 'a-token-of-github';
  const JIT_CONFIG = 'aml0IGNvbmZpZw==';

  /** Answers as GitHub does. @returns the calls */
  async function startGitHub() {
    const calls: { call: string; body: string }[] = [];
    const server = createServer((request: IncomingMessage, response) => {
      void text(request).then((body) => {
        calls.push({ call: `${request.method} ${request.url}`, body });
        const isKnown = request.headers.authorization === `Bearer ${GITHUB_TOKEN}`;
        response.statusCode = isKnown ? (request.method === 'POST' ? 201 : 204) : 401;
        response.end(
          isKnown && request.method === 'POST' ? `{"runner":{"id":23},"encoded_jit_config":"${JIT_CONFIG}"}` : '',
        );
      });
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    return { calls, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  }

  async function startRunner(job: string) {
    const { calls, url } = await startGitHub();
    await writeFile(join(ground.directory, 'github-token'), `${GITHUB_TOKEN}\n`);
    await mkdir(join(ground.directory, 'actions-runner'));
    await writeFile(join(ground.directory, 'actions-runner/run.sh'), `#!/bin/sh\n${job}\n`, { mode: 0o755 });
    await ground.addProgram('nodepool', `printf '%s\\n' "$0 $*" >>'${ground.directory}/arguments'; ${NODEPOOL}`);
    const runner = ground.start('sh', [RecipeGround.path('github/runner.sh'), 'small'], {
      ...{ GITHUB_API_URL: url, GITHUB_REPOSITORY: 'owner/name', NODEPOOL_SSH_KEY: get().sshd.clientKeyFile },
      ...{ GITHUB_TOKEN_FILE: join(ground.directory, 'github-token') },
      ...{ RUNNER_DIRECTORY: join(ground.directory, 'actions-runner') },
    });
    return { calls, runner };
  }

  it('runs one job on the node, and returns it', async () => {
    const { calls, runner } = await startRunner(
      'echo "$# $ACTIONS_RUNNER_INPUT_JITCONFIG" | base64 -w0; echo "$SSH_CONNECTION"',
    );

    expect(await runner.end(), runner.output).toBe(0);

    expect(runner.stdout).toContain(Buffer.from(`0 ${JIT_CONFIG}\n`).toString('base64'));
    expect(runner.stdout).toContain(onNode());
    expect(calls.map(({ call }) => call)).toEqual([
      'POST /repos/owner/name/actions/runners/generate-jitconfig',
      'DELETE /repos/owner/name/actions/runners/23',
    ]);
    expect(JSON.parse(calls[0]?.body ?? '')).toMatchObject({
      ...{ name: expect.stringMatching(/^small-\w{16}$/) as string, runner_group_id: 1 },
      ...{ labels: ['self-hosted', 'nodepool', 'small'], work_folder: '_work' },
    });
    for (const secret of [LEASE_TOKEN, GITHUB_TOKEN, JIT_CONFIG]) await ground.expectHidden(runner.output, secret);
    await get().assertClean();
  });

  it('ends the runner when the service stops', async () => {
    const { calls, runner } = await startRunner(
      'trap "echo ended; exit 0" TERM; echo "pid $$"; while :; do sleep 0.1; done',
    );
    await expect.poll(() => runner.stdout, soon).toMatch(/pid \d+\n/);

    runner.signal('SIGTERM');

    expect(await runner.end(), runner.output).toBe(143);
    await expectGone(Number(/pid (\d+)/.exec(runner.stdout)?.[1]));
    expect(calls).toHaveLength(2);
    await get().assertClean();
  });

  it('has a unit that systemd accepts', async () => {
    await ensureDebianPackages(['systemd']);
    const unit = await readFile(RecipeGround.path('github/nodepool-runner@.service'), 'utf8');
    await writeFile(join(ground.directory, 'nodepool-runner@small.service'), unit);

    const verify = ground.start('systemd-analyze', ['verify', '--man=no', './nodepool-runner@small.service']);

    expect([await verify.end(), verify.output.match(/nodepool-runner.*/g)]).toEqual([0, null]);
  });
});

describe('Ansible: the inventory', () => {
  const ansible = (...args: string[]) => {
    const script = RecipeGround.path('ansible/nodepool_inventory.py');
    const login = ['--private-key', get().sshd.clientKeyFile];
    return ground.start('ansible', ['-i', script, ...login, ...args], { ANSIBLE_NOCOLOR: '1', ANSIBLE_NOCOWS: '1' });
  };

  it('lets Ansible log in to the nodes of leases, with their host keys', async () => {
    const lease = await ground.client.lease(['small']);

    const run = ansible('label_small', '-m', 'raw', '-a', 'echo "$SSH_CONNECTION"');
    expect(await run.end(), run.output).toBe(0);
    expect(run.stdout).toMatch(/^small-1 \| CHANGED/m);
    expect(run.stdout).toContain(onNode().trimEnd());
    await lease.release();
    const empty = ansible('all', '--list-hosts');
    expect(await empty.end()).toBe(0);
    expect(empty.stdout).toContain('hosts (0)');
    await ground.expectHidden(run.output + empty.output);
  });
});
