import type { Config } from '@nodepool/core';
import type { DiskimageConfig } from '@nodepool/core/config';
import type { ImageEntry } from '@nodepool/zk-protocol';
import { readyBuilds } from './newest-builds.js';
import { isMadeByUpload, wantedFormats } from './wanted-formats.js';

/** Whether an image should be built now, and why. */
export type BuildVerdict =
  | {
      readonly build: true;
      readonly why: 'requested' | 'no ready build' | 'too old' | 'lacks a format';
      /** Sorted. */
      readonly formats: readonly string[];
      /** The newest ready build that was looked at; the decision holds while that is still the newest. */
      readonly basedOn: string | undefined;
    }
  | {
      readonly build: false;
      readonly why: string;
      /** When the answer may change by itself, in ms since the epoch; `undefined`: only by an event. */
      readonly againMs?: number;
      /** A build is wanted, and waits for the time to try again. */
      readonly isWanted?: true;
    };

/** What a decision needs besides the configuration. */
export interface BuildSituation {
  /** What is stored about the image; `undefined`: nothing. */
  readonly entry: ImageEntry | undefined;
  readonly nowMs: number;
  /** Name of the builder that decides, for `builders` of the image. */
  readonly hostname: string;
}

const no = (why: string): BuildVerdict => ({ build: false, why });

/** Decides whether an image is built now: asked for by a person, missing, too old, or lacking a format. */
export function judgeBuild(config: Config, image: DiskimageConfig, situation: BuildSituation): BuildVerdict {
  const { entry, nowMs, hostname } = situation;
  const formats = wantedFormats(config, image.name);
  if (image.abstract) return no('abstract');
  if (image.pause) return no('paused in the configuration');
  if (entry?.paused) return no('paused by a person');
  if (!isMeant(image, hostname)) return no('left to other builders');
  if (formats.length === 0) return no('no formats: no provider uses it, and it names none');
  const [newest] = readyBuilds(entry);
  const yes = (why: Extract<BuildVerdict, { build: true }>['why']): BuildVerdict => ({
    build: true,
    why,
    formats,
    basedOn: newest?.id,
  });
  if (entry?.buildRequestedMs !== undefined) return yes('requested');
  if (!newest) return yes('no ready build');
  const lacks = formats.filter((format) => !newest.formats.includes(format));
  if (lacks.some((format) => !isMadeByUpload(config, image, newest.formats, format))) return yes('lacks a format');
  const dueMs = newest.stateTimeMs + image.rebuildAgeMs;
  if (nowMs >= dueMs) return yes('too old');
  return { build: false, why: 'the newest build is recent', againMs: dueMs };
}

/** `builders` has host names, with domain or without. */
function isMeant({ builders }: DiskimageConfig, hostname: string): boolean {
  return builders === undefined || builders.includes(hostname) || builders.includes(hostname.split('.')[0] ?? hostname);
}
