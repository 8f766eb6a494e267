import type { JsonObject } from '@nodepool/zk-protocol';

/** Settings of a public cloud that differ from the defaults. */
interface VendorFacts {
  /** `{region_name}` is replaced by the region. */
  readonly authUrl?: string;
  readonly regions: readonly (string | JsonObject)[];
  /** The domains of users and projects are the default one. */
  readonly defaultDomain?: true;
  readonly imageFormat?: string;
  /** Servers have public addresses of their own. */
  readonly noFloatingIps?: true;
  readonly more?: JsonObject;
}

const lstn = (name: string, publicNetworks: readonly string[]): JsonObject => ({
  name,
  values: {
    networks: [
      ...publicNetworks.map((network, i) => ({
        name: network,
        routes_externally: true,
        ...(i === 0 && { default_interface: true, nat_source: true }),
      })),
      { name: 'Private Network (10.0.0.0/8 only)', routes_externally: false },
      { name: 'Private Network (Floating Public)', routes_externally: false, nat_destination: true },
    ],
  },
});

const FACTS: Readonly<Record<string, VendorFacts>> = {
  auro: { authUrl: 'https://api.van2.auro.io:5000/v3', regions: ['RegionOne'], defaultDomain: true },
  betacloud: { authUrl: 'https://api-1.betacloud.de:5000', regions: ['betacloud-1'], imageFormat: 'raw' },
  binero: { authUrl: 'https://auth.binero.cloud:5000/v3', regions: ['europe-se-1'] },
  bluebox: { regions: ['RegionOne'] },
  catalyst: {
    authUrl: 'https://api.cloud.catalyst.net.nz:5000/v3',
    regions: ['nz-por-1', 'nz_wlg_2', 'nz-hlz-1'],
    imageFormat: 'raw',
  },
  citycloud: {
    authUrl: 'https://{region_name}.citycloud.com:5000/v3/',
    regions: ['Buf1', 'Fra1', 'Lon1', 'Sto2', 'Kna1', 'dx1', 'tky1'],
  },
  conoha: { authUrl: 'https://identity.{region_name}.conoha.io', regions: ['sin1', 'sjc1', 'tyo1'] },
  dreamcompute: { authUrl: 'https://iad2.dream.io:5000', regions: ['RegionOne'], imageFormat: 'raw' },
  elastx: { authUrl: 'https://ops.elastx.cloud:5000/v3', regions: ['se-sto'] },
  entercloudsuite: { authUrl: 'https://api.entercloudsuite.com/', regions: ['it-mil1', 'nl-ams1', 'de-fra1'] },
  fuga: { authUrl: 'https://identity.api.fuga.io:5000', regions: ['cystack'], defaultDomain: true },
  ibmcloud: { authUrl: 'https://identity.open.softlayer.com', regions: ['london'] },
  internap: {
    authUrl: 'https://identity.api.cloud.iweb.com',
    regions: ['ams01', 'da01', 'nyj01', 'sin01', 'sjc01'],
    noFloatingIps: true,
  },
  limestonenetworks: {
    authUrl: 'https://auth.cloud.lstn.net:5000/v3',
    regions: [lstn('us-dfw-1', ['Public Internet', 'DDoS Protected']), lstn('us-slc', ['Public Internet'])],
    imageFormat: 'raw',
  },
  otc: { authUrl: 'https://iam.{region_name}.otc.t-systems.com/v3', regions: ['eu-de', 'eu-nl'] },
  'otc-swiss': { authUrl: 'https://iam-pub.eu-ch2.sc.otc.t-systems.com/v3', regions: ['eu-ch2'] },
  ovh: {
    authUrl: 'https://auth.cloud.ovh.net/',
    regions: [
      ...['BHS', 'BHS1', 'BHS3', 'BHS5', 'DE', 'DE1', 'GRA', 'GRA1', 'GRA5', 'GRA7', 'GRA9', 'GRA11', 'SBG', 'SBG1'],
      ...['SBG5', 'UK', 'UK1', 'WAW', 'WAW1', 'SYD1', 'SGP1'],
    ],
    defaultDomain: true,
    noFloatingIps: true,
  },
  'ovh-us': {
    authUrl: 'https://auth.cloud.ovh.us/',
    regions: ['US-EAST-VA-1', 'US-WEST-OR-1', 'US-EAST-VA', 'US-WEST-OR'],
    defaultDomain: true,
    noFloatingIps: true,
  },
  rackspace: {
    authUrl: 'https://identity.api.rackspacecloud.com/v2.0/',
    regions: ['DFW', 'HKG', 'IAD', 'ORD', 'SYD', 'LON'],
    imageFormat: 'vhd',
    noFloatingIps: true,
    more: { identity_api_version: '2', image_api_use_tasks: true, has_network: false },
  },
  switchcloud: {
    authUrl: 'https://identity.compute.cloud.switch.ch/v3',
    regions: ['zhw', 'zhc'],
    imageFormat: 'raw',
  },
  switchengines: { authUrl: 'https://keystone.cloud.switch.ch:5000/v3', regions: ['LS', 'ZH'], imageFormat: 'raw' },
  ultimum: { authUrl: 'https://console.ultimum-cloud.com:5000/', regions: ['RegionOne'] },
  unitedstack: {
    authUrl: 'https://identity.api.ustack.com/v3',
    regions: ['bj1', 'gd1'],
    imageFormat: 'raw',
    noFloatingIps: true,
  },
  vexxhost: {
    authUrl: 'https://auth.vexxhost.net/v3',
    regions: ['ca-ymq-1', 'sjc1'],
    imageFormat: 'raw',
    noFloatingIps: true,
  },
  zetta: { authUrl: 'https://identity.api.zetta.io/v3', regions: ['no-osl1'] },
};

/** Names of the public clouds whose defaults are known. */
export const VENDOR_NAMES: readonly string[] = Object.keys(FACTS);

/** The defaults of a public cloud as an entry of `clouds.yaml`; `undefined` when nothing is known of it. */
export function vendorProfile(name: string): JsonObject | undefined {
  const facts = Object.hasOwn(FACTS, name) ? FACTS[name] : undefined;
  if (!facts) return undefined;
  const domains = { user_domain_name: 'Default', project_domain_name: 'Default' };
  return {
    auth: { ...(facts.authUrl !== undefined && { auth_url: facts.authUrl }), ...(facts.defaultDomain && domains) },
    regions: [...facts.regions],
    identity_api_version: '3',
    ...(facts.imageFormat !== undefined && { image_format: facts.imageFormat }),
    ...(facts.noFloatingIps && { floating_ip_source: 'None' }),
    ...facts.more,
  };
}
