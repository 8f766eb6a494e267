import {
  buildContentsFromJson,
  compareContents,
  contentsChangeListing,
  formatAge,
  readyBuilds,
} from '@nodepool/core/service';
import type { BuildContents } from '@nodepool/core/service';
import type { BuildRecord, ImageEntry } from '@nodepool/zk-protocol';
import { defineCommand, text } from '../command/command.js';
import { inform } from '../command/context.js';
import type { CliContext } from '../command/context.js';
import { CliError } from '../command/errors.js';
import { UsageError } from '../command/usage-error.js';
import type { RecordSource } from '../connection/fetch-records.js';
import { asJson, askBuilder, builderUrls } from '../images/ask-builders.js';
import { withImages } from '../images/with-images.js';
import { printListing } from '../terminal/output.js';
import { IMAGE } from './shared-options.js';

const BUILD = 'id of a build; default: the previous and the newest one that are ready';

/** `nodepool image-diff`. */
export const command = defineCommand({
  positionals: {
    image: IMAGE,
    older: { type: 'string', describe: BUILD },
    newer: { type: 'string', describe: BUILD },
  },
  reads: true,
  parse: (values) => {
    const [older, newer] = [text(values, 'older'), text(values, 'newer')];
    if ((older === undefined) !== (newer === undefined)) throw new UsageError('name both builds, or none');
    const builds = older === undefined || newer === undefined ? undefined : ([older, newer] as const);
    return { image: text(values, 'image') ?? '', builds };
  },
  run: diffImages,
});

/** An image and two of its builds; default: the previous and the newest one. */
interface DiffSubject {
  readonly image: string;
  readonly builds: readonly [older: string, newer: string] | undefined;
}

/**
 * `nodepool image-diff`: sizes of two builds, and packages and repositories that differ, from the manifests of their builders.
 * @throws CliError when a build does not exist, or no builder has its files
 */
async function diffImages(context: CliContext, subject: DiffSubject): Promise<void> {
  const changes = await withImages(context, async ({ zk, images }) => {
    const source = { ...context, zk };
    const [older, newer] = choose(images.get(subject.image), subject);
    const urls = await builderUrls(source);
    const [before, after] = await Promise.all([older, newer].map((build) => contentsOf(source, urls, build)));
    if (!before || !after) return [];
    announce(context, older, newer);
    if (before.packages === null || after.packages === null) {
      inform('nodepool: packages are not compared: a build has no list of them (made by the element dpkg)');
    }
    return compareContents(before, after);
  });
  printListing(context, contentsChangeListing, changes);
}

function announce({ clock }: CliContext, older: BuildRecord, newer: BuildRecord): void {
  const describe = ({ id, stateTimeMs }: BuildRecord) => `${id} (${formatAge(clock.now() - stateTimeMs)} old)`;
  inform(`${older.image}: from build ${describe(older)} to build ${describe(newer)}`);
}

function choose(entry: ImageEntry | undefined, { image, builds }: DiffSubject): [BuildRecord, BuildRecord] {
  const known = [...(entry?.builds.values() ?? [])];
  if (known.length === 0) throw new CliError(`There is no build of image ${image}: see dib-image-list`);
  if (builds) return [named(known, image, builds[0]), named(known, image, builds[1])];
  const [newer, older] = readyBuilds(entry);
  if (newer && older) return [older, newer];
  throw new CliError(
    `Image ${image} has ${newer ? 'one build' : 'no build'} that is ready: there is nothing to compare`,
  );
}

/** By its id, as `dib-image-list` shows it or without the image's name. */
function named(builds: readonly BuildRecord[], image: string, name: string): BuildRecord {
  const found = builds.find(({ id }) => id === name || `${image}-${id}` === name);
  if (found) return found;
  const ids = builds.map(({ id }) => id).join(', ');
  throw new CliError(`Image ${image} has no build ${name}, it has ${ids}`);
}

async function contentsOf(
  source: RecordSource,
  urls: readonly string[],
  { image, id, builder }: BuildRecord,
): Promise<BuildContents> {
  const path = `/image-contents?${new URLSearchParams({ build: `${image}-${id}` }).toString()}`;
  for (const url of urls) {
    const contents = buildContentsFromJson(await askBuilder(source, url, path, asJson));
    if (contents) return contents;
  }
  throw new CliError(
    `No builder has answered with the contents of build ${id} of ${image}: it was made by ${builder ?? 'an unknown builder'}, ` +
      'which must run, answer on an address that can be reached from here (builder-webapp), and have the files',
  );
}
