import { defineCommand, text } from '../command/command.js';
import { CliError } from '../command/errors.js';

/**
 * An image may have dashes in its name; the id of a build has none.
 * @throws CliError with status 1, as the original, whose parser takes any text
 */
function parseBuildName(name: string): { image: string; buildId: string } {
  const dash = name.lastIndexOf('-');
  if (dash > 0 && dash < name.length - 1) return { image: name.slice(0, dash), buildId: name.slice(dash + 1) };
  throw new CliError(`"${name}" is no id of a build: those are IMAGE-BUILD, as dib-image-list shows them`);
}

/** `nodepool dib-image-delete`. */
export const dibImageDeleteCommand = defineCommand({
  name: 'dib-image-delete',
  usage: '<id>',
  summary: 'delete a build of an image, and what was uploaded of it',
  positionals: { id: { type: 'string', demandOption: true, describe: 'id of the build, as dib-image-list shows it' } },
  parse: (values) => parseBuildName(text(values, 'id') ?? ''),
  run: async (context, args) => (await import('../images/mark-deleting.js')).deleteBuild(context, args),
});
