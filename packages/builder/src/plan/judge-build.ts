import { readyBuilds } from '@nodepool/core/service';
import type { Config } from '@nodepool/core';
import type { DiskimageConfig } from '@nodepool/core/config';
import type { ImageEntry } from '@nodepool/zk-protocol';
import { wantedUploads } from './plan-uploads.js';
import { isForUnserved } from './unserved-images.js';
import { isMadeByUpload, wantedFormats } from './wanted-formats.js';

/** Decision whether to build an image now, with the reason. */
export type BuildVerdict =
  | {
      readonly build: true;
      readonly why: 'requested' | 'no ready build' | 'too old' | 'lacks a format' | 'its builder is gone';
      /** Sorted. */
      readonly formats: readonly string[];
    }
  | {
      readonly build: false;
      readonly why: string;
      /** Time in ms since the epoch when the decision may change; `undefined` if only an event can change it. */
      readonly againMs?: number;
      /** A build is needed but waits for its retry time. */
      readonly isWanted?: true;
    };

/** Input of the decision, in addition to the configuration. */
export interface BuildSituation {
  /** Stored records of the image, if any. */
  readonly entry: ImageEntry | undefined;
  readonly nowMs: number;
  /** Name of this builder, compared with `builders` of the image. */
  readonly hostname: string;
  /** Since when the builder of the newest ready build is absent, in ms since the epoch; missing: it is here, or not known. */
  readonly absentSinceMs?: number | undefined;
}

/** A build whose builder is absent for so long is replaced if a provider lacks it, in ms. */
export const REPLACED_AFTER_MS = 3_600_000;

const no = (why: string): BuildVerdict => ({ build: false, why });

/**
 * Decides whether to build an image now: on request, without a build, with an expired build, without a wanted format, or if the
 * builder that has the files of the newest build is gone while a provider lacks them.
 */
export function judgeBuild(config: Config, image: DiskimageConfig, situation: BuildSituation): BuildVerdict {
  const { entry, nowMs, hostname } = situation;
  const formats = wantedFormats(config, image.name);
  if (image.abstract) return no('abstract');
  if (image.pause) return no('paused in the configuration');
  if (entry?.paused) return no('paused by a person');
  if (!isMeant(image, hostname) || isForUnserved(config, image.name)) return no('left to other builders');
  if (formats.length === 0) return no('no formats: no provider uses it, and it names none');
  const [newest] = readyBuilds(entry);
  const yes = (why: Extract<BuildVerdict, { build: true }>['why']): BuildVerdict => ({
    build: true,
    why,
    formats,
  });
  if (entry?.buildRequestedMs !== undefined) return yes('requested');
  if (!newest) return yes('no ready build');
  const lacks = formats.filter((format) => !newest.formats.includes(format));
  if (lacks.some((format) => !isMadeByUpload(config, image, newest.formats, format))) return yes('lacks a format');
  const lostMs = lostFromMs(config, image.name, situation);
  if (nowMs >= lostMs) return yes('its builder is gone');
  const dueMs = newest.stateTimeMs + image.rebuildAgeMs;
  if (nowMs >= dueMs) return yes('too old');
  return { build: false, why: 'the newest build is recent', againMs: Math.min(dueMs, lostMs) };
}

/** When the newest build is replaced because its files are out of reach; `Infinity`: not. */
function lostFromMs(config: Config, image: string, { entry, absentSinceMs }: BuildSituation): number {
  if (!entry || absentSinceMs === undefined) return Infinity;
  return wantedUploads(config, new Map([[image, entry]])).length > 0 ? absentSinceMs + REPLACED_AFTER_MS : Infinity;
}

/** Whether `builders` lists this host, with or without its domain. */
function isMeant({ builders }: DiskimageConfig, hostname: string): boolean {
  return builders === undefined || builders.includes(hostname) || builders.includes(hostname.split('.')[0] ?? hostname);
}
