import { delay, LEASES_ROOT, NODES_ROOT, REQUESTS_ROOT } from '@nodepool/zk-protocol';
import type { DatabaseCopy } from '@nodepool/zk-protocol/memory';
import type { World } from '../world/world.js';
import { CONTENTS } from './newer-release.js';
import type { Scene } from './scene.js';

/** States of nodes of a copy that may be lent by now, or are others: they are deleted before launchers start. */
const UNSURE: ReadonlySet<string> = new Set(['building', 'ready', 'testing']);

const RECORD_ROOTS = [NODES_ROOT, REQUESTS_ROOT, LEASES_ROOT];
/** A launcher that has not stopped by then is killed. */
const STOP_LIMIT_MS = 60_000;

/** An older copy of the database comes back once: as the page about maintenance says, or below running launchers. */
export function restoreOnce(scene: Scene): void {
  const { world, random } = scene;
  const isOrderly = random.chance(0.5);
  world.clock.setTimer(random.between(1_000, 15_000), () => {
    world.trace.add('operator', 'copies the database');
    const copy = copyOf(world);
    world.clock.setTimer(random.between(2_000, 20_000), () => {
      replace(scene, copy, isOrderly);
    });
  });
}

/** ZooKeeper restarts once without its data: below running launchers, or between their stops and starts. */
export function loseOnce(scene: Scene): void {
  const { world, random } = scene;
  const isOrderly = random.chance(0.5);
  world.clock.setTimer(random.between(3_000, 30_000), () => {
    replace(scene, undefined, isOrderly);
  });
}

/** A copy without unreadable records: nothing would repair or remove them once it is put back. */
export function copyOf({ server, spoiled }: World): DatabaseCopy {
  const copy = server.copy();
  const znodes = copy.znodes.flatMap(([path, znode]): typeof copy.znodes => {
    const text = znode.data?.toString() ?? '';
    if (CONTENTS.includes(text) && RECORD_ROOTS.some((root) => path.startsWith(`${root}/`))) return [];
    const known = spoiled.get(path);
    return [[path, text === known?.after ? { ...znode, data: known.before } : znode]];
  });
  return { ...copy, znodes };
}

/** Serves another database once the former change is complete. */
function replace(scene: Scene, copy: DatabaseCopy | undefined, isOrderly: boolean): void {
  const { world } = scene;
  world.replaced = world.replaced.then(() => (isOrderly ? restoreOrderly(scene, copy) : putBack(scene, copy, true)));
}

function putBack({ world, lessees }: Scene, copy: DatabaseCopy | undefined, mayLendAgain: boolean): void {
  world.trace.add('operator', copy ? 'puts an older copy of the database back' : 'has lost the database');
  world.replaceDatabase(copy, mayLendAgain);
  for (const lessee of lessees) lessee.start(); // its token may have been made later
}

/** Stops all launchers, puts the copy back, deletes the nodes that may have users, and starts the launchers. */
async function restoreOrderly(scene: Scene, copy: DatabaseCopy | undefined): Promise<void> {
  const { world, launchers, operator } = scene;
  for (const launcher of launchers) launcher.isBarred = true;
  for (const launcher of launchers) void launcher.stop(); // never resolves if it crashes meanwhile
  const lastMs = world.elapsedMs + STOP_LIMIT_MS;
  while (launchers.some(({ process }) => process) && world.elapsedMs < lastMs) await delay(world.clock, 500);
  for (const launcher of launchers) launcher.crash();
  putBack(scene, copy, false);
  for (;;) {
    const unsure = [...world.checker.nodes.values()].filter(({ state }) => UNSURE.has(state));
    if (unsure.length === 0) break;
    await Promise.all(unsure.map(({ id }) => operator.deleteNode(id)));
    await delay(world.clock, 500);
  }
  for (const launcher of launchers) {
    launcher.isBarred = false;
    launcher.start();
  }
}
