import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ImageRecipe } from './dockerfile.js';

const run = promisify(execFile);
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const BUILT = 'built';

/** How a container is made. */
export interface ContainerOptions {
  /** A folder of its own. */
  readonly folder: string;
  readonly recipe: ImageRecipe;
  /** Instead of the defaults of the build arguments. */
  readonly args?: Readonly<Record<string, string>>;
  /** Environment of the build alone. */
  readonly buildEnv?: Readonly<Record<string, string>>;
  /** What is mounted at the places that `docker run` of the recipe names, by place. */
  readonly mounts: Readonly<Record<string, string>>;
}

/**
 * An image built and run without Docker: its steps change a copy of this machine's file system that goes with the process (an
 * overlay in a mount namespace, without what lies at the places of the mounts), and its entry point is the first process of a
 * process namespace, as in a container.
 */
export class Container {
  readonly #child: ChildProcess;
  readonly #recipe: ImageRecipe;
  readonly #exited: Promise<unknown>;
  #output = '';

  private constructor(child: ChildProcess, recipe: ImageRecipe) {
    this.#child = child;
    this.#recipe = recipe;
    this.#exited = once(child, 'exit');
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (text: Buffer) => (this.#output += text.toString()));
  }

  /** Builds the image and starts its entry point; does not wait. */
  static async start({ folder, recipe, ...options }: ContainerOptions): Promise<Container> {
    await mkdir(folder, { recursive: true });
    const script = join(folder, 'container.sh');
    await writeFile(script, scriptOf(folder, recipe, options));
    // a user who is not root becomes root in a user namespace
    const user = process.getuid?.() === 0 ? [] : ['--user', '--map-root-user', '--map-auto'];
    const own = ['--mount', '--propagation', 'private', '--pid', '--fork', '--kill-child=KILL'];
    const child = spawn('unshare', [...user, ...own, '--', '/bin/sh', script], { stdio: ['ignore', 'pipe', 'pipe'] });
    return new Container(child, recipe);
  }

  get output(): string {
    return this.#output;
  }

  get isBuilt(): boolean {
    return this.#output.split('\n').includes(BUILT);
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** What the system says of the first process. */
  async status(file: 'status' | 'mountinfo'): Promise<string> {
    return readFile(`/proc/${await this.#first()}/${file}`, 'utf8');
  }

  /** Runs a program in the container as its user. */
  async exec(...command: string[]): Promise<string> {
    const first = await this.#first();
    const status = await this.status('status');
    const idOf = (name: string) => new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? '0';
    const enter = ['--target', String(first), '--mount', '--pid', '--root', '--wd'];
    const user = ['--setuid', idOf('Uid'), '--setgid', idOf('Gid')];
    const env = Object.entries(environmentOf(this.#recipe)).map(([name, value]) => `${name}=${value}`);
    return (await run('nsenter', [...enter, ...user, '--', 'env', '-i', ...env, ...command])).stdout;
  }

  /** Sends the first process the signal that `docker stop` sends. @returns its exit status */
  async stop(): Promise<number | null> {
    process.kill(await this.#first(), this.#recipe.stopSignal);
    await this.#exited;
    return this.#child.exitCode;
  }

  /** Ends everything at once. */
  async kill(): Promise<void> {
    if (this.hasEnded) return;
    this.#child.kill('SIGKILL');
    await this.#exited;
  }

  async #first(): Promise<number> {
    const { pid } = this.#child;
    const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
    return Number(children.trim().split(' ')[0]);
  }
}

function environmentOf(recipe: ImageRecipe): Record<string, string> {
  return { PATH, HOME: recipe.volumes[0] ?? '/', ...recipe.env };
}

type ScriptOptions = Omit<ContainerOptions, 'folder' | 'recipe'>;

function scriptOf(folder: string, recipe: ImageRecipe, { args = {}, buildEnv = {}, mounts }: ScriptOptions): string {
  const root = join(folder, 'root');
  const build = { PATH, HOME: '/root', ...recipe.args, ...args, ...buildEnv };
  const steps = recipe.runs.map((step) => enter(root, build, ['/bin/sh', '-c', step]));
  const start = [...recipe.entrypoint, ...recipe.command];
  return `set -eu
cd ${quote(folder)}
mkdir -p upper work root
overlay() { mount -t overlay overlay -o lowerdir=/,upperdir="$1/upper",workdir="$1/work" root; }
overlay . 2>/dev/null || { mkdir -p memory; mount -t tmpfs tmpfs memory; mkdir memory/upper memory/work; overlay memory; }
mount --rbind /dev root/dev
mount -t proc proc root/proc
${Object.keys(mounts)
  .map((place) => `rm -rf root${place}`)
  .join('\n')}
[ ! -e /etc/resolv.conf ] || cp -L /etc/resolv.conf root/etc/resolv.conf 2>/dev/null || true
${steps.join('\n')}
${mountLines(recipe, mounts).join('\n')}
mount -o remount,ro root
echo ${BUILT}
exec ${enter(root, environmentOf(recipe), start, recipe.user)}
`;
}

/** What the recommended `docker run` mounts; a new volume belongs to whom the place in the image belongs. */
function mountLines({ usage }: ImageRecipe, mounts: Readonly<Record<string, string>>): string[] {
  return usage.flatMap((word, index) => {
    const value = usage[index + 1] ?? '';
    if (word === '--tmpfs') return [`mkdir -p root${value}`, `mount -t tmpfs tmpfs root${value}`];
    if (word !== '-v') return [];
    const [, place = '', mode] = value.split(':');
    const source = mounts[place];
    if (source === undefined) throw new Error(`no source for ${place}`);
    const owner = mode === 'ro' ? [] : [`chown --reference=root${place} ${quote(source)}`];
    const readOnly = mode === 'ro' ? [`mount -o remount,bind,ro root${place}`] : [];
    return [`mkdir -p root${place}`, ...owner, `mount --bind ${quote(source)} root${place}`, ...readOnly];
  });
}

function enter(root: string, env: Readonly<Record<string, string>>, command: readonly string[], user?: string): string {
  const variables = Object.entries(env).map(([name, value]) => quote(`${name}=${value}`));
  const as = user === undefined ? [] : [`--userspec=${user}:${user}`];
  return ['chroot', ...as, quote(root), '/usr/bin/env', '-i', ...variables, ...command.map(quote)].join(' ');
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
