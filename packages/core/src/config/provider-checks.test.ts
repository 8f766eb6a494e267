import { expect, it } from 'vitest';
import { linesAbout } from '../../test/support/load-config.js';

const TOP = `labels: [{name: small}, {name: large}]
diskimages: [{name: debian, formats: [raw]}, {name: base, abstract: true}]
`;

/** Problems of one provider with this pool and these additional keys. */
async function about(pool: string, more = ''): Promise<string> {
  const provider = `providers: [{name: sky, driver: plain, ${more} pools: [{name: main, ${pool}}]}]`;
  return (await linesAbout({ yaml: `${TOP}${provider}\n` })).join('\n');
}

it('reports a label missing at the top level, and suggests a similar name', async () => {
  expect(await about('labels: [{name: smal}]')).toMatch(
    /label "smal" is not defined, expected a label of the top-level "labels" list, did you mean "small"\?/,
  );
});

it('reports images missing in the provider', async () => {
  expect(await about('labels: [{name: small, cloud-image: ubunt}]', 'cloud-images: [{name: ubuntu}],')).toContain(
    'cloud-image "ubunt" is not defined, expected an entry of this provider\'s "cloud-images" list, did you mean "ubuntu"?',
  );
  expect(await about('labels: [{name: small, diskimage: debian}]')).toMatch(
    /warning.*this provider's "diskimages" do not list "debian"/i,
  );
});

it('accepts only built images as diskimages of a provider', async () => {
  const said = await about('labels: []', 'diskimages: [{name: base}, {name: debain}],');

  expect(said).toContain('diskimage "base" is abstract, expected one that is built');
  expect(said).toContain('diskimage "debain" is not defined, expected an entry of the top-level "diskimages" list');
});

it('warns of a pool without labels unless it is disabled or explicitly empty', async () => {
  const warning = 'pool "main" has no label, so that nothing is launched in it';

  expect(await about('priority: 1')).toContain(warning);
  expect(await about('max-servers: 0')).not.toContain(warning);
  expect(await about('labels: []')).not.toContain(warning);
});

it('warns of a provider with neither pools nor images', async () => {
  const yaml = `${TOP}providers: [{name: sky, driver: plain}]\n`;

  expect((await linesAbout({ yaml })).join()).toContain('the provider has neither "pools" nor "diskimages"');
});

it('reports duplicate names', async () => {
  expect(await about('labels: [{name: small}, {name: small}]')).toMatch(
    /label "small" is already defined in line 3, the last one counts/,
  );
});

it('warns of a key of former releases, which has no effect', async () => {
  expect(await about('labels: [{name: small}]', 'lease-ssh-key: /etc/nodepool/lease_key,')).toMatch(
    /warning: .*no effect any more, as launchers do not log in to nodes.*delete the lines .*nodepool-lease-/,
  );
});
