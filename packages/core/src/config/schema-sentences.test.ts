import type { Json, JsonObject } from '@nodepool/zk-protocol';
import { expect, it } from 'vitest';
import { toSentence } from './schema-sentences.js';
import { schemaFaults } from './schema-validator.js';

const sentencesOf = (schema: JsonObject, value: Json, reveal = true) =>
  schemaFaults(schema, value).map(({ error }) => toSentence(error, { reveal, written: undefined }));

it.each<[JsonObject, Json, string]>([
  [{ type: 'integer' }, 'many', 'expected an integer, got text "many"'],
  [{ type: 'string' }, 5, 'expected text, got the number 5 (put it in quotes)'],
  [{ minimum: 1 }, 0, 'expected a number >= 1, got the number 0'],
  [{ minItems: 1 }, [], 'must not be empty'],
  [{ maxItems: 1 }, [1, 2], 'expected at most 1 of it, got a list'],
  [{ uniqueItems: true }, ['a', 'a'], 'entries 0 and 1 are equal, expected each once'],
  [{ enum: ['raw', 'qcow2'] }, 'qcow', 'expected "raw" or "qcow2", got text "qcow", did you mean "qcow2"?'],
  [{ oneOf: [{ required: ['a'] }, { required: ['b'] }] }, {}, 'expected exactly one of "a" or "b"'],
  [{ not: { required: ['a', 'b'] } }, { a: 1, b: 1 }, '"a" and "b" exclude each other'],
  [{ required: ['name'] }, {}, 'the key "name" is missing'],
  [{ type: 'integer', 'x-message': 'write a number of seconds' }, 'x', 'write a number of seconds'],
])('says of %j and %j what is expected', (schema, value, message) => {
  expect(sentencesOf(schema, value).map((sentence) => sentence.message)).toEqual([message]);
});

it('suggests the intended key, including for names of other programs', () => {
  const schema = {
    properties: { 'min-ram': {}, 'zookeeper-servers': { 'x-other-names': ['zk-hosts'], 'x-loss': 'It is lost.' } },
    additionalProperties: false,
  };

  expect(sentencesOf(schema, { 'min-rma': 1 })).toEqual([
    { message: 'unknown key "min-rma", did you mean "min-ram"?', key: 'min-rma', isIgnorable: true },
  ]);
  expect(sentencesOf(schema, { 'zk-hosts': 1 })).toEqual([
    {
      message: 'unknown key "zk-hosts", did you mean "zookeeper-servers"? It is lost.',
      key: 'zk-hosts',
      isIgnorable: false,
    },
  ]);
});

it('quotes no secret', () => {
  expect(sentencesOf({ type: 'integer', 'x-secret': true }, 'hunter2')[0]?.message).not.toContain('hunter2');
  expect(sentencesOf({ type: 'integer' }, 'hunter2', false)[0]?.message).not.toContain('hunter2');
});
