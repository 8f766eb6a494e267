// Rules for all methods that Google documents only in prose.
import type { JsonObject } from '@nodepool/zk-protocol';

/** https://cloud.google.com/apis/docs/system-parameters */
export const SYSTEM_PARAMETERS: JsonObject = {
  fields: { type: 'string', minLength: 1 },
  prettyPrint: { type: 'string', enum: ['true', 'false'] },
};

/** https://cloud.google.com/compute/docs/troubleshooting/troubleshooting-api-errors: the body of every refusal. */
export const ERROR_BODY: JsonObject = {
  type: 'object',
  additionalProperties: false,
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      additionalProperties: false,
      required: ['code', 'message', 'errors'],
      properties: {
        code: { type: 'integer', minimum: 400, maximum: 599 },
        message: { type: 'string' },
        status: { type: 'string' },
        errors: {
          type: 'array',
          minItems: 1,
          items: {
            type: 'object',
            additionalProperties: false,
            required: ['message', 'domain', 'reason'],
            properties: {
              message: { type: 'string' },
              domain: { type: 'string' },
              reason: { type: 'string' },
              location: { type: 'string' },
              locationType: { type: 'string' },
            },
          },
        },
      },
    },
  },
};
