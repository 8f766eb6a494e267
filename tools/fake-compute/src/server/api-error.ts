import type { JsonObject } from '@nodepool/zk-protocol';

/**
 * A refusal, with the reasons that Compute Engine gives.
 * https://cloud.google.com/compute/docs/troubleshooting/troubleshooting-api-errors
 */
export class ApiError extends Error {
  readonly status: number;
  readonly reason: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, reason: string, message: string, headers: Record<string, string> = {}) {
    super(message);
    this.status = status;
    this.reason = reason;
    this.headers = headers;
  }

  /** Body of the response. */
  get body(): JsonObject {
    const { status, reason, message } = this;
    return { error: { code: status, message, errors: [{ message, domain: 'global', reason }] } };
  }
}

/** The resource does not exist. */
export function notFound(resource: string): ApiError {
  return new ApiError(404, 'notFound', `The resource '${resource}' was not found`);
}

/** A field has an invalid value. */
export function invalid(field: string, why: string): ApiError {
  return new ApiError(400, 'invalid', `Invalid value for field '${field}': ${why}`);
}
