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
 * All commands, in the order of the help: the most used ones first. A command is imported only when it is called, so that
 * `--help` and `--version` need not load all of them.
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
      entry('labels', 'list what can be asked for, with numbers', () => import('./labels.js')),
      entry('list', 'list nodes', () => import('./list.js')),
    ],
  },
  {
    title: 'See what happens and why',
    commands: [
      entry('request-list', 'list node requests', () => import('./request-list.js')),
      entry(
        'explain [request]',
        'say why a request waits, or what would become of labels',
        () => import('./explain.js'),
      ),
      entry(
        'timeline <id>',
        'say what a request waited for, or which states a node was in, also after it is gone',
        () => import('./timeline.js'),
      ),
      entry(
        'top',
        'show live what waits, what is launched, what is used and what fails; q leaves',
        () => import('./top.js'),
      ),
      entry(
        'logs',
        'show what the log of this machine says about a node, a request or a build',
        () => import('./logs.js'),
      ),
      entry(
        'doctor',
        'say what is wrong now, each with the command that fixes it; status 1 when something does not work',
        () => import('./doctor.js'),
      ),
      entry('hosts', 'list static hosts: health, last check, who has them', () => import('./hosts.js')),
      entry('controls', 'list what operators have paused, drained or limited', () => import('./controls.js')),
      entry('info <provider>', 'show what ZooKeeper holds about a provider', () => import('./info.js')),
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
      entry(
        'hold <id>',
        'keep a node for a person; one that is locked when its use is over',
        () => import('./hold.js'),
      ),
      entry('delete <id>', 'delete a node', () => import('./delete.js')),
      entry('cancel <request>', 'take a request back; nodes allocated to it become free', () => import('./cancel.js')),
      control('provider', 'a provider'),
      control('pool', 'a pool'),
      control('label', 'a label'),
      control('image', 'labels of a disk image'),
      entry('config-validate', 'check the configuration', () => import('./config-validate.js')),
      entry('plan', 'say what the configuration named by -c would change, without doing it', () => import('./plan.js')),
      entry(
        'replay',
        'run the recorded requests against the configuration named by -c, and compare waits, use and failures',
        () => import('./replay.js'),
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
        'list what carries the name of a provider without a record here, and hand it over to the clean-up',
        () => import('./adopt.js'),
      ),
      entry(
        'move-to-ensemble',
        'copy the database of the embedded ZooKeeper to the zookeeper-servers of the configuration, for good',
        () => import('./move-to-ensemble.js'),
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
        'list which images are paused, and which builds are asked for',
        () => import('./image-status.js'),
      ),
      entry('image-build <image>', 'ask for a build of an image now', () => import('./image-build.js')),
      entry(
        'image-log <build>',
        'show the log of a build: of this machine, else from its builder',
        () => import('./image-log.js'),
      ),
      entry(
        'image-diff <image> [older] [newer]',
        'show what differs between two builds of an image: sizes, packages, repositories',
        () => import('./image-diff.js'),
      ),
      entry('image-pause <image>', 'begin no build of an image', () => import('./image-pause.js')),
      entry('image-unpause <image>', 'build an image again', () => import('./image-unpause.js')),
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
        'list images in the clouds that a builder made and no record knows as ready',
        () => import('./alien-image-list.js'),
      ),
      entry(
        'export-image-data <path>',
        'write what ZooKeeper holds about images to a file',
        () => import('./export-image-data.js'),
      ),
      entry(
        'import-image-data <path>',
        'put what export-image-data wrote into ZooKeeper, while no builder runs',
        () => import('./import-image-data.js'),
      ),
    ],
  },
];

/** All commands. */
export const COMMANDS: readonly CommandEntry[] = COMMAND_GROUPS.flatMap(({ commands }) => commands);

/** Loads all commands, for what shows all of their options. */
export function loadCommands(): Promise<Command[]> {
  return Promise.all(COMMANDS.map((each) => each.load()));
}
