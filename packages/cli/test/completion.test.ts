import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nodepool } from './program.js';

type Shell = 'bash' | 'zsh' | 'fish';
const SHELLS: readonly Shell[] = ['bash', 'zsh', 'fish'];
const isInstalled = (shell: Shell) => spawnSync(shell, ['-c', 'true']).status === 0;

let folder = '';
const scriptOf = (shell: Shell) => join(folder, `completion.${shell}`);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'nodepool-completion-'));
  for (const shell of SHELLS) await writeFile(scriptOf(shell), (await nodepool('completion', shell)).stdout);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** What the shell offers for the last of the words. */
function complete(shell: Shell, words: readonly string[]): string[] {
  const environment = { ...process.env, HOME: folder, SCRIPT: scriptOf(shell), XDG_CONFIG_HOME: folder };
  const output = execFileSync(shell, COMPLETERS[shell](words), { env: environment, encoding: 'utf8', timeout: 60_000 });
  return output.split('\n').filter((line) => line !== '');
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

  it.each(completing)('in %s offers commands', (shell) => {
    expect(complete(shell, ['nodepool', 'image-pa'])).toEqual(['image-pause']);
  });

  it.each(completing)('in %s offers the options of the command', (shell) => {
    expect(complete(shell, ['nodepool', 'delete', '--no'])).toEqual(['--now']);
    expect(complete(shell, ['nodepool', 'list', '--no'])).toEqual(['--no-headers']);
  });

  it.each(completing)('in %s offers the values of an option', (shell) => {
    expect(complete(shell, ['nodepool', 'list', '--format', 'y'])).toEqual(['yaml']);
  });

  it.each(completing)('in %s knows the command behind an option with a value', (shell) => {
    expect(complete(shell, ['nodepool', '-c', 'x.yaml', 'hold', '--ext'])).toEqual(['--extend']);
  });

  it.each(SHELLS.filter(isInstalled))('in %s is a script without mistakes', (shell) => {
    const { status, stderr } = spawnSync(shell, ['-n', scriptOf(shell)], { encoding: 'utf8' });

    expect([status, stderr]).toEqual([0, '']);
  });

  it.each((['zsh'] as const).filter(isInstalled))('in %s is registered for nodepool', (shell) => {
    expect(complete(shell, [])).toContain('_nodepool');
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
