import type { JsonObject } from '@nodepool/zk-protocol';

/** One method of the API. */
export interface ComputeMethod {
  /** E.g. `Instances.Insert`. */
  readonly name: string;
  readonly verb: string;
  /** With the parameters in braces: `/compute/v1/projects/{project}/zones/{zone}/instances`. */
  readonly path: string;
  /** Schemas of the query parameters. */
  readonly query: JsonObject;
  /** Name of the request message. */
  readonly body?: string | undefined;
  /** Name of the response message. */
  readonly response: string;
}

/** A part of Google's own description of Compute Engine, as JSON schemas. */
export interface ComputeDescription {
  /** Source package and version. */
  readonly source: string;
  readonly methods: readonly ComputeMethod[];
  /** A schema (draft-07) for each message. */
  readonly definitions: JsonObject;
}
