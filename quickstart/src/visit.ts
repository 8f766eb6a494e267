// What `nodepool run` starts in the quick start, with nodes in its environment: logs in to each, having compared the host
// key it meets with those the launcher has read, and runs a command there.
import { existsSync, readFileSync } from 'node:fs';
import { delimiter } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import ssh2 from 'ssh2';

/** The part of a `NODEPOOL_NODES` entry that is used here. */
interface Node {
  readonly id: string;
  readonly name: string;
  readonly ip: string;
  readonly port: number;
  readonly username: string;
  /** `<type> <base64>`, as in `known_hosts`. */
  readonly host_keys: readonly string[];
}

/** Shell command of the visit. The first argument says how many seconds the work takes. */
const COMMAND = `sleep ${Number(process.argv[2] ?? 0)}; echo "hello from \${USER:-$HOSTNAME} on $(uname -s)"`;
/** The second argument is a file: the nodes are kept while it is there, but not for longer than this. */
const KEEP_LIMIT_MS = 60_000;
const POLL_MS = 50;
const CONNECT_TIMEOUT_MS = 30_000;

/** Logs in, runs the command, and returns what it wrote with its exit status. */
function execute(node: Node, privateKeys: readonly Buffer[]): Promise<{ output: string; status: number }> {
  const known = new Set(node.host_keys.map((line) => line.split(' ')[1]));
  const client = new ssh2.Client();
  return new Promise((resolve, reject) => {
    client.on('error', reject);
    client.on('ready', () => {
      client.exec(COMMAND, (error, channel) => {
        if (error) return reject(error);
        let output = '';
        let status = 1;
        const keep = (data: Buffer) => (output += data.toString());
        channel.on('data', keep);
        channel.stderr.on('data', keep);
        channel.on('exit', (code: number | null) => (status = code ?? 1));
        channel.on('close', () => {
          client.end();
          resolve({ output: output.trim(), status });
        });
      });
    });
    client.connect({
      host: node.ip,
      port: node.port,
      username: node.username,
      authHandler: privateKeys.map((key) => ({ type: 'publickey' as const, username: node.username, key })),
      hostVerifier: (key: Buffer) => known.has(key.toString('base64')),
      readyTimeout: CONNECT_TIMEOUT_MS,
    });
  });
}

const nodes = JSON.parse(process.env['NODEPOOL_NODES'] ?? '[]') as Node[];
const keyFiles = (process.env['QUICKSTART_KEYS'] ?? '').split(delimiter);
const privateKeys = keyFiles.filter((file) => existsSync(file)).map((file) => readFileSync(file));
for (const node of nodes) {
  const { output, status } = await execute(node, privateKeys);
  const result = status === 0 ? '' : ` (status ${status})`;
  console.log(`logged in to ${node.username}@${node.ip}:${node.port}, host key verified: ${output}${result}`);
  if (status !== 0) process.exitCode = status;
}
const keep = process.argv[3];
for (const endMs = Date.now() + KEEP_LIMIT_MS; keep !== undefined && existsSync(keep) && Date.now() < endMs;) {
  await delay(POLL_MS);
}
