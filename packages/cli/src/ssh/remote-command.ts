import { spawn } from 'node:child_process';
import { inform } from '../command/context.js';
import { runChildCommand } from '../run/child-command.js';
import type { ChildCommand, ChildContext } from '../run/child-command.js';
import { MarkedOutput } from './marked-output.js';
import type { RemoteNode, SshMode } from './remote-node.js';
import { END, LOGIN, RUN, SIGNAL } from './remote-scripts.js';

/** Exit status of `ssh` when login failed, the connection broke, or a signal ended the command. */
const SSH_FAILED = 255;
/** Exit status when the login shell ended with 0, but without the command. */
const NOT_RUN_STATUS = 1;
/** Time limit for connections that pass a signal or clean up. */
const UNATTENDED_MS = 15_000;

/** A command on a node. */
export class RemoteCommand {
  readonly #node: RemoteNode;
  readonly #command: readonly string[];
  readonly #directory: string;
  /** Processes or files of it may be on the node. */
  #isLeft = false;

  /**
   * @param command - empty: a login shell
   * @param directory - where it runs, below the node's folder; empty: the home directory
   */
  constructor(node: RemoteNode, command: readonly string[], directory: string) {
    this.#node = node;
    this.#command = command;
    this.#directory = directory;
    this.#isLeft = directory !== '';
  }

  /** Runs it. @returns its exit status; 255 when `ssh` failed */
  async run(local: Pick<ChildCommand, 'env' | 'directory'>, context: ChildContext): Promise<number> {
    const status = await this.#run(local, context);
    if (status > 128) this.#isLeft = true;
    if (status !== SSH_FAILED) return status;
    const { status: interrupted } = context.interrupts; // `ssh` answers Ctrl-C so as well
    if (interrupted === undefined) {
      inform(
        `nodepool: ssh failed (status ${SSH_FAILED}): it could not log in to ${this.#node.where}, or the connection broke. ` +
          'Either the node accepts none of the keys that ssh finds (--identity names another one), or its host key has changed ' +
          'since the launcher scanned it; the launcher scans it again before the next use, so try again',
      );
    }
    return interrupted ?? status;
  }

  /** A terminal shows all output. Elsewhere the output of a command is data. */
  async #run(local: Pick<ChildCommand, 'env' | 'directory'>, context: ChildContext): Promise<number> {
    const passSignal = (signal: NodeJS.Signals) => this.#unattended(SIGNAL, signal.replace(/^SIG/, ''));
    const killedText = `nodepool ssh was killed; closing its connection; processes on ${this.#node.where} may continue`;
    const command = { program: 'ssh', passSignal, killedText, ...local };
    const mode = process.stdin.isTTY && process.stdout.isTTY ? 'terminal' : 'streams';
    if (mode === 'terminal' || this.#command.length === 0)
      return runChildCommand({ ...command, args: this.#arguments(mode, '') }, context);
    const marked = new MarkedOutput(this.#node.where, 'inherit');
    try {
      const args = this.#arguments(mode, marked.marker);
      const status = await runChildCommand({ ...command, args, stdout: marked.input }, context);
      const why = await marked.end();
      if (why === undefined || status === SSH_FAILED || context.interrupts.status !== undefined) return status;
      inform(`nodepool: ${why}`);
      return status || NOT_RUN_STATUS;
    } finally {
      marked.release();
    }
  }

  /** Ends its processes on the node, and removes its files there. */
  async end({ keepsFiles }: { keepsFiles: boolean }): Promise<void> {
    if (!this.#isLeft || keepsFiles) return;
    if ((await this.#unattended(END)) || this.#directory === '') return;
    inform(`nodepool: cannot remove the folder ${this.#node.folder} in the home directory of ${this.#node.where}`);
  }

  /** @param marker - line before the output, or nothing */
  #arguments(mode: SshMode, marker: string): string[] {
    if (this.#command.length > 0) return this.#node.script(mode, RUN, this.#directory, marker, ...this.#command);
    if (this.#directory !== '') return this.#node.script(mode, LOGIN, this.#directory);
    return this.#node.login(mode);
  }

  /** Runs a script detached from the terminal, whose signals are for the command only. @returns whether it succeeded */
  #unattended(script: string, ...args: readonly string[]): Promise<boolean> {
    return new Promise((resolve) => {
      const options = { detached: true, stdio: 'ignore', timeout: UNATTENDED_MS } as const;
      const child = spawn('ssh', this.#node.script('unattended', script, ...args), options);
      child.once('error', () => resolve(false));
      child.once('close', (status) => resolve(status === 0));
    });
  }
}
