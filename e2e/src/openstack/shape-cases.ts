import { mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { strangeIn, withFakeApi } from './fake-api.js';
import { recordedCalls } from './recorded-calls.js';
import type { OpenStackHarness } from './openstack-harness.js';

const RECORDED = fileURLToPath(new URL('../../../packages/driver-openstack/test/fixtures/recorded/', import.meta.url));

/** Recordings of the real services. Fast tests compare the fake cloud with them. */
export function shapeCases(get: () => OpenStackHarness): void {
  describe('the fake cloud of the fast tests', () => {
    it('answers the same calls like the services', async () => {
      const [real, fake] = [await recordedCalls(get().api), await withFakeApi(recordedCalls)];
      const strange = await Promise.all(
        Object.entries(fake).map(([name, answer]) => strangeIn(answer, real[name], name)),
      );

      expect(Object.keys(fake)).toEqual(Object.keys(real));
      expect(strange.flat()).toEqual([]);
    }, 120_000);
  });

  describe('the recordings for the fake cloud', () => {
    it('match the responses of the services', async () => {
      const recorded = await recordedCalls(get().api);
      const isRecording = process.env['NODEPOOL_RECORD'] !== undefined;
      await mkdir(RECORDED, { recursive: true });
      for (const [name, answer] of Object.entries(recorded)) {
        const file = `${RECORDED}${name}.json`;
        const text = `${JSON.stringify(answer, undefined, 2)}\n`;
        if (isRecording) await writeFile(file, text);
        else {
          const known = (await import(file, { with: { type: 'json' } })) as { default: unknown };
          expect(shapeOf(answer), name).toEqual(shapeOf(known.default));
        }
      }
    }, 120_000);
  });
}

/** Replaces values by their types, and lists by the types of their entries, in any order. */
export function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) {
    const kinds = new Map(value.map(shapeOf).map((shape) => [JSON.stringify(shape), shape]));
    return [...kinds].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, shape]) => shape);
  }
  if (typeof value !== 'object' || value === null) return value === null ? 'null' : typeof value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, shapeOf(item)]));
}
