import { describe, expect, it } from 'vitest';
import { loadVectors, present, type Vector } from '../../test/vectors.js';
import {
  CERTIFICATES_KEY,
  certificateMode,
  decodeComponent,
  decodeLegacyLauncher,
  encodeComponent,
} from './component.js';
import { encodeLegacyLauncher, isPoolComponent, judgeModelApi } from './component.js';
import { classifyPath, lastPart } from './paths.js';
import type { JsonObject, LauncherId } from './types.js';

describe('a component', () => {
  const all = loadVectors<{ vectors: (Vector & { read_as?: JsonObject })[] }>('components').vectors;

  it.each(all.filter(({ read_as }) => !read_as))('round-trips byte for byte: $note', ({ path, raw }) => {
    const shape = classifyPath(path);
    if (shape.shape !== 'component') throw new Error(`${path} is no component`);

    const component = decodeComponent(shape.kind, shape.id, Buffer.from(raw), undefined);

    expect(isPoolComponent(present(component))).toBe(shape.kind === 'pool');
    expect(encodeComponent(present(component)).toString()).toBe(JSON.stringify(JSON.parse(raw)));
  });

  it.each(all.filter(({ read_as }) => read_as))('reads as a pool: $note', ({ path, raw, read_as: expected }) => {
    const pool = present(decodeLegacyLauncher(lastPart(path), Buffer.from(raw), undefined));

    expect({
      id: pool.launcherId,
      provider_name: pool.providerName,
      supported_labels: pool.supportedLabels,
      priority: pool.priority,
      paused: pool.paused,
    }).toEqual(expected);
    expect(pool).toMatchObject({ legacy: true, hostname: 'nl01.example.com' });
  });

  it('writes a legacy registration with sorted labels', () => {
    const pool = present(decodeLegacyLauncher('l', Buffer.from('{"supported_labels": ["small", "big"]}'), undefined));

    const body = encodeLegacyLauncher({ ...pool, launcherId: 'l-1' as LauncherId, providerName: 'p' }).toString();

    expect(body).toBe('{"id":"l-1","provider_name":"p","supported_labels":["big","small"]}');
  });

  it('judges data-model versions', () => {
    const cases = loadVectors<{
      model_api: { own: number; others: number[]; system: number; start?: string; intended?: string }[];
    }>('components').model_api;

    for (const { own, others, system, start, intended } of cases) {
      const expected = intended === 'refuse to start' ? 'refuse' : (start ?? 'ok');
      expect(judgeModelApi(own, others)).toEqual({ system, start: expected });
    }
  });
});

it.each([
  ['host', 'host'],
  ['sky', undefined], // of a newer release
  [true, undefined],
])('of a pool whose machines trust certificates as %j has the mode %j', (value, mode) => {
  const body = Buffer.from(JSON.stringify({ kind: 'pool', id: 'x', lease_certificates: value }));

  const pool = present(decodeComponent('pool', 'pool-1', body, undefined));

  expect(certificateMode(pool.raw[CERTIFICATES_KEY])).toBe(mode);
});
