import type { JsonObject } from '@nodepool/zk-protocol';

/** One method of the API, as Google describes it. */
export interface ComputeMethod {
  /** E.g. `Instances.Insert`. */
  readonly name: string;
  readonly verb: string;
  /** With the parameters in braces: `/compute/v1/projects/{project}/zones/{zone}/instances`. */
  readonly path: string;
  /** What stands behind the question mark: the schema of each parameter. */
  readonly query: JsonObject;
  /** Name of the message in the body of a request. */
  readonly body?: string | undefined;
  /** Name of the message that is answered. */
  readonly response: string;
}

/** A part of Google's own description of Compute Engine, as JSON schemas. */
export interface ComputeDescription {
  /** What it was made from. */
  readonly source: string;
  readonly methods: readonly ComputeMethod[];
  /** A schema (draft-07) for each message. */
  readonly definitions: JsonObject;
}
