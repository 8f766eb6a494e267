import { requestBuild } from '@nodepool/zk-protocol';
import { silentLogger } from '@nodepool/core';
import { formatAge, imageWorkToText } from '@nodepool/core/service';
import type { CliContext } from '../command/context.js';
import { inform } from '../command/context.js';
import { fetchImageWork, hasBuilder, NO_BUILDER } from './ask-builders.js';
import type { StoredImages } from './with-images.js';

/**
 * Requests a build, and tells the user what it waits for: the end of a pause or of a build in progress, or what blocks builders.
 * @returns time of the request in ms since the epoch
 */
export async function orderBuild(context: CliContext, stored: StoredImages, image: string): Promise<number> {
  const { zk, images } = stored;
  const entry = images.get(image);
  const nowMs = context.clock.now();
  const building = [...(entry?.builds.values() ?? [])].find(({ state }) => state === 'building');
  // a request ends what blocks an earlier one, so that is asked for before
  const before = entry?.buildRequestedMs === undefined ? undefined : await findBlocks(context, stored, image);
  const { stat, earlierMs } = await requestBuild(zk, image);
  if (entry?.paused === true) {
    inform(`nodepool: ${image} is paused; the build starts after nodepool image-unpause ${image}`);
  } else if (building) {
    const { id, builder, stateTimeMs } = building;
    const since = formatAge(Math.max(0, nowMs - stateTimeMs));
    inform(`nodepool: build ${id} of ${image} runs on ${builder ?? 'a builder'} for ${since}; another one follows it`);
  } else {
    const since = formatAge(Math.max(0, nowMs - (earlierMs ?? nowMs)));
    const after = await findBlocks(context, stored, image);
    const blocks = after.size > 0 ? after : (before ?? after);
    const now = after.size > 0 ? '' : '; builders try again now';
    const why = blocks.size > 0 ? `${now}; this blocked it:` : now;
    if (earlierMs !== undefined) inform(`nodepool: a request of ${image} has waited for ${since}${why}`);
    for (const reason of blocks.values()) inform(`${image}: ${reason}`);
  }
  if (!(await hasBuilder({ ...context, zk }))) inform(NO_BUILDER);
  return stat.mtime;
}

/** Why builders cannot start a build of the image, by builder and cause. */
export async function findBlocks(
  context: CliContext,
  { zk }: Pick<StoredImages, 'zk'>,
  image: string,
): Promise<Map<string, string>> {
  const nowMs = context.clock.now();
  // Do not warn of a builder that does not answer: another one may start the build.
  const work = await fetchImageWork({ ...context, zk, logger: silentLogger });
  const blocked = work.filter((one) => one.image === image && one.provider === null && one.phase === 'blocked');
  return new Map(blocked.map((one) => [`${one.builder} ${one.error ?? ''}`, imageWorkToText(one, nowMs)]));
}
