// Which rooms a package has and which may use which: `from` may import itself and what its row names, nothing else. The order
// is that of the levels, lowest first; a row names only rooms above it in the table, so there can be no circle. Read by
// dependency-cruiser (imports are checked by `npm run lint`) and by layout.mjs (which measures).
'use strict';

/**
 * Rooms of a package by their folder under `src`; `.` holds the files of `src` itself. A file that others in lower rooms use than
 * the rest of its folder is a room of its own.
 */
const ROOMS = {
  'packages/zk-protocol': {
    base: [],
    'client/contract': ['base'],
    'client/wire': ['base', 'client/contract'],
    client: ['base', 'client/contract', 'client/wire'],
    records: ['base', 'client/contract'],
    recipes: ['base', 'client/contract', 'client', 'records'],
    cache: ['base', 'client/contract', 'client', 'records'],
    'embedded/contract': ['base'],
    'embedded/model': ['base', 'client/contract'],
    'embedded/wire': ['client/contract', 'embedded/model'],
    'embedded/storage': ['base', 'client/contract', 'embedded/contract', 'embedded/model', 'embedded/wire'],
    'embedded/server': ['base', 'client', 'embedded/contract', 'embedded/model', 'embedded/wire', 'embedded/storage'],
    'embedded/memory': ['base', 'client/contract', 'client', 'embedded/contract', 'embedded/model', 'embedded/server'],
    embedded: ['embedded/contract', 'embedded/model', 'embedded/storage', 'embedded/server'],
    '.': ['base', 'client/contract', 'client', 'records', 'recipes', 'cache'],
  },
  'packages/core': {
    contract: [],
    async: ['contract'],
    text: [],
    web: [],
    'launcher/events.ts': ['contract'],
    conditions: ['contract'],
    images: ['contract', 'conditions'],
    'metrics/table': [],
    'metrics/statsd': ['contract', 'async', 'metrics/table'],
    metrics: ['contract', 'async', 'launcher/events.ts', 'conditions', 'metrics/table', 'metrics/statsd'],
    'config/state-dir': ['contract', 'async'],
    'config/discovery': ['contract', 'async', 'text'],
    config: ['contract', 'async', 'text', 'config/discovery', 'config/state-dir'],
    logging: ['contract', 'async', 'text', 'config'],
    'cloud/key-scan': ['contract', 'async'],
    'cloud/operations': ['contract', 'async'],
    'cloud/task-manager': ['contract', 'async', 'cloud/key-scan', 'cloud/operations'],
    'cloud/ownership': ['contract', 'async', 'images'],
    'cloud/state-machine': [
      'contract',
      'async',
      'config',
      'cloud/key-scan',
      'cloud/operations',
      'cloud/task-manager',
      'cloud/ownership',
    ],
    'cloud/simple-driver': ['contract', 'async', 'cloud/operations', 'cloud/task-manager', 'cloud/state-machine'],
    'launcher/steering': ['contract', 'conditions'],
    'launcher/plan': ['contract', 'async', 'text', 'launcher/steering'],
    'launcher/mirror': ['contract', 'async', 'images', 'metrics', 'launcher/events.ts'],
    'launcher/requests': ['contract', 'async', 'launcher/plan', 'launcher/mirror'],
    'launcher/preview': ['contract', 'config', 'launcher/plan'],
    'launcher/nodes': [
      'contract',
      'async',
      'conditions',
      'launcher/steering',
      'launcher/plan',
      'launcher/mirror',
      'launcher/requests',
    ],
    'launcher/standby': ['contract', 'async', 'launcher/plan', 'launcher/mirror', 'launcher/requests'],
    'launcher/providers/guard': ['contract', 'async', 'launcher/requests'],
    'launcher/providers': [
      'contract',
      'async',
      'config',
      'config/discovery',
      'launcher/plan',
      'launcher/mirror',
      'launcher/requests',
      'launcher/providers/guard',
    ],
    'launcher/pools': [
      'contract',
      'async',
      'conditions',
      'launcher/steering',
      'launcher/plan',
      'launcher/mirror',
      'launcher/requests',
      'launcher/providers',
    ],
    'launcher/conditions': [
      'contract',
      'conditions',
      'launcher/steering',
      'launcher/plan',
      'launcher/nodes',
      'launcher/providers',
      'launcher/pools',
    ],
    'launcher/explain': [
      'contract',
      'async',
      'launcher/events.ts',
      'config',
      'config/discovery',
      'launcher/plan',
      'launcher/mirror',
      'launcher/preview',
      'launcher/providers',
      'launcher/pools',
    ],
    launcher: [
      'contract',
      'launcher/events.ts',
      'async',
      'conditions',
      'images',
      'launcher/steering',
      'metrics',
      'config',
      'config/discovery',
      'launcher/plan',
      'launcher/mirror',
      'launcher/requests',
      'launcher/preview',
      'launcher/nodes',
      'launcher/standby',
      'launcher/providers/guard',
      'launcher/providers',
      'launcher/pools',
      'launcher/conditions',
      'launcher/explain',
    ],
    render: ['contract', 'text', 'conditions', 'images', 'launcher/plan', 'launcher/preview'],
    'testing/invariants': [],
    'testing/harness': [
      'contract',
      'async',
      'config',
      'config/discovery',
      'launcher/providers/guard',
      'launcher',
      'testing/invariants',
    ],
    'testing/parts': ['contract', 'config', 'cloud/operations', 'testing/harness'],
    testing: ['testing/invariants', 'testing/harness', 'testing/parts'],
    service: [
      'contract',
      'async',
      'conditions',
      'text',
      'web',
      'images',
      'config',
      'cloud/ownership',
      'logging',
      'metrics',
      'metrics/table',
      'metrics/statsd',
      'render',
      'launcher/plan',
    ],
    '.': [
      'contract',
      'text',
      'conditions',
      'config',
      'cloud/key-scan',
      'cloud/operations',
      'cloud/task-manager',
      'cloud/ownership',
      'cloud/state-machine',
      'cloud/simple-driver',
    ],
  },
  'packages/history': {
    record: [],
    files: ['record'],
    timeline: ['record', 'files'],
    replay: ['record'],
    '.': ['record', 'files', 'timeline'],
  },
  'packages/cli': {
    command: [],
    terminal: ['command'],
    help: ['command'],
    connection: ['command'],
    conditions: ['command', 'terminal', 'connection'],
    configuration: ['command', 'terminal', 'connection'],
    explain: ['command', 'terminal', 'connection', 'conditions'],
    top: ['command', 'terminal', 'connection', 'conditions', 'explain'],
    logs: ['command', 'terminal'],
    lease: ['command', 'terminal', 'connection', 'explain'],
    run: ['command', 'terminal', 'lease'],
    ssh: ['command', 'terminal', 'lease', 'run'],
    nodes: ['command', 'terminal', 'connection', 'lease'],
    images: ['command', 'terminal', 'connection', 'explain'],
    move: ['command', 'terminal', 'connection'],
    doctor: ['command', 'terminal', 'connection', 'conditions', 'configuration'],
    replay: ['command', 'terminal', 'connection', 'configuration', 'explain'],
    commands: [
      'command',
      'terminal',
      'help',
      'connection',
      'conditions',
      'configuration',
      'doctor',
      'explain',
      'images',
      'lease',
      'logs',
      'move',
      'nodes',
      'replay',
      'run',
      'ssh',
      'top',
    ],
    '.': ['command', 'terminal', 'help', 'commands'],
  },
  'packages/builder': {
    files: [],
    plan: ['files'],
    tool: [],
    web: ['files'],
    providers: [],
    context: ['plan', 'tool', 'providers'],
    build: ['plan', 'files', 'tool', 'context'],
    validate: ['plan', 'tool', 'context'],
    upload: ['plan', 'files', 'tool', 'context', 'validate'],
    janitor: ['plan', 'files', 'context'],
    '.': ['plan', 'files', 'tool', 'web', 'providers', 'context', 'build', 'validate', 'upload', 'janitor'],
  },
  'packages/daemon': { web: [], 'web/api': ['web'], '.': ['web', 'web/api'] },
  'packages/launcher': {
    state: [],
    web: ['state'],
    'web/api': ['state'],
    traces: ['state'],
    '.': ['state', 'web', 'web/api', 'traces'],
  },
  'packages/driver-fake': {
    'cloud/model': [],
    'cloud/client': ['cloud/model'],
    'cloud/server': ['cloud/model', 'cloud/client'],
    'cloud/program': ['cloud/model', 'cloud/client', 'cloud/server'],
    cloud: ['cloud/model', 'cloud/client', 'cloud/server'],
    driver: ['cloud'],
    '.': ['cloud', 'driver'],
  },
  'tools/fake-compute': {
    description: [],
    check: ['description'],
    derive: ['description'],
    server: ['description', 'check'],
    '.': ['description', 'check', 'derive', 'server'],
  },
  simulator: {
    world: [],
    cloud: ['world'],
    fleets: ['world', 'cloud'],
    actors: ['world', 'fleets'],
    year: ['world', 'cloud', 'fleets', 'actors'],
    replay: ['world', 'fleets', 'actors', 'year'],
    '.': ['world', 'cloud', 'fleets', 'actors', 'year'],
  },
};

/** The room of a file, given relative to the package's `src`; `undefined` when the table has none. */
function roomOf(rooms, file) {
  if (file in rooms) return file;
  const folder = file.includes('/') ? file.slice(0, file.lastIndexOf('/')) : '.';
  return folder in rooms ? folder : undefined;
}

/** Whether one file of a package may import another. */
function mayImport(rooms, from, to) {
  const [own, other] = [roomOf(rooms, from), roomOf(rooms, to)];
  return own !== undefined && other !== undefined && (own === other || rooms[own].includes(other));
}

const escape = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** A pattern that matches the files of a room itself, without those of rooms inside it. */
const filesOf = (packageFolder, room) => {
  if (room.endsWith('.ts')) return `^${escape(packageFolder)}/src/${escape(room)}$`;
  return `^${escape(packageFolder)}/src/${room === '.' ? '' : `${escape(room)}/`}[^/]+$`;
};

/** The table as rules of dependency-cruiser, one a room; type-only imports count. */
function dependencyRules(isTest) {
  return Object.entries(ROOMS).flatMap(([packageFolder, rooms]) =>
    Object.entries(rooms).map(([room, mayUse]) => ({
      name: `${packageFolder.split('/').at(-1)}: ${room} uses ${mayUse.join(', ') || 'no other room'}`,
      severity: 'error',
      from: { path: filesOf(packageFolder, room), pathNot: isTest },
      to: {
        path: `^${escape(packageFolder)}/src/`,
        pathNot: [room, ...mayUse].map((name) => filesOf(packageFolder, name)),
      },
    })),
  );
}

module.exports = { ROOMS, mayImport, dependencyRules };
