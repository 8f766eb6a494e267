import { spawn } from 'node:child_process';
import { timingSafeEqual } from 'node:crypto';
import type { AuthContext, Connection, ParsedKey, ServerChannel } from 'ssh2';

/** What a connection may do. */
export interface SshAccess {
  /** Holders of these keys are let in, under any user name. */
  readonly allowed: readonly ParsedKey[];
  /** Where commands run. */
  readonly home: string;
  /** What the instance calls itself. */
  readonly hostname: string;
}

/** Where commands are looked for. */
const SEARCH_PATH = '/usr/local/bin:/usr/bin:/bin';

/** Serves one connection: logs in holders of allowed keys, and runs their commands, or a shell that reads its input. */
export function serveConnection(connection: Connection, access: SshAccess): void {
  connection.on('error', () => {}); // Key scans and clients that hang up; `close` follows and is what counts.
  connection.on('authentication', (context) => authenticate(context, access.allowed));
  connection.on('ready', () => {
    connection.on('session', (acceptSession) => {
      const session = acceptSession();
      session.on('pty', (accept) => accept?.());
      session.on('env', (accept) => accept?.());
      session.on('exec', (accept, _reject, { command }) => run(accept(), access, ['-c', command]));
      session.on('shell', (accept) => run(accept(), access, []));
    });
  });
}

function authenticate(context: AuthContext, allowed: readonly ParsedKey[]): void {
  if (context.method !== 'publickey') return context.reject(['publickey']);
  const key = allowed.find((one) => isSame(one.getPublicSSH(), context.key.data));
  if (!key) return context.reject(['publickey']);
  // Without a signature the client only asks whether this key would do.
  if (!context.signature) return context.accept();
  if (!context.blob || key.verify(context.blob, context.signature, context.hashAlgo) !== true) {
    return context.reject(['publickey']);
  }
  context.accept();
}

function isSame(a: Buffer, b: Buffer): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

function run(channel: ServerChannel, { home, hostname }: SshAccess, args: readonly string[]): void {
  const child = spawn('/bin/sh', args, {
    cwd: home,
    env: { PATH: SEARCH_PATH, HOME: home, HOSTNAME: hostname },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  channel.pipe(child.stdin);
  child.stdin.on('error', () => {}); // A command need not read its input.
  child.stdout.pipe(channel, { end: false });
  child.stderr.pipe(channel.stderr, { end: false });
  channel.on('close', () => child.kill('SIGHUP'));
  child.on('error', (error) => {
    channel.stderr.write(`cannot run a shell: ${error.message}\n`);
    channel.exit(127);
    channel.end();
  });
  child.on('close', (code, signal) => {
    if (code === null) channel.exit(signal ?? 'TERM');
    else channel.exit(code);
    channel.end();
  });
}
