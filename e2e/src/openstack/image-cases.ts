import { describe, expect, it } from 'vitest';
import { textOf } from '@nodepool/openstack';
import { OpenStackHarness } from './openstack-harness.js';

const PATIENCE_MS = 90_000;

/** Images that are missing, and unknown images. */
export function imageCases(get: () => OpenStackHarness): void {
  describe('images', () => {
    it('that are missing make their label an error label, by name, and harm no other', async () => {
      const small = { name: 'small', 'cloud-image': 'test', 'flavor-name': 'm1.tiny' };
      const lost = { ...small, name: 'lost', 'cloud-image': 'gone' };
      const images = [
        { name: 'test', 'image-name': 'test-image', username: 'zuul', 'connection-port': 'ssh' },
        { name: 'gone', 'image-name': 'plan9' },
      ];
      const setup = OpenStackHarness.setup({ pool: { labels: [small, lost] }, entry: { 'cloud-images': images } });
      const zuul = await get().newClient();
      const launcher = await get().launch(setup);

      const wanted = await zuul.submit(['lost']);
      const { state } = await zuul.wait(wanted, PATIENCE_MS);
      await zuul.cancel(wanted);
      await zuul.finish(await zuul.submit(['small']), PATIENCE_MS);

      expect(state).toBe('failed');
      expect(launcher.log).toContain('no active image with the name or id "plan9"; it has test-image');
      expect(await get().servers()).not.toContainEqual(expect.objectContaining({ status: 'ERROR' }));
    }, 240_000);

    it('that a builder made and no record knows are what alien-image-list shows', async () => {
      const { api } = get();
      const make = async (name: string, properties: Record<string, string>): Promise<string> => {
        const order = { name, disk_format: 'raw', container_format: 'bare', ...properties };
        const id = textOf((await api.call('glance', 'POST', '/v2/images', order))['id']);
        await api.putFile(`/v2/images/${id}/file`, new Uint8Array(1_024));
        return id;
      };
      const tags = { nodepool_provider_name: 'real', nodepool_build_id: '0123', nodepool_upload_id: '0000000001' };
      const [alien, other] = await Promise.all([make('built-1', tags), make('another-user', {})]);
      const { providers } = OpenStackHarness.setup({ entry: { diskimages: [{ name: 'built' }] } });
      const config = { labels: [{ name: 'small' }], diskimages: [{ name: 'built' }], providers };
      const text = JSON.stringify(config).replaceAll('"connection-port":"ssh"', '"connection-port":22');

      try {
        const shown = await get().runNodepool(JSON.parse(text) as Record<string, unknown>, ['alien-image-list']);

        expect(shown).toContain('built-1');
        expect(shown).toContain(alien);
        expect(shown).not.toContain(other);
      } finally {
        await Promise.all([alien, other].map((id) => api.call('glance', 'DELETE', `/v2/images/${id}`)));
      }
    }, 120_000);
  });
}
