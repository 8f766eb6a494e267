import type { Command, CommandEntry, CommandGroup, CommandModule } from '../command/command.js';
import type { OperatorControlKind } from './control.js';

/** @param usage - name and positionals in yargs' notation */
function entry(usage: string, summary: string, load: () => Promise<{ command: CommandModule<unknown> }>): CommandEntry {
  const [name = '', ...positionals] = usage.split(' ');
  const shown = { name, usage: positionals.join(' '), summary };
  return { ...shown, load: async () => ({ ...shown, ...(await load()).command }) };
}

function control(kind: OperatorControlKind, what: string): CommandEntry {
  return entry(
    `${kind} <action> <name> [nodes]`,
    `pause, drain, limit or resume ${what} in all launchers`,
    async () => ({
      command: (await import('./control.js')).controlCommand(kind),
    }),
  );
}

/**
 * All commands, in the order of the help: the most used ones first. A command is imported when it is called, so that `--help` and `--version` start fast.
 */
export const COMMAND_GROUPS: readonly CommandGroup[] = [
  {
    title: 'Use machines',
    commands: [
      entry('request <labels..>', 'take nodes and keep them until Ctrl-C', () => import('./request.js')),
      entry(
        'ssh <label>',
        'take a node and run a command on it, or log in: nodepool ssh LABEL [-- COMMAND ARGS]',
        () => import('./ssh.js'),
      ),
      entry(
        'run <labels..>',
        'run a command of this computer with nodes in its environment: nodepool run LABEL... -- COMMAND ARGS',
        () => import('./run.js'),
      ),
      entry(
        'release <leases..>',
        'return the nodes of leases of a server, or end their wait',
        () => import('./release.js'),
      ),
      entry(
        'certificate <lease> [node]',
        'print a fresh SSH certificate for a node of a lease of a server',
        () => import('./certificate.js'),
      ),
      entry('labels', 'list labels, with numbers of nodes and waiting requests', () => import('./labels.js')),
      entry('list', 'list nodes', () => import('./list.js')),
    ],
  },
  {
    title: 'See what happens and why',
    commands: [
      entry('request-list', 'list node requests', () => import('./request-list.js')),
      entry(
        'explain [request]',
        'explain why a request is waiting, or how labels would be served',
        () => import('./explain.js'),
      ),
      entry(
        'timeline <id>',
        'show what a request waited for, or the states of a node, also after it is gone',
        () => import('./timeline.js'),
      ),
      entry('doctor', 'list current problems, each with its fix; status 1 for errors', () => import('./doctor.js')),
      entry('hosts', 'list static hosts: health, last check, users', () => import('./hosts.js')),
      entry('controls', 'list what operators have paused, drained or limited', () => import('./controls.js')),
      entry('info <provider>', 'show what ZooKeeper holds about a provider', () => import('./info.js')),
      entry(
        'usage',
        'sum node-hours, cores, RAM and cost by tenant, project, label or provider, also as CSV',
        () => import('./usage.js'),
      ),
      entry('drivers', 'list installed drivers', () => import('./drivers.js')),
    ],
  },
  {
    title: 'Operate',
    commands: [
      entry(
        'init [hosts..]',
        'write a first configuration: for machines of yours, which are checked, or for a cloud',
        () => import('./init.js'),
      ),
      entry('hold <id>', 'keep a node for a person; a locked one after its use', () => import('./hold.js')),
      entry('delete <id>', 'delete a node', () => import('./delete.js')),
      entry('cancel <request>', 'cancel a request; nodes allocated to it become free', () => import('./cancel.js')),
      control('provider', 'a provider'),
      control('pool', 'a pool'),
      control('label', 'a label'),
      control('image', 'labels of a disk image'),
      entry('token <action> [name]', 'create, list or revoke tokens for leases over HTTP', () => import('./token.js')),
      entry('ca <action> <path>', 'create the key that signs SSH certificates of leases', () => import('./ca.js')),
      entry('config-validate', 'check the configuration', () => import('./config-validate.js')),
      entry('plan', 'show what the configuration named by -c would change', () => import('./plan.js')),
      entry(
        'replay',
        'run the recorded requests against the configuration named by -c, and compare waits, use and failures',
        () => import('./replay.js'),
      ),
      entry(
        'advise',
        'propose how many nodes of each label to keep free, with what they would have spared, and how',
        () => import('./advise.js'),
      ),
      entry(
        'config-schema',
        'print a JSON schema of the configuration, for editors',
        () => import('./config-schema.js'),
      ),
      entry(
        'erase <provider>',
        'erase what ZooKeeper holds about a provider; its instances and images stay in the cloud',
        () => import('./erase.js'),
      ),
      entry(
        'adopt <provider>',
        'list cloud resources of a provider that have no record here, and let launchers delete them',
        () => import('./adopt.js'),
      ),
      entry(
        'move-to-ensemble',
        'copy the database of the embedded ZooKeeper to the zookeeper-servers of the configuration, for good',
        () => import('./move-to-ensemble.js'),
      ),
      entry(
        'rollback',
        'go back to the original Nodepool: end what its launchers would not finish, and say when to stop the others',
        () => import('./rollback.js'),
      ),
      entry(
        'completion <shell>',
        'print a script that completes commands and options: source <(nodepool completion bash)',
        async () => ({
          command: (await import('./completion.js')).completionCommand(loadCommands),
        }),
      ),
    ],
  },
  {
    title: 'Disk images',
    commands: [
      entry('image-list', 'list images in the clouds', () => import('./image-list.js')),
      entry('dib-image-list', 'list builds of images', () => import('./dib-image-list.js')),
      entry(
        'image-status',
        'list which images are paused, and which builds are requested',
        () => import('./image-status.js'),
      ),
      entry('image-build <image>', 'request a build of an image now', () => import('./image-build.js')),
      entry(
        'image-log <build>',
        'show the log of a build: of this machine, else from its builder',
        () => import('./image-log.js'),
      ),
      entry(
        'image-files <action>',
        "give the image files of this machine's builder to its new database, or let it delete them",
        () => import('./image-files.js'),
      ),
      entry('image-pause <image>', 'start no builds of an image', () => import('./image-pause.js')),
      entry('image-unpause <image>', 'resume builds of an image', () => import('./image-unpause.js')),
      entry(
        'image-promote <image>',
        'end the trial of the newest build of an image: all launches get it from now on',
        () => import('./image-promote.js'),
      ),
      entry(
        'image-rollback <image>',
        'take the newest build of an image out of service: the previous one serves, and builds are paused',
        () => import('./image-rollback.js'),
      ),
      entry('image-delete', 'delete an image from a cloud', () => import('./image-delete.js')),
      entry(
        'dib-image-delete <id>',
        'delete a build of an image, and what was uploaded of it',
        () => import('./dib-image-delete.js'),
      ),
      entry(
        'alien-image-list [provider]',
        'list images in the clouds that builders made and no record has as ready',
        () => import('./alien-image-list.js'),
      ),
      entry('export-image-data <path>', 'export image records to a file', () => import('./export-image-data.js')),
      entry(
        'import-image-data <path>',
        'import what export-image-data wrote, while no builder runs',
        () => import('./import-image-data.js'),
      ),
    ],
  },
];

/** All commands. */
export const COMMANDS: readonly CommandEntry[] = COMMAND_GROUPS.flatMap(({ commands }) => commands);

/** Loads all commands with their options. */
export function loadCommands(): Promise<Command[]> {
  return Promise.all(COMMANDS.map((each) => each.load()));
}
