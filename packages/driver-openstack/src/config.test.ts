import { describe, expect, it } from 'vitest';
import type { JsonObject } from '@nodepool/zk-protocol';
import { readProviderConfig } from './config.js';
import { CloudFileCache } from './find-cloud.js';

function read(entry: JsonObject, label: JsonObject = {}) {
  const problems: string[] = [];
  const config = readProviderConfig(
    {
      ...{ name: 'sky', driver: 'openstack', cloud: 'sky', 'cloud-images': [{ name: 'debian' }] },
      pools: [{ name: 'main', labels: [{ name: 'small', 'cloud-image': 'debian', 'min-ram': 2048, ...label }] }],
      ...entry,
    },
    {
      ...{ labels: new Map(), diskimages: new Map(), env: { OS_CLIENT_CONFIG_FILE: '/nonexistent/clouds.yaml' } },
      problem: (path, message) => problems.push(`${path.join('.')}: ${message}`),
    },
    new CloudFileCache(),
  );
  return { config, label: config.pools.get('main')?.labels.get('small'), problems };
}

describe('readProviderConfig', () => {
  it('names an image by its entry, and uses the networks of the pool', () => {
    const { config, label } = read({});

    expect(config.cloudImages.get('debian')).toMatchObject({ imageName: 'debian' });
    expect(label).toMatchObject({ minRamMib: 2048, networks: undefined });
  });

  it('reports a cloud that is not found, but not as an error of other providers', () => {
    const { config, problems } = read({});

    expect(config.settings).toBeUndefined();
    expect(problems).toEqual([
      expect.stringMatching(/^cloud: cloud "sky" is not known: .* names no file that can be read$/),
    ]);
  });

  it('warns about keys that delete or do nothing', () => {
    const { problems } = read({ 'nodepool-id': 'x', 'clean-floating-ips': true });

    expect(problems).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^nodepool-id: /),
        expect.stringMatching(/^clean-floating-ips: .*every floating IP of the project/),
      ]),
    );
  });

  it('warns about a property that can never be filled in', () => {
    const { problems } = read({}, { 'dynamic-instance-properties': { who: '{request.nothing}' } });

    expect(problems.join('\n')).toContain('instances do not get this property');
  });

  it('warns about user data that Nova refuses, and names their size', () => {
    const { problems } = read({}, { userdata: 'x'.repeat(60_000) });

    expect(problems).toContainEqual(
      expect.stringMatching(
        /^pools\.0\.labels\.0\.userdata: userdata has 60000 bytes, 80000 in base64, and Nova takes 65535/,
      ),
    );
  });
});
