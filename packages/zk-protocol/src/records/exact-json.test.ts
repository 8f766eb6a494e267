import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeComponent, encodeComponent, withComponent } from './component.js';
import { numberAsRead, parseAsWritten, stringifyAsRead } from './exact-json.js';
import { decodeBuild, decodeUpload, encodeBuild, encodeUpload, withBuild, withUpload } from './image.js';
import { decodeNode, encodeNode, withNode } from './node.js';
import { decodeRequest, encodeRequest, withRequest } from './request.js';
import type { JsonObject, NodeId, RequestId } from './types.js';
import { loadVectors } from '../../test/vectors.js';
import '../../test/support/same-examples.js';

const NOW_MS = 1_700_000_000_000;
const BUILD = { image: 'i', id: '0000000001' };
const UPLOAD = { image: 'i', buildId: '0000000001', provider: 'p', id: '0000000001' };

function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('nothing decoded');
  return value;
}

/** Reads a body, changes the state as a launcher does, and returns the new body. */
const rewrite: Record<string, (body: string) => string> = {
  request: (body) => {
    const request = present(decodeRequest('200-0000000001' as RequestId, Buffer.from(body), undefined, NOW_MS));
    return encodeRequest(withRequest(request, { state: 'fulfilled', nodeIds: ['1' as NodeId] }, NOW_MS)).toString();
  },
  node: (body) => {
    const node = present(decodeNode('0000000001' as NodeId, Buffer.from(body), undefined, NOW_MS));
    return encodeNode(withNode(node, { state: 'used', comment: 'changed' }, NOW_MS)).toString();
  },
  build: (body) => {
    const build = present(decodeBuild(BUILD, Buffer.from(body), undefined, NOW_MS));
    return encodeBuild(withBuild(build, { state: 'deleting' }, NOW_MS)).toString();
  },
  upload: (body) => {
    const upload = present(decodeUpload(UPLOAD, Buffer.from(body), undefined, NOW_MS));
    return encodeUpload(withUpload(upload, { state: 'deleting' }, NOW_MS)).toString();
  },
  component: (body) => {
    const component = present(decodeComponent('pool', 'c', Buffer.from(body), undefined));
    return encodeComponent(withComponent(component, { state: 'paused' })).toString();
  },
};
const kinds = Object.keys(rewrite);

/** JSON as text, so that no digit passes through a JavaScript number. */
const digits = fc.stringMatching(/^[0-9]{1,45}$/).map((text) => text.replace(/^0+(?=\d)/, ''));
const numberText = fc
  .tuple(fc.constantFrom('', '-'), digits, fc.option(fc.stringMatching(/^[0-9]{1,30}$/)), exponent())
  .map(([sign, whole, fraction, power]) => sign + whole + (fraction === null ? '' : `.${fraction}`) + power);
function exponent(): fc.Arbitrary<string> {
  return fc.oneof(fc.constant(''), fc.stringMatching(/^[eE][-+]?[0-9]{1,3}$/));
}
const plainNumber = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  fc.integer().map(String),
);
const scalar = fc.oneof(
  numberText,
  plainNumber,
  fc.constantFrom('true', 'false', 'null', '-0', '1.0', '-0.0', '1e3', '1E400', 'NaN', 'Infinity', '-Infinity'),
  fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)),
  fc.constantFrom('"1.0, "', '"\\\\"', '"\\",1e5,\\""', '"[1.0]"'),
);
const space = fc.constantFrom('', ' ', '\n', ' \t\r\n ');
const { document: jsonText } = fc.letrec<{ document: string }>((tie) => ({
  document: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    scalar,
    fc
      .tuple(space, fc.array(tie('document'), { maxLength: 4 }))
      .map(([gap, items]) => `[${gap}${items.join(`${gap},${gap}`)}${gap}]`),
    fc
      .tuple(space, fc.uniqueArray(fc.tuple(key(), tie('document')), { maxLength: 4, selector: ([name]) => name }))
      .map(
        ([gap, entries]) => `{${gap}${entries.map(([name, value]) => `${name}${gap}:${gap}${value}`).join(',')}${gap}}`,
      ),
  ),
}));
function key(): fc.Arbitrary<string> {
  // Keys that look like list indexes change places in JavaScript objects, which means nothing in JSON.
  const name = fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'state_time', 'time'));
  return name.filter((text) => !/^\d+$/.test(text)).map((text) => JSON.stringify(text));
}

/** JSON text without insignificant blanks and with normalised strings. */
function squeeze(text: string): string {
  return text.replace(/"(?:[^"\\]|\\.)*"|\s+/g, (part) =>
    part.startsWith('"') ? JSON.stringify(JSON.parse(part)) : '',
  );
}

describe('numbers written by other programs', () => {
  const vectors = loadVectors<{ vectors: { note: string; kind: string; raw: string; kept: string[] }[] }>('numbers');

  it.each(vectors.vectors)('$kind: $note', ({ kind, raw, kept }) => {
    const stored = rewrite[kind]?.(raw);

    for (const text of kept) expect(stored).toContain(text);
  });

  it.each(kinds)('keep every digit at every depth of a %s', (kind) => {
    fc.assert(
      fc.property(jsonText, (text) => {
        const raw = `{"state": "ready", "foreign": ${text}, "state_time": 1.5}`;

        expect(rewrite[kind]?.(raw)).toContain(`"foreign":${squeeze(text)}`);
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ['request', 'requestor_data'],
    ['node', 'user_data'],
    ['node', 'driver_data'],
    ['node', 'connection_port'],
  ])('keep every digit in a %s whose %s we read ourselves', (kind, name) => {
    fc.assert(
      fc.property(jsonText, (text) => {
        expect(rewrite[kind]?.(`{"state": "x", "${name}":${text}}`)).toContain(`"${name}":${squeeze(text)}`);
      }),
      { numRuns: 300 },
    );
  });

  it('are what Python reads as they were written', () => {
    const raw = '{"a": [187155415299117092971361472410111703496, 1.0, -0.0, NaN, 1e400, 0.1000000000000000055]}';

    const read = (body: string): string =>
      execFileSync('python3', ['-c', 'import json, sys; print(json.loads(sys.stdin.read())["requestor_data"])'], {
        input: body,
        encoding: 'utf8',
      });

    expect(read(rewrite['request']?.(`{"state": "requested", "requestor_data": ${raw}}`) ?? '')).toBe(
      read(`{"requestor_data": ${raw}}`),
    );
  });

  it('are read as ordinary numbers, and a changed one is written by JavaScript', () => {
    const body =
      '{"state": "ready", "slot": 7.0, "resources": {"cores": 2.0}, "user_data": {"n": 12345678901234567890}}';
    const node = present(decodeNode('1' as NodeId, Buffer.from(body), undefined, NOW_MS));

    const changed = encodeNode(withNode(node, { slot: 8, resources: { cores: 2 } }, NOW_MS)).toString();

    expect(node).toMatchObject({ slot: 7, resources: { cores: 2 }, userData: { n: Number('12345678901234567890') } });
    expect(numberAsRead(node.userData as JsonObject, 'n')).toBe('12345678901234567890');
    expect(changed).toContain('"slot":8,');
    expect(changed).toContain('"cores":2}');
    expect(changed).toContain('"n":12345678901234567890}');
  });

  it('do not make a body readable that is not JSON', () => {
    for (const text of ['{"a": NaN', '{"a": NaN}}', '{"a" NaN}', '{NaN: 1}', '{"a": [NaN,]}', '{"a": 01, "b": NaN}']) {
      expect(() => parseAsWritten(text)).toThrow(SyntaxError);
    }
    for (const levels of [1_500, 5_000]) {
      const deep = `${'['.repeat(levels)}${']'.repeat(levels)}`;
      expect(() => rewrite['node']?.(`{"a": 1.0, "b": ${deep}}`)).toThrow('is not JSON');
    }
  });

  it('of a key that comes twice are those of the last one', () => {
    const raw = parseAsWritten('{"a": 1.0, "a": 1, "b": 1, "b": 1.0}') as JsonObject;

    expect(stringifyAsRead(raw, raw)).toBe('{"a":1,"b":1.0}');
  });
});

describe('a body nested more than 1,000 levels deep', () => {
  it.each(['attributes', 'type', 'slot', 'unknown'])(
    'is malformed: nothing that reads or writes %s runs out of stack',
    (key) => {
      for (const levels of [1_100, 100_000]) {
        const list = `{"${key}":${'['.repeat(levels)}${']'.repeat(levels)}}`;
        const map = `{"${key}":${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}}`;
        for (const raw of [list, map]) expect(() => rewrite['node']?.(raw)).toThrow('is not JSON');
      }
    },
  );

  it('is one with a thousand levels only if there are more', () => {
    const body = (levels: number) => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;

    expect(rewrite['node']?.(body(1_000))).toContain(body(1_000).slice(1, -1));
    expect(() => parseAsWritten(body(1_001))).toThrow('JSON of more than 1000 levels');
  });
});

describe('reasons of other launchers', () => {
  it('are written back with what we do not know in them, malformed ones too', () => {
    const reasons = '{"l1":{"rule":"r","text":"t","time":1.0,"extra":{"n":1e3}},"l2":"odd","l3":{"rule":5}}';

    expect(rewrite['request']?.(`{"state":"requested","decline_reasons":${reasons}}`)).toContain(
      `"decline_reasons":${reasons}`,
    );
    expect(rewrite['request']?.('{"decline_reasons":[1.0]}')).toContain('"decline_reasons":[1.0]');
  });
});
