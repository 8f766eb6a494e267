import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { QuickStartError } from './terminal.js';

/** Top folder of the checkout. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** What the command line says. */
export interface QuickStartArguments {
  readonly once: boolean;
  /** Containers of the user's Incus or LXD in place of the simulated cloud. */
  readonly incus: boolean;
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
        incus: { type: 'boolean', default: false },
        'state-dir': { type: 'string' },
        identity: { type: 'string' },
        c: { type: 'string', short: 'c' },
      },
    });
    const { once, incus, identity, c = join(ROOT, 'quickstart', incus ? 'incus.yaml' : 'nodepool.yaml') } = values;
    const usual = join(ROOT, '.nodepool', incus ? 'quickstart-incus' : 'quickstart');
    const stateDir = resolve(directory, values['state-dir'] ?? usual);
    const file = resolve(directory, c);
    return {
      once,
      incus,
      stateDir,
      file,
      key: identity === undefined ? undefined : resolve(directory, identity),
      labels: positionals,
    };
  } catch (error) {
    throw new QuickStartError(`${(error as Error).message.replace(/\. .*/s, '')}\nTry: npm start -- --help`);
  }
}
