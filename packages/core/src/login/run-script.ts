import type { ClientChannel, ClientErrorExtensions, ServerHostKeyAlgorithm } from 'ssh2';
import type { Clock } from '@nodepool/zk-protocol';
import { startDeadline } from '../async/deadline.js';
import { SshLoginError } from './errors.js';

/** Most that is kept of what a script says. */
const MAX_BYTES = 65_536;
const RSA_SIGNATURES = ['rsa-sha2-512', 'rsa-sha2-256', 'ssh-rsa'];

/** How to log in to a host. */
export interface LoginOptions {
  /** Name or address. */
  readonly host: string;
  readonly port: number;
  readonly username: string;
  /** Recorded keys of the host, each `<type> <base64>`. The host must prove that it has one of them. */
  readonly hostKeys: readonly string[];
  readonly privateKey: Buffer;
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** An abort ends the connection. */
  readonly signal: AbortSignal;
}

/** A script that says when it is ready, and then reads its input. */
export interface Script {
  readonly command: string;
  /** The line that it writes once it is ready. */
  readonly ready: string;
  readonly input: string;
  /** Called when it is ready. If it throws, the input is not sent, and the login fails with that error. */
  readonly beforeSend?: (() => Promise<unknown>) | undefined;
}

/** How a script ended. */
export interface ScriptResult {
  /** `undefined`: by a signal, or unknown. */
  readonly code: number | undefined;
  readonly output: Buffer;
  readonly errors: Buffer;
}

/**
 * Logs in and runs a script.
 * @throws {SshLoginError} no login, or the connection broke; `mayTakeEffect` once the input was sent
 */
export async function runScript(options: LoginOptions, script: Script): Promise<ScriptResult> {
  const deadline = startDeadline(options.clock, options.timeoutMs, options.signal);
  try {
    return await new Login(options, script).run(deadline.signal);
  } finally {
    deadline.end();
  }
}

/** One login. */
class Login {
  readonly #options: LoginOptions;
  readonly #script: Script;
  #hasSent = false;
  #isWrongHost = false;

  constructor(options: LoginOptions, script: Script) {
    this.#options = options;
    this.#script = script;
  }

  /** In one piece: each listener ends the same promise. */
  async run(signal: AbortSignal): Promise<ScriptResult> {
    const { host, port, username, hostKeys, privateKey } = this.#options;
    const serverHostKey = typesOf(hostKeys);
    if (serverHostKey.length === 0) {
      const text = 'no host key is recorded for it, and it could be any machine: switch "host-key-checking" on';
      throw this.#error('host-key', text);
    }
    const { default: ssh2 } = await import('ssh2'); // loaded on first use: it is slow
    const client = new ssh2.Client();
    return new Promise<ScriptResult>((resolve, reject) => {
      const onAbort = () => fail(this.#error('no-answer', (signal.reason as Error).message, signal.reason));
      const end = () => {
        signal.removeEventListener('abort', onAbort);
        client.destroy();
      };
      const fail = (error: Error) => {
        end();
        reject(error);
      };
      if (signal.aborted) return onAbort();
      signal.addEventListener('abort', onAbort, { once: true });
      client.on('error', (error: Error & ClientErrorExtensions) => fail(this.#failed(error)));
      client.once('close', () => fail(this.#error('no-answer', 'the connection was closed')));
      client.once('ready', () =>
        client.exec(this.#script.command, (error, channel) => {
          if (error) return fail(this.#error('not-done', `it runs no command: ${error.message}`, error));
          this.#talk(channel).then((result) => {
            end();
            resolve(result);
          }, fail);
        }),
      );
      try {
        client.connect({
          ...{ host, port, username, privateKey, readyTimeout: 0 },
          authHandler: ['publickey'],
          algorithms: { serverHostKey },
          hostVerifier: (blob: Buffer) => !(this.#isWrongHost = !isAmong(hostKeys, blob)),
        });
      } catch (error) {
        fail(this.#error('key-file', error instanceof Error ? error.message : String(error), error));
      }
    });
  }

  #talk(channel: ClientChannel): Promise<ScriptResult> {
    const { ready, input } = this.#script;
    let output = Buffer.alloc(0);
    let errors = Buffer.alloc(0);
    let code: number | undefined;
    let isAsked = false;
    return new Promise((resolve, reject) => {
      const send = async () => {
        await this.#script.beforeSend?.();
        this.#hasSent = true;
        channel.end(input);
      };
      channel.on('data', (chunk: Buffer) => {
        output = append(output, chunk);
        if (isAsked || !output.toString('latin1').split('\n').slice(0, -1).includes(ready)) return;
        isAsked = true;
        send().catch(reject);
      });
      channel.stderr.on('data', (chunk: Buffer) => (errors = append(errors, chunk)));
      channel.on('error', (error: Error) => reject(this.#error('no-answer', error.message, error)));
      channel.once('exit', (status: number | null) => (code = status ?? undefined));
      channel.once('close', () => {
        if (this.#hasSent || code !== undefined) resolve({ code, output, errors });
        else reject(this.#error('not-done', 'the command ended before it was ready'));
      });
    });
  }

  #failed(error: Error & ClientErrorExtensions): SshLoginError {
    const { username } = this.#options;
    if (this.#isWrongHost) {
      const text = 'it has another host key than recorded: if it was reinstalled, let the launcher read its key again';
      return this.#error('host-key', text, error);
    }
    if (error.level === 'client-authentication') {
      const text = `it refuses the launcher's key: add the public key to the authorized_keys of ${username}, or correct "lease-ssh-key"`;
      return this.#error('refused', text, error);
    }
    return this.#error('no-answer', error.message, error);
  }

  #error(failure: SshLoginError['failure'], text: string, cause?: unknown): SshLoginError {
    const { username, host, port } = this.#options;
    const message = `login as ${username} at ${host} port ${port} failed: ${text}`;
    return new SshLoginError(failure, message, { cause, mayTakeEffect: this.#hasSent });
  }
}

/** The algorithms with which a host can prove that it has one of the keys. */
function typesOf(hostKeys: readonly string[]): ServerHostKeyAlgorithm[] {
  const types = hostKeys.map((key) => key.split(' ', 1)[0] ?? '');
  return [
    ...new Set(types.flatMap((type) => (type === 'ssh-rsa' ? RSA_SIGNATURES : [type]))),
  ] as ServerHostKeyAlgorithm[];
}

function isAmong(hostKeys: readonly string[], blob: Buffer): boolean {
  const data = blob.toString('base64');
  return hostKeys.some((key) => key.split(' ')[1] === data);
}

function append(before: Buffer, chunk: Buffer): Buffer<ArrayBuffer> {
  return Buffer.concat([before, chunk]).subarray(0, MAX_BYTES);
}
