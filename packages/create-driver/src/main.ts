import { parseArgs } from 'node:util';
import { createDriver } from './create-driver.js';

const USAGE = `usage: npm create @nodepool/driver FOLDER [-- --name NAME]

Makes a Nodepool driver in FOLDER, such as nodepool-driver-acme, from a whole one for a small HTTP cloud: sources, a fake
cloud, the driver contract as tests, and the guide. NAME is what configurations say; default: the folder's name without
nodepool-driver-.
`;
const USAGE_STATUS = 2;

/**
 * Runs the command line and sets the exit status: 0 success, 1 failure, 2 usage error.
 * @param argv - without node and script
 */
export async function main(argv: readonly string[]): Promise<void> {
  const asked = parse(argv);
  if (asked === undefined) {
    process.stderr.write(USAGE);
    process.exitCode = USAGE_STATUS;
  } else if (asked === 'help') {
    process.stdout.write(USAGE);
  } else {
    await create(asked);
  }
}

async function create(asked: { folder: string; name: string | undefined }): Promise<void> {
  try {
    const { path, name } = await createDriver(asked);
    process.stdout.write(`The driver "${name}" is in ${path}. Next:

  cd ${path}
  npm install
  npm test

docs/writing-a-driver.md says what to change, in which order.
`);
  } catch (error) {
    process.stderr.write(`create-driver: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}

function parse(argv: readonly string[]): { folder: string; name: string | undefined } | 'help' | undefined {
  try {
    const { values, positionals } = parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: { name: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
    });
    if (values.help) return 'help';
    const [folder] = positionals;
    return folder === undefined || positionals.length > 1 ? undefined : { folder, name: values.name };
  } catch {
    return undefined; // unknown option
  }
}
