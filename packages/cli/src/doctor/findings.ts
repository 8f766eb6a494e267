import { describeControl } from '@nodepool/zk-protocol';
import { formatProblem } from '@nodepool/core/config';
import { error, warning, type Finding, type Situation } from './finding.js';
import { findServiceTroubles } from './service-findings.js';

/** A deletion that takes longer is stuck. */
const LONGEST_DELETION_MS = 600_000;
/** ZooKeeper is slow beyond this. */
const SLOW_ANSWER_MS = 250;
const MINUTE_MS = 60_000;
const READABLE_BY_OTHERS = 0o044;

/** Everything that is wrong, the worst first. Looks at what it is given, and at nothing else. */
export function findAll(situation: Situation): Finding[] {
  const found = CHECKS.flatMap((check) => check(situation));
  return [
    ...found.filter(({ severity }) => severity === 'error'),
    ...found.filter(({ severity }) => severity !== 'error'),
  ];
}

const CHECKS: readonly ((situation: Situation) => Finding[])[] = [
  findNoLauncher,
  findConfigProblems,
  findServiceTroubles,
  findUnservedLabels,
  findUnservedProviders,
  findStuckDeletions,
  findMissingStandby,
  findOldImages,
  findWithdrawnImages,
  findSlowZooKeeper,
  findOpenSecrets,
  findOrders,
];

function findNoLauncher({ components }: Situation): Finding[] {
  const isRunning = components.some(({ kind }) => kind === 'launcher' || kind === 'pool');
  return isRunning ? [] : [error('no launcher is registered: requests are not served', 'nodepool-launcher')];
}

/** A machine without the drivers can be as good a place to look from; launchers say what they make of the file. */
function findConfigProblems({ configProblems }: Situation): Finding[] {
  return configProblems.map((problem) => warning(formatProblem(problem), 'nodepool config-validate'));
}

function findUnservedLabels({ config, pools }: Situation): Finding[] {
  const served = new Set(pools.flatMap(({ supportedLabels }) => supportedLabels));
  return [...(config?.labels.keys() ?? [])]
    .filter((label) => !served.has(label))
    .map((label) => error(`no registered pool serves label "${label}"`, `nodepool explain --label ${label}`));
}

function findUnservedProviders({ config, pools, nodes }: Situation): Finding[] {
  const served = new Set(pools.map(({ providerName }) => providerName));
  const configured = [...(config?.providers.keys() ?? [])].filter((name) => !served.has(name));
  const orphans = new Map<string, number>();
  for (const { node } of nodes) {
    if (node.provider === null || served.has(node.provider) || config?.providers.has(node.provider) === true) continue;
    orphans.set(node.provider, (orphans.get(node.provider) ?? 0) + 1);
  }
  return [
    ...configured.map((name) =>
      error(`no launcher has registered a pool of provider "${name}"`, 'see /healthz and the log of its launcher'),
    ),
    ...[...orphans].map(([name, count]) =>
      warning(
        `${count} nodes of provider "${name}", which no launcher has`,
        `nodepool info ${name}, nodepool erase ${name}`,
      ),
    ),
  ];
}

function findStuckDeletions({ nodes, nowMs }: Situation): Finding[] {
  const stuck = nodes.filter(
    ({ node, locked }) => node.state === 'deleting' && nowMs - node.stateTimeMs > LONGEST_DELETION_MS && !locked,
  );
  return stuck.map(({ node }) => {
    const minutes = Math.floor((nowMs - node.stateTimeMs) / MINUTE_MS);
    return error(
      `node ${node.id} of provider "${node.provider ?? ''}" has been deleting for ${minutes} minutes`,
      `nodepool delete ${node.id} --now`,
    );
  });
}

function findMissingStandby({ config, nodes }: Situation): Finding[] {
  return [...(config?.labels.values() ?? [])].flatMap(({ name, minReady }) => {
    const own = nodes.filter(({ node }) => node.labels.includes(name));
    const ready = own.filter(({ node }) => node.state === 'ready' && node.allocatedTo === null).length;
    const coming = own.filter(({ node }) => node.state === 'init' || node.state === 'building').length;
    if (minReady <= 0 || ready + coming >= minReady) return [];
    return [
      warning(
        `label "${name}" has ${ready} of ${minReady} standby nodes, and ${coming} are being made`,
        `nodepool explain --label ${name}`,
      ),
    ];
  });
}

/** An image is too old when two builds in a row have not come. */
function findOldImages({ config, builds, failedBuilds, nowMs }: Situation): Finding[] {
  return [...(config?.diskimages.values() ?? [])].flatMap(({ name, rebuildAgeMs }) => {
    if (!builds.has(name)) return [];
    const build = builds.get(name);
    const failure = failedBuilds.get(name);
    const why = failure === undefined ? '' : `: ${failure}`;
    const remedy = `nodepool image-${failure === undefined ? `build ${name} --follow` : `log ${name}`}`;
    if (!build) return [error(`image "${name}" has no ready build${why}`, remedy)];
    const hours = Math.floor((nowMs - build.stateTimeMs) / (60 * MINUTE_MS));
    if (nowMs - build.stateTimeMs <= 2 * rebuildAgeMs) return [];
    return [warning(`the newest build of image "${name}" is ${hours} hours old${why}`, remedy)];
  });
}

/** Builds that are merely tried out are nothing to worry about. */
function findWithdrawnImages({ withdrawn }: Situation): Finding[] {
  return [...withdrawn].map(([name, why]) =>
    warning(`image "${name}": ${why}`, `nodepool image-log ${name}; once it is fixed nodepool image-unpause ${name}`),
  );
}

function findSlowZooKeeper({ answerMs }: Situation): Finding[] {
  if (answerMs <= SLOW_ANSWER_MS) return [];
  return [warning(`ZooKeeper takes ${Math.round(answerMs)} ms to answer`, 'look at its disk and its load')];
}

function findOpenSecrets({ secretFiles }: Situation): Finding[] {
  return secretFiles
    .filter(({ mode }) => (mode & READABLE_BY_OTHERS) !== 0)
    .map(({ file, mode }) =>
      warning(
        `${file} has secrets and can be read by others (mode ${(mode & 0o777).toString(8)})`,
        `chmod 600 ${file}`,
      ),
    );
}

function findOrders({ controls }: Situation): Finding[] {
  const orders = controls.filter(({ kind }) => kind !== 'node'); // nothing is wrong with a node that will be held
  return orders.map((control) =>
    warning(
      `${control.kind} "${control.name}" is ${describeControl(control)}`,
      `nodepool ${control.kind} resume ${control.name}`,
    ),
  );
}
