import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureDebianPackages } from '@nodepool/test-servers';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { LEASE_TOKEN } from '../lessee.js';
import { NODEPOOL_PROGRAM } from '../nodepool-process.js';
import { RecipeGround } from '../recipe-ground.js';
import { SOON_MS } from '../soon.js';
import { nodesOf, simpleSetup } from '../static-config.js';
import { useStatic } from '../use-harness.js';

const SECURE = { 'api-tokens': [{ name: 'e2e', token: LEASE_TOKEN }] };
const soon = { timeout: SOON_MS, interval: 50 };

beforeAll(() => ensureDebianPackages(['curl', 'jq', 'make', 'openssh-client']), 300_000);

const get = useStatic({ sshd: { count: 1, keyTypes: ['ed25519'] } });
let ground: RecipeGround;

beforeEach(async () => {
  const launcher = await get().launch(simpleSetup(nodesOf(get().sshd.hosts, 'small')), { secure: SECURE });
  ground = await RecipeGround.make(launcher);
});

/** Makes a workspace whose `make test` writes a report and ends so; `npx` starts the program of this repository. */
async function makeWorkspace(status: number): Promise<string> {
  const workspace = join(ground.directory, 'workspace');
  await mkdir(workspace);
  await writeFile(join(workspace, 'Makefile'), `test:\n\t@echo "$$SSH_CONNECTION" >report.xml; exit ${status}\n`);
  await ground.addProgram(
    'npx',
    `printf '%s\\n' "$0 $*" >>'${ground.directory}/arguments'\n` +
      `[ "$1 $2" = '--yes @nodepool/cli' ] || exit 127\nshift 2\nexec '${process.execPath}' '${NODEPOOL_PROGRAM}' "$@"`,
  );
  return workspace;
}

/** `make test` ran on the node, which is returned. */
async function expectStep(workspace: string, output: string): Promise<void> {
  const report = await readFile(join(workspace, 'report.xml'), 'utf8');
  expect(report).toMatch(new RegExp(` ${get().host(0).address} ${get().host(0).port}\\n$`));
  expect(await ground.current()).toEqual([]);
  await ground.expectHidden(output);
  await get().assertClean();
}

describe('Jenkins: the pipeline, with a stand-in that runs its sh steps', () => {
  /** Runs the steps as the agent does: `sh -xe` in the workspace, with the variables and files of `environment`. */
  async function runPipeline(workspace: string) {
    const pipeline = await readFile(RecipeGround.path('jenkins/Jenkinsfile'), 'utf8');
    const files = new Map([
      ['nodepool-token', ground.env['NODEPOOL_TOKEN_FILE']],
      ['nodepool-ssh-key', get().sshd.clientKeyFile],
    ]);
    const credentials = [...pipeline.matchAll(/(\w+) = credentials\('([\w-]+)'\)/g)];
    const env = Object.fromEntries(credentials.map(([, name = '', id = '']) => [name, files.get(id)]));
    const steps = [...pipeline.matchAll(/^ +sh '(.*)'$/gm)].map(([, step = '']) => step);
    await writeFile(join(ground.directory, 'script.sh'), `${steps.join('\n')}\n`);
    expect(Object.keys(env)).toEqual(['NODEPOOL_TOKEN_FILE', 'NODEPOOL_SSH_KEY']);
    return ground.start('env', ['-C', workspace, 'sh', '-xe', '../script.sh'], env);
  }

  it.each([
    ['passes', 0],
    ['fails', 2],
  ])('runs a step on the node that %s, and brings its report back', async (_, status) => {
    const workspace = await makeWorkspace(status);

    const run = await runPipeline(workspace);

    expect(await run.end(), run.output).toBe(status);
    await expectStep(workspace, run.output);
  });
});

describe.each(['.woodpecker.yaml', '.drone.yml'])('%s, with a stand-in that runs the commands of its step', (name) => {
  interface Step {
    readonly environment: Readonly<Record<string, string | { readonly from_secret: string }>>;
    readonly commands: readonly string[];
  }

  it('runs the step on the node, and brings its report back', async () => {
    const workspace = await makeWorkspace(0);
    const file = parse(await readFile(RecipeGround.path('woodpecker', name), 'utf8')) as { steps: Step[] };
    const [step] = file.steps;
    const key = await readFile(get().sshd.clientKeyFile, 'utf8');
    const secrets = new Map([
      ['nodepool_token', LEASE_TOKEN],
      ['nodepool_ssh_key', key.trimEnd()],
    ]);
    const env = Object.entries(step?.environment ?? {}).map(([variable, value]) => [
      variable,
      typeof value === 'string' ? ground.env['NODEPOOL_SERVER'] : secrets.get(value.from_secret),
    ]);
    await writeFile(join(ground.directory, 'step.sh'), `${step?.commands.join('\n')}\n`);

    const run = ground.start('env', ['-C', workspace, '-u', 'NODEPOOL_TOKEN_FILE', 'sh', '-e', '../step.sh'], {
      ...(Object.fromEntries(env) as NodeJS.ProcessEnv),
    });

    expect(await run.end(), run.output).toBe(0);
    await expectStep(workspace, run.output);
  });
});

describe('Terraform: provisioners and the external data source, called by a stand-in', () => {
  const KEY = '2b6c3d1e-52d6-9f0e-7b39-1d2c0f4f2a77';
  const SCRIPT = RecipeGround.path('terraform/lease.sh');

  /** Runs a provisioner as `local-exec` does: its command in `/bin/sh -c`, with its environment. */
  async function provision(when: 'create' | 'release', label = 'small', ttl = '600') {
    const text = await readFile(RecipeGround.path('terraform/main.tf'), 'utf8');
    const [, command = ''] = new RegExp(`command += "(exec .* ${when})"`).exec(text) ?? [];
    const env = { LEASE_PROGRAM: SCRIPT, LEASE_KEY: KEY, LEASE_LABEL: label, LEASE_TTL: ttl };
    return ground.start('/bin/sh', ['-c', command.replaceAll('\\"', '"')], env);
  }

  /** Asks as the provider does: the query on standard input, an object of strings on standard output. */
  async function find(): Promise<Record<string, unknown>> {
    const program = ground.start('sh', [SCRIPT, 'find'], {}, JSON.stringify({ key: KEY }));
    expect(await program.end(), program.output).toBe(0);
    const result = JSON.parse(program.stdout) as Record<string, unknown>;
    for (const value of Object.values(result)) expect(value).toBeTypeOf('string');
    return result;
  }

  it('leases a node, finds it, and returns it', async () => {
    const create = await provision('create');
    expect(await create.end(), create.output).toBe(0);
    const [lease] = await ground.current();
    expect(lease).toMatchObject({ state: 'active', reason: `terraform ${KEY}` });
    const leftMs = (lease?.expires?.getTime() ?? Infinity) - Date.now();
    expect(leftMs).toBeLessThan(605_000);
    expect(leftMs).toBeGreaterThan(300_000);

    const { address, port } = get().host(0);
    expect(await find()).toMatchObject({
      ...{ id: lease?.id, state: 'active', host: address, port: `${port}` },
      known_hosts: expect.stringContaining('ssh-ed25519 ') as string,
    });

    const release = await provision('release');
    expect(await release.end(), release.output).toBe(0);
    expect(await find()).toMatchObject({ state: 'ended', host: '', port: '' });
    expect(await (await provision('release')).end()).toBe(0);
    await ground.expectHidden(create.output + release.output);
    await get().assertClean();
  });

  it('ends the lease of a creation that gets SIGTERM, and leaves those of others', async () => {
    const other = await ground.client.lease(['small']);
    const create = await provision('create');
    await expect.poll(ground.current, soon).toHaveLength(2);

    create.signal('SIGTERM');

    expect(await create.end()).not.toBe(0);
    expect(await ground.current()).toMatchObject([{ id: other.id }]);
    expect(await find()).toMatchObject({ state: 'ended', host: '' });
    await other.release();
  });

  it('leaves a node for 3 minutes at most when Terraform is interrupted and kills the creation', async () => {
    const other = await ground.client.lease(['small']);
    const create = await provision('create');
    await expect.poll(ground.current, soon).toHaveLength(2);

    create.signal('SIGKILL');
    await create.end();
    expect(await find()).toMatchObject({ state: 'waiting', host: '' });
    await other.release();

    await expect.poll(ground.current, soon).toMatchObject([{ state: 'active' }]);
    const [left] = await ground.current();
    expect((left?.expires?.getTime() ?? Infinity) - Date.now()).toBeLessThan(185_000);
    await ground.client.release(left?.id ?? '');
  });

  it('fails for a time to live that is refused, returns the node, and says why', async () => {
    const create = await provision('create', 'small', '-1');

    expect(await create.end()).not.toBe(0);

    expect(create.output).toContain('"code":"');
    expect(await ground.current()).toEqual([]);
  });

  it('fails for a label that no pool has, and says why', async () => {
    const create = await provision('create', 'nosuch');

    expect(await create.end()).not.toBe(0);

    expect(create.output).toContain('"code":"unknown-label"');
  });
});
