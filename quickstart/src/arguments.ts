import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { QuickStartError } from './terminal.js';

/** Top folder of the checkout. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** What `npm start -- --help` prints. */
export const HELP = `npm start [-- OPTION... LABEL...]

Runs all of Nodepool on this computer: a service that lends machines, a few machines to lend, and a small
cloud. Jobs ask for machines, use them over SSH and give them back, until Ctrl-C. Nothing outside of this
checkout is changed.

  LABEL            ask only for machines with these labels, all at the same time
  --once           end after one round: one job on a fixed machine, then three jobs in the cloud
  -c FILE          use this configuration, with machines of yours: see "npx nodepool init"
                   default: quickstart/nodepool.yaml
  --key FILE       private key to log in to your machines with; default: those that ssh finds
  --state-dir DIR  where keys, logs and data are kept; default: .nodepool/quickstart
  -h, --help       show this

Examples:
  npm start -- --once
  npm start -- --once small large
  npm start -- --once -c nodepool.yaml`;

/** What the command line says. */
export interface QuickStartArguments {
  readonly help: boolean;
  readonly once: boolean;
  readonly stateDir: string;
  readonly file: string;
  /** Private key for machines of the user. */
  readonly key: string | undefined;
  readonly labels: readonly string[];
}

/** @throws QuickStartError for what is no option */
export function readArguments(
  args: readonly string[],
  directory = process.env['INIT_CWD'] ?? process.cwd(),
): QuickStartArguments {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        once: { type: 'boolean', default: false },
        'state-dir': { type: 'string', default: join(ROOT, '.nodepool', 'quickstart') },
        key: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
        c: { type: 'string', short: 'c', default: join(ROOT, 'quickstart', 'nodepool.yaml') },
      },
    });
    const { help, once, key } = values;
    const stateDir = resolve(directory, values['state-dir']);
    const file = resolve(directory, values.c);
    return {
      help,
      once,
      stateDir,
      file,
      key: key === undefined ? undefined : resolve(directory, key),
      labels: positionals,
    };
  } catch (error) {
    throw new QuickStartError(`${(error as Error).message.replace(/\. .*/s, '')}\nTry: npm start -- --help`);
  }
}
