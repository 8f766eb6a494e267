import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useWorld } from '../../test/world.js';
import { nodepool, PROGRAM } from '../../test/program.js';

type Shell = 'bash' | 'zsh' | 'fish';
const SHELLS: readonly Shell[] = ['bash', 'zsh', 'fish'];
const isInstalled = (shell: Shell) => spawnSync(shell, ['-c', 'true']).status === 0;

let folder = '';
const scriptOf = (shell: Shell) => join(folder, `completion.${shell}`);

const get = useWorld();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'nodepool-completion-'));
  for (const shell of SHELLS) await writeFile(scriptOf(shell), (await nodepool('completion', shell)).stdout);
  const words = [process.execPath, PROGRAM, ...get().options()];
  await writeFile(join(folder, 'nodepool'), `#!/bin/sh\nexec ${words.join(' ')} "$@"\n`, { mode: 0o755 });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** What the shell offers for the last of the words. */
async function complete(shell: Shell, words: readonly string[]): Promise<string[]> {
  const path = `${folder}:${process.env['PATH']}`;
  const environment = { ...process.env, PATH: path, HOME: folder, SCRIPT: scriptOf(shell), XDG_CONFIG_HOME: folder };
  const options = { env: environment, timeout: 60_000 };
  const { stdout } = await promisify(execFile)(shell, COMPLETERS[shell](words), options);
  return stdout.split('\n').filter((line) => line !== '');
}

const BASH = 'source "$SCRIPT"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _nodepool; printf "%s\\n" "${COMPREPLY[@]}"';

const ZSH = 'autoload -Uz compinit; compinit -u -D; source "$SCRIPT"; print -l -- $_comps[nodepool]';

const COMPLETERS: Readonly<Record<Shell, (words: readonly string[]) => string[]>> = {
  bash: (words) => ['--norc', '-c', BASH, 'bash', ...words],
  zsh: () => ['-f', '-c', ZSH],
  fish: (words) => ['--no-config', '-c', `source $SCRIPT; complete -C ${JSON.stringify(words.join(' '))} | cut -f1`],
};

describe('completion', () => {
  const completing = (['bash', 'fish'] as const).filter(isInstalled);

  it.each(completing)('in %s offers commands', async (shell) => {
    expect(await complete(shell, ['nodepool', 'image-pa'])).toEqual(['image-pause']);
  });

  it.each(completing)('in %s offers the options of the command', async (shell) => {
    expect(await complete(shell, ['nodepool', 'delete', '--no'])).toEqual(['--now']);
    expect(await complete(shell, ['nodepool', 'list', '--no'])).toEqual(['--no-headers']);
  });

  it.each(completing)('in %s offers the values of an option', async (shell) => {
    expect(await complete(shell, ['nodepool', 'list', '--format', 'y'])).toEqual(['yaml']);
  });

  it.each(completing)('in %s offers the labels that launchers have', async (shell) => {
    await get().registerRack(['small', 'small-arm', 'large']);

    for (const command of ['ssh', 'run', 'request']) {
      expect((await complete(shell, ['nodepool', command, 'small'])).sort()).toEqual(['small', 'small-arm']);
    }
  });

  it.each(completing)('in %s knows the command behind an option with a value', async (shell) => {
    expect(await complete(shell, ['nodepool', '-c', 'x.yaml', 'hold', '--ext'])).toEqual(['--extend']);
  });

  it.each(SHELLS.filter(isInstalled))('in %s is a script without mistakes', (shell) => {
    const { status, stderr } = spawnSync(shell, ['-n', scriptOf(shell)], { encoding: 'utf8' });

    expect([status, stderr]).toEqual([0, '']);
  });

  it.each((['zsh'] as const).filter(isInstalled))('in %s is registered for nodepool', async (shell) => {
    expect(await complete(shell, [])).toContain('_nodepool');
  });

  it('names every command in every shell', async () => {
    const help = (await nodepool('--help')).stdout;
    const commands = [...(help.split('Options:')[0] ?? '').matchAll(/^ {2}([a-z-]+)/gm)].map(([, name]) => name);

    expect(commands.length).toBeGreaterThan(25);
    for (const shell of SHELLS) {
      const script = (await nodepool('completion', shell)).stdout;
      expect(commands.filter((name) => !script.includes(name ?? ''))).toEqual([]);
    }
  });
});
