import { lstat, readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { defineCommand, text } from '../command/command.js';
import { print, inform } from '../command/context.js';
import { CliError } from '../command/errors.js';
import { shellWord } from '@nodepool/core/service';
import { sshKeygen } from '../command/ssh-keygen.js';

/** Where the examples of the documentation have the public key on a machine. */
const ON_MACHINES = '/etc/ssh/lease_ca.pub';

/** `nodepool ca`. */
export const command = defineCommand({
  positionals: {
    action: { type: 'string', demandOption: true, choices: ['create'], describe: 'what to do' },
    path: { type: 'string', demandOption: true, describe: 'new file for the private key' },
  },
  parse: (values) => ({ file: resolve(text(values, 'path') ?? '') }),
  run: (_context, { file }) => createCa(file),
});

/** `nodepool ca create`: makes a key pair, and prints the public key alone. @throws CliError */
async function createCa(file: string): Promise<void> {
  for (const name of [file, `${file}.pub`]) {
    if (await isThere(name))
      throw new CliError(`${name} exists: name another file, or remove it if no machine trusts it`);
  }
  const words = ['-q', '-t', 'ed25519', '-N', '', '-C', 'nodepool-leases', '-f', file];
  await sshKeygen(`Cannot make ${file} with ssh-keygen`, words);
  inform(adviceFor(file));
  print((await readFile(`${file}.pub`, 'utf8')).trim());
}

/** Also a link that leads nowhere. */
async function isThere(file: string): Promise<boolean> {
  try {
    await lstat(file);
    return true;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return false;
    throw new CliError(`Cannot make ${file}: ${message}`, { cause: error });
  }
}

function adviceFor(file: string): string {
  return [
    `The private key is ${file}. Who can read it can log in to every machine that trusts it.`,
    'Launchers sign with it, each with a copy of mode 600 that belongs to its user, and this line in nodepool.yaml:',
    `  lease-ca-key: ${file}`,
    `Machines trust it with this line in /etc/ssh/sshd_config, and with the line below in ${ON_MACHINES}:`,
    `  TrustedUserCAKeys ${ON_MACHINES}`,
    'Then set lease-certificates of their providers. With that line alone it is "user": a certificate opens all these machines.',
    `With "host" it opens one; nodepool init USER@HOST... --lease-ca ${shellWord(file)} shows the lines of each machine, and checks them.`,
    'The public key:',
  ].join('\n');
}
