import type { JsonSchema } from '../contract/driver.js';
import { flag, freeMap, integer, name, section, texts } from './schema-parts.js';

/** Environment of an image build. */
export const ENV_VARS: JsonSchema = freeMap(
  'Environment of the build, added to that of the parent; never shown',
  { type: 'string', 'x-secret': true, 'x-as-written': true },
  { otherwise: 'none', examples: [{ DIB_CHECKSUM: '1' }] },
);

/** How a new upload is tested. */
const VALIDATION: JsonSchema = section('Test of an image before it is used', {
  pool: name('Pool that the node is launched in; providers without it do not test', { otherwise: 'any pool' }),
  label: name('Label of the node', { otherwise: 'the first one that is made of the image' }),
  command: name(
    'Program that the builder runs with provider, address, port and user of the node; the upload is refused when it fails',
    { otherwise: 'none' },
  ),
  timeout: integer('Time limit of the program, in seconds', { default: 600 }, { minimum: 1 }),
});

/** How a new build is tried out. */
const CANARY: JsonSchema = section('Trial of a new build by a growing share of launches', {
  launches: integer('Nodes that must become ready at a share before the next one', { default: 5 }, { minimum: 1 }),
  'step-time': integer(
    'After this time a share ends with less, once a node has become ready, in seconds',
    { default: 3600 },
    { minimum: 1 },
  ),
});

/** An entry of the top-level `diskimages`. */
export const DISKIMAGE: JsonSchema = section(
  'Diskimage',
  {
    name: name('Name of the image, unique in the file', { examples: ['debian-12'] }),
    abstract: flag('Whether this is only a parent for others, and never built', { default: false }),
    parent: name('Image whose values are taken over where this one has none', { otherwise: 'none' }),
    formats: texts('Formats to build besides those that providers need', { otherwise: 'none', examples: [['qcow2']] }),
    'keep-formats': texts('Formats kept on disk in spite of `delete-after-upload`', { otherwise: 'none' }),
    'delete-after-upload': flag('Whether local files are deleted once they are uploaded everywhere', {
      default: false,
    }),
    'rebuild-age': integer('Age from which the image is built anew, in seconds', { default: 86400 }),
    'build-timeout': integer('Time limit of a build, in seconds', { default: 28800 }),
    release: {
      type: ['string', 'integer'],
      description: 'Release of the distribution, handed to the build as `DIB_RELEASE`',
      'x-default': 'none',
      examples: ['bookworm', 9],
    },
    elements: texts("Elements of diskimage-builder, added to the parent's", {
      otherwise: 'none',
      examples: [['debian-minimal', 'vm', 'simple-init']],
    }),
    'env-vars': ENV_VARS,
    pause: flag('Whether builds are paused; a child of a paused image is paused too', { default: false }),
    username: name('User that jobs log in as', { default: 'zuul' }),
    'python-path': name('Python that Ansible uses on nodes', { default: 'auto' }),
    'shell-type': name('Shell that Ansible uses on nodes', { otherwise: "Ansible's own" }),
    builders: texts('Builders that may build it, by host name', { otherwise: 'all of them' }),
    validate: {
      ...VALIDATION,
      description: 'Launches a node of each new upload before launchers use it: it must boot and show its host keys',
      'x-default': 'no test',
    },
    canary: {
      ...CANARY,
      description:
        'Gives a new build 5, 25, and then 100 % of the launches; it is withdrawn when more of its launches fail than of the previous build',
      'x-default': 'all launches at once',
    },
    'dib-cmd': name('Command that builds the image', { default: 'disk-image-create' }),
    metadata: freeMap('Metadata of uploads; not inherited', true, { otherwise: 'none' }),
  },
  ['name'],
);
