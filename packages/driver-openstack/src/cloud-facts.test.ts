import { describe, expect, it } from 'vitest';
import type { JsonObject } from '@nodepool/zk-protocol';
import type { World } from '../test/support/world.js';
import { secondNetwork, useWorlds } from '../test/support/use-worlds.js';

let world: World;
const setUp = useWorlds((made) => (world = made));

const NEW_FLAVOR = { id: 'f-9', name: 'm9.new', vcpus: 1, ram: 100 };
const NEW_NETWORK = { id: 'net-9', name: 'new', 'router:external': false, subnets: [] };

/** Two of one name, and one of another project that Nova does not look at. */
const addGroups = (groups: JsonObject[]) =>
  void groups.push(
    { id: 'sg-7', name: 'ssh', project_id: 'project-2' },
    { id: 'sg-8', name: 'twice', project_id: 'project-1' },
    { id: 'sg-9', name: 'twice', tenant_id: 'project-1' },
  );

describe('what is wrong with a label', () => {
  it.each([
    ['Flavor', 'Missing', { 'flavor-name': 'm9.none', 'min-ram': 0 }, /flavor-name "m9\.none"; it has m1\.tiny/],
    ['Network', 'Missing', { networks: ['nowhere'] }, /network "nowhere" does not exist.*private, public/],
    ['Network', 'Ambiguous', { networks: ['storage'] }, /"storage" is ambiguous \(net-2, net-3\)/],
    ['Image', 'Missing', { 'cloud-image': 'plan9' }, /no active image with the name or id "plan9"; it has debian/],
    ['KeyPair', 'Missing', { 'key-name': 'lost' }, /key pair "lost" does not exist in the cloud; it has ci/],
    ['UserData', 'TooLong', { userdata: 'x'.repeat(50_000) }, /userdata has 50000 bytes, 66668 in base64/],
    ['ServerGroup', 'Missing', { 'server-group': 'none' }, /server group "none" does not exist.*spread/],
  ])('%s is %s: the label is one that cannot work, and its condition names it', async (thing, how, label, message) => {
    await setUp({ label, entry: { 'cloud-images': [{ name: 'debian' }, { name: 'plan9' }] } }, (made) => {
      secondNetwork(made);
      made.cloud.state.networks.push({ id: 'net-3', name: 'storage', 'router:external': false, subnets: [] });
    });

    expect([...world.provider.errorLabels()]).toEqual(['small']);
    const line = world.lines.find(({ message: text }) => text.startsWith('Label cannot be used')) as unknown as {
      fields: { error: Error };
    };
    expect(line.fields.error.message).toMatch(message);
    expect(world.provider.conditions?.()).toMatchObject([
      { kind: 'label', name: 'sky/main/small', type: 'LabelUnusable', reason: `${thing}${how}`, severity: 'error' },
    ]);
    const [{ message: text = '', nextStep = '' } = {}] = world.provider.conditions?.() ?? [];
    expect(text).toMatch(message);
    expect(nextStep).toMatch(how === 'Ambiguous' ? /^use the id of the network/ : /^(correct|shorten) "/);
  });

  const corrections: [string, JsonObject, (made: World) => void][] = [
    ['flavor', { 'flavor-name': 'm9.new', 'min-ram': 0 }, ({ cloud }) => cloud.state.flavors.push(NEW_FLAVOR)],
    ['network', { networks: ['new'] }, ({ cloud }) => cloud.state.networks.push(NEW_NETWORK)],
    ['image', { 'cloud-image': 'plan9' }, ({ cloud }) => void cloud.state.addImage('plan9')],
  ];

  it.each(corrections)(
    'is gone 30 s after its %s was made, however long it was missing',
    async (_what, label, make) => {
      await setUp({ label, entry: { 'cloud-images': [{ name: 'debian' }, { name: 'plan9' }] } });
      await world.pass(3_600_000);
      const before = [...world.provider.errorLabels()];
      make(world);
      await world.pass(31_000);

      expect(before).toEqual(['small']);
      expect([...world.provider.errorLabels()]).toEqual([]);
      expect(world.provider.conditions?.()).toEqual([]);
      expect(world.lines.filter(({ message }) => message.startsWith('Label cannot be used'))).toHaveLength(1);
      expect(world.lines.map(({ message }) => message)).toContain('Label can be used again');
    },
  );

  it.each([
    ['Missing', ['nowhere'], /security group "nowhere" does not exist in the cloud; it has default, ssh, web/],
    ['Ambiguous', ['twice'], /security group "twice" is ambiguous \(sg-8, sg-9\): use the id/],
  ])('a security group of its pool is %s', async (how, groups, message) => {
    await setUp({ pool: { 'security-groups': groups } }, ({ cloud }) => addGroups(cloud.state.securityGroups));

    const [{ reason, message: text } = {}] = world.provider.conditions?.() ?? [];

    expect(reason).toBe(`SecurityGroup${how}`);
    expect(text).toMatch(message);
  });

  it.each(['twice', 'gone', 'ci'])('"%s" changed after it was read: one attempt, which names it', async (what) => {
    await setUp({ pool: { 'security-groups': what === 'ci' ? [] : [what] }, label: { 'key-name': 'ci' } }, (made) => {
      const { securityGroups } = made.cloud.state;
      securityGroups.push({ id: 'sg-8', name: 'twice' }, { id: 'sg-7', name: 'gone' });
    });
    await world.launchReady();
    world.cloud.state.securityGroups.splice(0, 99, { id: 'sg-8', name: 'twice' }, { id: 'sg-9', name: 'twice' });
    if (what === 'ci') world.cloud.state.keyPairs.splice(0, 99, 'other');
    const status = what === 'twice' ? 409 : 400;
    const body = `Cannot use "${what}" as Nova says somehow`;
    world.cloud.faults.push({ method: 'POST', path: /compute\/servers$/, status, body });

    const { state, error } = await world.during(world.launch());
    await world.pass(1_000);

    expect({ state, error }).toMatchObject({ state: 'failed', error: { code: 'NODEPOOL_CONFIG' } });
    expect(world.counted).toHaveLength(2);
    expect(world.provider.conditions?.()[0]?.message).toContain(`"${what}" `);
  });

  it.each(['Invalid key_name provided.', 'Multiple security_group matches found for name "a", use an ID'])(
    'what Nova alone knows ends a launch after one attempt: %s',
    async (body) => {
      await setUp();
      world.cloud.faults.push(
        { path: /os-keypairs|security-groups/, status: 403 },
        { method: 'POST', path: /compute\/servers$/, status: 400, body },
      );

      const { state, error } = await world.during(world.launch());

      expect({ state, error }).toMatchObject({ state: 'failed', error: { code: 'NODEPOOL_CONFIG' } });
      expect(error?.message).toContain(body);
      expect(world.counted).toHaveLength(1);
    },
  );

  it('is known after the first launch that fails for it, and gone 30 s after the image is back', async () => {
    await setUp();
    await world.launchReady();
    const { images } = world.cloud.state;
    images.clear();
    await world.pass(3_000_000);

    const { state } = await world.during(world.launch());
    await world.pass(1_000);
    const missing = world.provider.conditions?.();
    await world.pass(1_800_000);
    world.cloud.state.addImage('debian');
    await world.pass(31_000);

    expect(state).toBe('failed');
    expect(missing).toMatchObject([{ name: 'sky/main/small', reason: 'ImageMissing' }]);
    expect(world.provider.conditions?.()).toEqual([]);
    expect(world.provider.labelReady('main', 'small')).toBe(true);
    await world.launchReady();
  });

  it('that is replaced by a newer one of the same name is used after a reload', async () => {
    await setUp();
    await world.launchReady();
    const newer = world.cloud.state.addImage('debian', { created_at: '2099-01-01T00:00:00Z' });

    world.provider.refresh?.();
    await world.launchReady();

    expect([...world.cloud.state.servers.values()].map(({ imageId }) => imageId)).toContain(newer['id']);
  });

  it('without its image is not ready, until there is one', async () => {
    await setUp({ entry: { 'cloud-images': [{ name: 'debian', 'image-name': 'plan9' }] } });
    world.provider.labelReady('main', 'small');
    await world.pass(1_000);
    const before = world.provider.labelReady('main', 'small');
    expect(world.provider.conditions?.()).toMatchObject([{ name: 'sky/main/small', reason: 'ImageMissing' }]);
    await world.pass(3_600_000);
    world.cloud.state.addImage('plan9');
    await world.pass(31_000);

    expect([before, world.provider.labelReady('main', 'small')]).toEqual([false, true]);
  });
});
