import { describe, expect, it } from 'vitest';
import { linesAbout, loadWritten } from '../../test/support/load-config.js';
import { newlyUnserved } from './unserved-providers.js';

const SERVED = '- {name: rack, driver: plain, pools: [{name: main, labels: [{name: small}]}]}';
const FOREIGN = `- name: pods
  driver: vessel
  context: [any, thing]
  diskimages: [{name: debian, weight: heavy}, {nothing: here}]
  pools:
  - {name: zuul, labels: [{name: pod, type: pod, diskimage: unlisted}, {name: nowhere}], max-servers: many}
  - just text`;
const yamlOf = (...providers: string[]) =>
  `labels: [{name: small}, {name: pod, min-ready: 9}]
diskimages: [{name: debian}]
providers:
${providers.join('\n')}
`;

describe('a provider whose driver is missing', () => {
  it('is left out and named; its keys are not checked', async () => {
    const config = await loadWritten({ yaml: yamlOf(SERVED, FOREIGN), mode: 'validate', leavesUnserved: true });

    expect([...config.providers.keys()]).toEqual(['rack']);
    expect(config.unserved?.get('pods')).toMatchObject({
      ...{ name: 'pods', driverName: 'vessel', reason: 'driver "vessel" is not installed' },
      pools: new Map([['zuul', ['pod', 'nowhere']]]),
      diskimages: new Set(['debian']),
    });
    expect(config.warnings).toEqual([config.unserved?.get('pods')?.problem]);
    expect(config.warnings).toMatchObject([
      {
        path: 'providers[1].driver',
        message: 'provider "pods" is not served: driver "vessel" is not installed',
        position: { line: 6, column: 11 },
      },
    ]);
  });

  it('is left out by services, and an error of a validation', async () => {
    const yaml = yamlOf(SERVED, FOREIGN);

    expect((await loadWritten({ yaml, mode: 'service' })).unserved?.size).toBe(1);
    expect((await linesAbout({ yaml, mode: 'validate' })).join('\n')).toMatch(
      /:6:11: providers\[1\]\.driver: driver "vessel" is not installed/,
    );
  });

  it('is an error if no other provider remains', async () => {
    const yaml = yamlOf(FOREIGN, '- {name: other, driver: crane}');

    const lines = await linesAbout({ yaml, mode: 'validate', leavesUnserved: true });

    expect(lines.filter((line) => line.includes('is not installed'))).toEqual([
      expect.stringMatching(/:5:11: providers\[0\]\.driver: driver "vessel" is not installed/),
      expect.stringMatching(/:11:25: providers\[1\]\.driver: driver "crane" is not installed/),
    ]);
  });

  it('is no error for a builder if no provider has images', async () => {
    const foreign = FOREIGN.replace(/\n {2}diskimages: .*/, '');
    const yaml = yamlOf(foreign);

    const config = await loadWritten({ yaml, imagesOnly: true });

    expect([[...config.providers.keys()], [...(config.unserved?.keys() ?? [])]]).toEqual([[], ['pods']]);
    await expect(loadWritten({ yaml })).rejects.toThrow('driver "vessel" is not installed');
    await expect(loadWritten({ yaml: yamlOf(FOREIGN), imagesOnly: true })).rejects.toThrow('is not installed');
  });

  it('needs a name', async () => {
    const lines = await linesAbout({ yaml: yamlOf(SERVED, '- {driver: vessel}'), leavesUnserved: true });

    expect(lines).toContainEqual(expect.stringMatching(/providers\[1\]: .*name/));
  });

  it('replaces an earlier entry of its name, and is replaced by a later one', async () => {
    const named = (driver: string) => `- {name: pods, driver: ${driver}, pools: []}`;
    const read = async (...drivers: string[]) => {
      const { providers, unserved } = await loadWritten({ yaml: yamlOf(SERVED, ...drivers.map(named)) });
      return { served: providers.has('pods'), unserved: unserved?.has('pods') };
    };

    expect(await read('plain', 'vessel')).toEqual({ served: false, unserved: true });
    expect(await read('vessel', 'plain')).toEqual({ served: true, unserved: false });
  });

  it('is refused if it was in service before', async () => {
    const before = await loadWritten({ yaml: yamlOf(SERVED, '- {name: pods, driver: plain, pools: []}') });
    const after = await loadWritten({ yaml: yamlOf(SERVED, FOREIGN) });

    expect(newlyUnserved(before, after)).toMatchObject([
      {
        severity: 'error',
        path: 'providers[1].driver',
        message: expect.stringMatching(
          /^provider "pods" would not be served: driver "vessel" is not installed; it is in service with driver "plain"/,
        ) as string,
      },
    ]);
    expect(newlyUnserved(after, after)).toEqual([]);
    expect(newlyUnserved(after, before)).toEqual([]);
  });
});
