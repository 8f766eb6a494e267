import type { Command, CommandGroup } from '../command/command.js';
import { adoptCommand } from './adopt.js';
import { alienImageListCommand } from './alien-image-list.js';
import { cancelCommand } from './cancel.js';
import { completionCommand } from './completion.js';
import { configSchemaCommand } from './config-schema.js';
import { configValidateCommand } from './config-validate.js';
import { controlsCommand, imageCommand, labelCommand, poolCommand, providerCommand } from './controls.js';
import { deleteCommand } from './delete.js';
import { dibImageDeleteCommand } from './dib-image-delete.js';
import { dibImageListCommand } from './dib-image-list.js';
import { doctorCommand } from './doctor.js';
import { driversCommand } from './drivers.js';
import { eraseCommand } from './erase.js';
import { explainCommand } from './explain.js';
import { exportImageDataCommand } from './export-image-data.js';
import { holdCommand } from './hold.js';
import { hostsCommand } from './hosts.js';
import { imageBuildCommand } from './image-build.js';
import { imageDiffCommand } from './image-diff.js';
import { imageDeleteCommand } from './image-delete.js';
import { imageListCommand } from './image-list.js';
import { imageLogCommand } from './image-log.js';
import { imagePauseCommand } from './image-pause.js';
import { imagePromoteCommand } from './image-promote.js';
import { imageRollbackCommand } from './image-rollback.js';
import { imageStatusCommand } from './image-status.js';
import { imageUnpauseCommand } from './image-unpause.js';
import { importImageDataCommand } from './import-image-data.js';
import { infoCommand } from './info.js';
import { labelsCommand } from './labels.js';
import { listCommand } from './list.js';
import { logsCommand } from './logs.js';
import { moveToEnsembleCommand } from './move-to-ensemble.js';
import { planCommand } from './plan.js';
import { replayCommand } from './replay.js';
import { requestListCommand } from './request-list.js';
import { requestCommand } from './request.js';
import { runCommand } from './run.js';
import { sshCommand } from './ssh.js';
import { timelineCommand } from './timeline.js';
import { topCommand } from './top.js';

/** All commands, in the order of the help: what most people look for comes first. */
export const COMMAND_GROUPS: readonly CommandGroup[] = [
  { title: 'Use machines', commands: [requestCommand, sshCommand, runCommand, labelsCommand, listCommand] },
  {
    title: 'See what happens and why',
    commands: [
      ...[requestListCommand, explainCommand, timelineCommand, topCommand, logsCommand, doctorCommand],
      ...[hostsCommand, controlsCommand, infoCommand, driversCommand],
    ],
  },
  {
    title: 'Operate',
    commands: [
      ...[holdCommand, deleteCommand, cancelCommand, providerCommand, poolCommand, labelCommand, imageCommand],
      ...[configValidateCommand, planCommand, replayCommand, configSchemaCommand, eraseCommand, adoptCommand],
      ...[moveToEnsembleCommand, completionCommand(() => COMMANDS)],
    ],
  },
  {
    title: 'Disk images',
    commands: [
      ...[imageListCommand, dibImageListCommand, imageStatusCommand, imageBuildCommand, imageLogCommand],
      ...[imageDiffCommand, imagePauseCommand, imageUnpauseCommand, imagePromoteCommand, imageRollbackCommand],
      ...[imageDeleteCommand, dibImageDeleteCommand, alienImageListCommand, exportImageDataCommand],
      ...[importImageDataCommand],
    ],
  },
];

/** All commands. */
export const COMMANDS: readonly Command<unknown>[] = COMMAND_GROUPS.flatMap(({ commands }) => commands);
