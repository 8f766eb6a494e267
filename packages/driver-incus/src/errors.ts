import {
  CapacityError,
  ConfigError,
  LaunchError,
  NotFoundError,
  ProviderUnavailableError,
  QuotaError,
} from '@nodepool/core';
import type { ApiOperation } from './api.js';

/** An instance of this name exists. */
export class AlreadyExistsError extends LaunchError {}

/** The instance is not in a state in which the call is possible, or another operation is running. */
export class InstanceBusyError extends ProviderUnavailableError {}

/** The daemon does not trust the client certificate. */
export class UntrustedError extends ProviderUnavailableError {}

const MOST_LINES = 3;
const MOST_OF_A_LINE = 300;

type ErrorOf = (message: string) => Error;

/** An error of the configuration, with what the operator can do. */
function config(reason: string, nextStep: string): ErrorOf {
  return (message) => new ConfigError(`${message}: ${nextStep}`, [], { reason, nextStep });
}

/** An error that says how to repair it. */
function because(kind: new (message: string) => Error, remedy: string): ErrorOf {
  return (message) => new kind(`${message}: ${remedy}`);
}

const MISSING_IMAGE =
  /image (alias )?not found|image not provided|requested image couldn't be found|failed getting (remote )?image/;
const FULL =
  /no space left|disk quota exceeded|out of space|(not enough|insufficient) (free )?space|data space is full/;
const NO_MEMBER =
  /no suitable cluster member|member .*(is )?(offline|evacuated|not online)|missing event connection|couldn't find .*member/;

/** The server that images come from does not answer, which says nothing about the image. */
const IMAGE_SERVER_AWAY =
  /image.*(dial tcp|no such host|name resolution|time(d )?-?out|deadline exceeded|connection (refused|reset)|unreachable|no route|\beof\b|tls handshake|\b(429|50\d)\b)/;

/** Errors by text, as the API has no codes for them; the first match wins. */
const BY_TEXT: readonly (readonly [RegExp, ErrorOf])[] = [
  [/^reached maximum|would exceed|exceeds? (the )?(project )?limits?/, (text) => new QuotaError(text)],
  [/reached maximum/, (text) => new QuotaError(text)],
  [FULL, because(CapacityError, 'free space in the storage pool, or enlarge it')],
  [NO_MEMBER, because(CapacityError, 'check "cluster list"; other zones of the pool are used meanwhile')],
  [
    /has no "limits\.\w+" config/,
    config('LimitMissing', 'set "cpu", "memory" or "disk" of the label, as the project demands'),
  ],
  [/already exists|name .* already in use/, (text) => new AlreadyExistsError('status', text)],
  [
    /is busy|instance is running|already (running|stopped)|not (running|stopped)/,
    (text) => new InstanceBusyError(text),
  ],
  [IMAGE_SERVER_AWAY, because(ProviderUnavailableError, 'the image server does not answer; it is tried again')],
  [MISSING_IMAGE, config('ImageMissing', 'correct the image of the label, or import it ("image list" shows all)')],
  [/image's type .* doesn't match/, config('ImageTypeWrong', 'set "type" of the label to that of its image')],
  [
    /profile ".*" doesn't exist/,
    config('ProfileMissing', 'correct "profiles" of the label ("profile list" shows all)'),
  ],
  [/storage pool not found/, config('StoragePoolMissing', 'correct "storage-pool" ("storage list" shows all)')],
  [/network not found/, config('NetworkMissing', 'correct "network" ("network list" shows all)')],
  [/project not found/, config('ProjectMissing', 'correct "project" of the provider ("project list" shows all)')],
  [
    /failed to fetch instance/,
    config('SourceMissing', 'correct "clone-from" of the label: INSTANCE or INSTANCE/SNAPSHOT'),
  ],
  [/no root (disk )?device/, config('RootDiskMissing', 'set "storage-pool", or use a profile with a root disk')],
  [
    /target only allowed when clustered/,
    config('ZoneMissing', 'remove "availability-zones": the server is not in a cluster'),
  ],
  [
    /unknown configuration key|invalid (devices|config|value|device)|device validation failed/,
    (text) => new ConfigError(text),
  ],
  [
    /certificate is restricted|not allowed in project|is forbidden|restricted/,
    config('Forbidden', 'allow it in the project'),
  ],
];

/** The error of a refused call. @param what - the call, for the message */
export function errorOfAnswer(what: string, status: number, reason: string): Error {
  const message = `${what}: ${status}: ${shortened(reason)}`;
  if (status === 401 || (status === 403 && /not authorized|forbidden|trust/i.test(reason))) {
    return new UntrustedError(
      `${message}: the daemon does not trust this client: add its certificate ("config trust add FILE"), or set trust-token`,
    );
  }
  // what a creation refers to is missing, else what the call is about
  if (status === 404 && !what.startsWith('POST')) return new NotFoundError(message);
  const byText = find(reason);
  if (byText) return byText(message);
  if (status === 404) return new NotFoundError(message);
  return status === 400 ? new ConfigError(message) : new ProviderUnavailableError(message);
}

/** The error of an operation; `undefined` if it succeeded or is running. */
export function errorOfOperation(what: string, { status_code: code, err, status }: ApiOperation): Error | undefined {
  if (code < 400) return undefined;
  const reason = err === '' ? status : err;
  const message = `${what}: ${shortened(reason)}`;
  return find(reason)?.(message) ?? new LaunchError('status', message);
}

/** The daemon quotes whole outputs of programs, such as a line of tar for each file: their first and last line say it. */
function shortened(reason: string): string {
  const lines = reason.split('\n').filter((line) => line.trim() !== '');
  const [first = '', last = ''] = [lines[0], lines.at(-1)];
  const kept = lines.length > MOST_LINES ? [first, `(${lines.length - 2} more lines)`, last] : lines;
  return kept.map((line) => line.trim().slice(0, MOST_OF_A_LINE)).join(' ');
}

function find(reason: string): ErrorOf | undefined {
  return BY_TEXT.find(([pattern]) => pattern.test(reason.toLowerCase()))?.[1];
}
