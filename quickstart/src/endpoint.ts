// An SSH server of its own process: the machine behind one node of the quick start.
//
// It listens on loopback only, lets in one user with one key, and runs what that user asks for through the system's
// shell, as any SSH server does: the holder of the key may run anything as the user who called `npm start`. The key
// is made for this checkout and never leaves it.
import { spawn } from 'node:child_process';
import { timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import ssh2 from 'ssh2';
import type { AuthContext, Connection, ParsedKey, ServerChannel } from 'ssh2';

/** What the parent process tells this one, as JSON in its only argument. */
export interface EndpointOptions {
  readonly host: string;
  readonly port: number;
  readonly username: string;
  /** Private keys of the server. */
  readonly hostKeyFiles: readonly string[];
  /** Public key of the one client that may log in. */
  readonly clientKeyFile: string;
  /** Where commands run. */
  readonly home: string;
}

function equal(a: Buffer, b: Buffer): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

function authenticate(context: AuthContext, username: string, allowed: ParsedKey): void {
  if (context.method !== 'publickey' || context.username !== username) return context.reject(['publickey']);
  if (context.key.algo !== allowed.type || !equal(context.key.data, allowed.getPublicSSH())) return context.reject();
  // without a signature the client only asks whether this key would do
  if (context.signature === undefined || context.blob === undefined) return context.accept();
  if (allowed.verify(context.blob, context.signature, context.hashAlgo) === true) return context.accept();
  context.reject();
}

function runCommand(channel: ServerChannel, command: string, { home, username }: EndpointOptions): void {
  const env = { PATH: process.env['PATH'], HOME: home, USER: username, LOGNAME: username };
  const child = spawn(command, { shell: true, cwd: home, env });
  channel.pipe(child.stdin);
  child.stdin.on('error', () => {}); // the command does not read its input to the end: its choice
  child.stdout.pipe(channel, { end: false });
  child.stderr.pipe(channel.stderr, { end: false });
  child.once('error', (error) => {
    channel.stderr.write(`${error.message}\n`);
    channel.exit(127);
    channel.end();
  });
  child.once('close', (code, signal) => {
    if (signal === null) channel.exit(code ?? 1);
    else channel.exit(signal.replace(/^SIG/, ''));
    channel.end();
  });
  channel.once('close', () => child.kill());
}

function serve(client: Connection, options: EndpointOptions, allowed: ParsedKey): void {
  client.on('error', () => {}); // a client that goes away, or only looks at the host keys
  client.on('authentication', (context) => authenticate(context, options.username, allowed));
  client.on('session', (acceptSession) => {
    acceptSession().on('exec', (acceptExec, _reject, { command }) => runCommand(acceptExec(), command, options));
  });
}

function readPublicKey(file: string): ParsedKey {
  const key = ssh2.utils.parseKey(readFileSync(file));
  if (key instanceof Error) throw key;
  return key;
}

const options = JSON.parse(process.argv[2] ?? '') as EndpointOptions;
const allowed = readPublicKey(options.clientKeyFile);
const hostKeys = options.hostKeyFiles.map((file) => readFileSync(file));
const server = new ssh2.Server({ hostKeys }, (client) => serve(client, options, allowed));
server.listen(options.port, options.host, () => console.log('listening'));
process.on('SIGTERM', () => process.exit(0));
