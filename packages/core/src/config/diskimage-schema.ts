import type { JsonSchema } from '../contract/driver.js';
import { flag, freeMap, integer, name, section, texts } from './schema-parts.js';
import { USER_PATTERN } from '../text/login-fields.js';

/** Environment variables of an image build. */
export const ENV_VARS: JsonSchema = freeMap(
  'Environment of the build, added to that of the parent; never shown',
  { type: 'string', 'x-secret': true, 'x-as-written': true },
  { otherwise: 'none', examples: [{ DIB_CHECKSUM: '1' }] },
);

/** Test of a new upload. */
const VALIDATION: JsonSchema = section('Test of an image before it is used', {
  pool: name('Pool that the node is launched in; providers without it do not test', { otherwise: 'any pool' }),
  label: name('Label of the node', { otherwise: 'the first one that is made of the image' }),
  command: name(
    'Program that the builder runs with provider, address, port and user of the node; a failure rejects the upload',
    { otherwise: 'none' },
  ),
  timeout: integer('Time limit of the program, in seconds', { default: 600 }, { minimum: 1 }),
});

/** Trial of a new build. Its keys are those of former releases. */
const TRIAL: JsonSchema = section('Trial of a new build by launches', {
  launches: { ...integer('Without effect', {}, { minimum: 1 }), deprecated: true },
  'step-time': { ...integer('Without effect', {}, { minimum: 1 }), deprecated: true },
});

/** An entry of the top-level `diskimages`. */
export const DISKIMAGE: JsonSchema = section(
  'Diskimage',
  {
    name: name('Name of the image, unique in the file', { examples: ['debian-12'] }),
    abstract: flag('Whether the image is only a parent of other images, and never built', { default: false }),
    parent: name('Image whose values are inherited', { otherwise: 'none' }),
    formats: texts('Formats to build in addition to those that providers need', {
      otherwise: 'none',
      examples: [['qcow2']],
    }),
    'keep-formats': texts('Formats kept on disk despite `delete-after-upload`', { otherwise: 'none' }),
    'delete-after-upload': flag('Whether local files are deleted after all uploads', {
      default: false,
    }),
    'rebuild-age': integer('Age at which the image is rebuilt, in seconds', { default: 86400 }),
    'build-timeout': integer('Time limit of a build, in seconds', { default: 28800 }),
    release: {
      type: ['string', 'integer'],
      description: 'Release of the distribution, passed to the build as `DIB_RELEASE`',
      'x-default': 'none',
      examples: ['bookworm', 9],
    },
    elements: texts("Elements of diskimage-builder, added to the parent's", {
      otherwise: 'none',
      examples: [['debian-minimal', 'vm', 'simple-init']],
    }),
    'env-vars': ENV_VARS,
    pause: flag('Whether builds are paused; a child of a paused image is paused too', { default: false }),
    username: { ...name('User that jobs log in as', { default: 'zuul' }), pattern: USER_PATTERN },
    'python-path': name('Python that Ansible uses on nodes', { default: 'auto' }),
    'shell-type': name('Shell that Ansible uses on nodes', { otherwise: "Ansible's own" }),
    builders: texts('Builders that may build it, by host name', { otherwise: 'all of them' }),
    validate: {
      ...VALIDATION,
      description:
        'Launches a node with each new upload before launchers use it: it must boot and present its host keys',
      'x-default': 'no test',
    },
    canary: {
      ...TRIAL,
      description:
        'Gives a new build one launch at a time in each provider until a node is ready there, and withdraws it if all of them fail',
      'x-default': 'all launches at once',
    },
    'dib-cmd': name('Command that builds the image', { default: 'disk-image-create' }),
    metadata: freeMap('Metadata of uploads; not inherited', true, { otherwise: 'none' }),
  },
  ['name'],
);
