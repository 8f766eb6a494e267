import { isMap, type Json } from '@nodepool/zk-protocol';
import { readRetryAfter } from '@nodepool/core';
import type { ServiceName } from './clouds/types.js';
import { OpenStackError, type FailureKind } from './errors.js';
import { kindOfText, saysQuota } from './fault-texts.js';
import type { TransportResponse } from './transport.js';

/** The call an answer belongs to. */
export interface CalledWith {
  readonly service: ServiceName;
  readonly method: string;
  readonly path: string;
}

const BY_STATUS: Readonly<Record<number, FailureKind>> = {
  400: 'bad-request',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not-found',
  409: 'conflict',
  410: 'not-found',
  412: 'conflict',
  413: 'rate',
  429: 'rate',
};
const LONGEST_REASON = 500;

/** The error for an answer. @param text - its body */
export function errorOfAnswer(
  call: CalledWith,
  response: TransportResponse,
  text: string,
  nowMs: number,
): OpenStackError {
  const reason = reasonIn(text);
  const { 'retry-after': retryAfter, date } = response.headers;
  const retryAfterMs = readRetryAfter({ retryAfter, date }, nowMs);
  const kind = kindOf(response.status, reason, retryAfterMs);
  const requestId = requestIdOf(response.headers);
  const where = requestId === undefined ? '' : ` (${requestId})`;
  const says = reasonOrRedirect(response, reason);
  const message = `${call.service}: ${call.method} ${call.path} was answered with ${response.status}${where}${says}`;
  return new OpenStackError(kind, message, { ...call, status: response.status, requestId, retryAfterMs, reason });
}

/** The error for a call without an answer, or with an invalid one. */
export function errorWithoutAnswer(call: CalledWith, what: string, cause?: unknown): OpenStackError {
  return new OpenStackError('unavailable', `${call.service}: ${call.method} ${call.path} ${what}`, { ...call, cause });
}

/** The id under which the service logs the call. */
export function requestIdOf(headers: TransportResponse['headers']): string | undefined {
  return headers['x-openstack-request-id'] ?? headers['x-compute-request-id'];
}

function kindOf(status: number, reason: string | undefined, retryAfterMs: number | undefined): FailureKind {
  const said = reason === undefined ? undefined : kindOfText(reason);
  if (reason !== undefined && saysQuota(reason)) return 'quota';
  if (said !== undefined && (status === 403 || status === 409 || status === 413)) return said;
  if (status === 503 && retryAfterMs !== undefined) return 'rate';
  const known = BY_STATUS[status];
  if (known !== undefined) return known;
  return status >= 400 && status < 500 ? 'bad-request' : 'unavailable';
}

function reasonOrRedirect(response: TransportResponse, reason: string | undefined): string {
  const { location } = response.headers;
  if (response.status >= 300 && response.status < 400 && location !== undefined) {
    const target = URL.canParse(location) ? new URL(location).origin : location;
    return `: it points to ${target}, where no token is sent. Correct the endpoint, or override it in clouds.yaml`;
  }
  return reason === undefined ? '' : `: ${reason}`;
}

/** The message in an error document of any service; `undefined` if it has none. */
export function reasonIn(text: string): string | undefined {
  if (text === '') return undefined;
  let document: Json;
  try {
    document = JSON.parse(text) as Json;
  } catch {
    return shorten(text.replaceAll(/<(style|script)[\s\S]*?<\/\1>|<[^>]+>/gi, ' '));
  }
  return shorten(findMessage(document) ?? '');
}

function findMessage(document: Json): string | undefined {
  if (typeof document === 'string') return document;
  if (!isMap(document)) return undefined;
  for (const key of ['message', 'NeutronError', 'error', 'detail', 'title']) {
    const value = document[key];
    if (typeof value === 'string' && value !== '') return value;
    const inner = isMap(value) ? findMessage(value) : undefined;
    if (inner !== undefined) return inner;
  }
  for (const value of Object.values(document)) {
    const inner = isMap(value) ? findMessage(value) : undefined;
    if (inner !== undefined) return inner;
  }
  return undefined;
}

function shorten(text: string): string | undefined {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  if (line === '') return undefined;
  return line.length > LONGEST_REASON ? `${line.slice(0, LONGEST_REASON)}…` : line;
}
