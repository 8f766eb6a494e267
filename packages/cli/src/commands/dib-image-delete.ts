import { buildPath, decodeBuild, encodeBuild, withBuild } from '@nodepool/zk-protocol';
import { defineCommand, text } from '../command/command.js';
import type { CliContext } from '../command/context.js';
import { CliError } from '../command/errors.js';
import { changeImageRecord } from '../images/change-image-record.js';

/** `nodepool dib-image-delete`. */
export const command = defineCommand({
  positionals: { id: { type: 'string', demandOption: true, describe: 'id of the build, as dib-image-list shows it' } },
  parse: (values) => ({ id: text(values, 'id') ?? '' }),
  run: (context, { id }) => deleteBuild(context, id),
});

/**
 * `nodepool dib-image-delete`: the builder that has the build removes its uploads, files and record.
 * @param name - `<image>-<build id>`
 */
async function deleteBuild(context: CliContext, name: string): Promise<void> {
  const { image, buildId } = parseBuildName(name);
  const missing = `Build ${image}-${buildId} not found`;
  await changeImageRecord(context, { path: buildPath(image, buildId), missing }, ({ data, stat }) => {
    const nowMs = context.clock.now();
    const record = decodeBuild({ image, id: buildId }, data, stat, nowMs);
    if (!record) return { stays: missing };
    if (record.state === 'building') return { stays: 'Cannot delete a build in progress' };
    return { body: encodeBuild(withBuild(record, { state: 'deleting' }, nowMs)) };
  });
}

/**
 * An image may have dashes in its name; the id of a build has none.
 * @throws CliError with status 1, as the original, whose parser takes any text
 */
function parseBuildName(name: string): { image: string; buildId: string } {
  const dash = name.lastIndexOf('-');
  if (dash > 0 && dash < name.length - 1) return { image: name.slice(0, dash), buildId: name.slice(dash + 1) };
  throw new CliError(`"${name}" is no id of a build: those are IMAGE-BUILD, as dib-image-list shows them`);
}
