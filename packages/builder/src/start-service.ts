import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock, ZooKeeper } from '@nodepool/zk-protocol';
import type { ConditionSource } from '@nodepool/core/service';
import {
  alienToHealth,
  assembleService,
  createImageApi,
  createImageRoutes,
  createImageWorkRoutes,
  createServiceMetrics,
  imageToApi,
  type ApiEvent,
  type DaemonRuntime,
  type DaemonService,
  type ServiceContext,
} from '@nodepool/daemon';
import { COMMAND_LINE, type BuilderArguments } from './arguments.js';
import { builderConditions } from './builder-conditions.js';
import { Builder, linesOf } from './builder.js';
import { createBuildRoutes } from './web/build-routes.js';
import { contextFor } from './providers/provider-context.js';

/** Emits changes of images. @returns unsubscribes */
function followImages(builder: Builder, notify: (event: ApiEvent) => void): () => void {
  return builder.onImageChange((name) => {
    const image = builder.tree.images.get(name);
    notify({ type: 'image', id: name, data: () => (image ? imageToApi(image) : null) });
  });
}

/** Connects a builder to the log, `/healthz`, listings and API of its process. */
function builderRuntime(builder: Builder, zk: ZooKeeper, clock: Clock, hostname: string): DaemonRuntime {
  const images = () => builder.tree.images;
  return {
    start: (webUrl) => builder.start(webUrl),
    reconfigure: (config) => builder.reconfigure(config),
    get notReady() {
      return builder.notReady;
    },
    drain: (deadlineMs) => builder.drain(deadlineMs),
    stop: () => builder.stop(),
    startedFields: () => ({ builder: builder.id }),
    conditions: conditionsOf(builder, clock, hostname),
    health: () => ({
      ...builder.running,
      waiting: builder.waiting.map(({ image, provider = null, reason, sinceMs }) => ({
        image,
        provider,
        reason,
        sinceMs,
      })),
      failing_uploads: builder.failingUploads,
      failing_deletions: builder.failingDeletions,
      alien_resources: (builder.unrecorded?.alienResources() ?? []).map(alienToHealth),
    }),
    dump: () => linesOf(builder),
    routes: () =>
      new Map([
        ...createImageRoutes(images, clock),
        ...createImageWorkRoutes(() => builder.work, clock),
        ...createBuildRoutes(() => builder.config),
      ]),
    api: () => ({
      ...createImageApi({ zk, config: () => builder.config, images }),
      overview: () => overviewOf(builder),
      subscribe: (listener) => followImages(builder, listener),
    }),
  };
}

/** A builder does not follow the registry. */
function conditionsOf(builder: Builder, clock: Clock, hostname: string): ConditionSource {
  return {
    find: () => builderConditions(builder, hostname, clock.now()),
    publish: (all) => builder.registration.setConditions(all),
    ofOthers: [],
    onConcern: (listener) => builder.onImageChange(listener),
  };
}

function overviewOf({ notReady, tree, running, failingDeletions }: Builder) {
  return {
    not_ready: [...notReady],
    images: [...tree.images.values()].map(imageToApi),
    running: {
      builds: running.builds.map(({ image }) => image),
      uploads: running.uploads.map(({ image }) => image),
    },
    errors: failingDeletions.map((failing) => ({ time: null, text: JSON.stringify(failing) })),
  };
}

/**
 * Reads the configuration, connects to ZooKeeper, and starts the web server. Call `start` of the result next.
 * @throws ConfigError, NODEPOOL_WEB_LISTEN, NODEPOOL_STATSD, and ZK_BAD_ARGUMENTS for unusable TLS files
 */
export function createService(context: ServiceContext<BuilderArguments>): Promise<DaemonService> {
  const metrics = createServiceMetrics(context);
  return assembleService(context, {
    commandLine: COMMAND_LINE,
    programDir: import.meta.dirname,
    webapp: 'builderWebapp',
    embedded: 'find',
    metrics,
    createRuntime({ zk, config, registry, logger, clock, hostname, version, args, env }) {
      const random = () => Math.random();
      const builder: Builder = new Builder({
        ...{ zk, config, registry, logger: logger.child({}, 'builder'), clock, random, hostname, version, env },
        buildWorkers: args.buildWorkers,
        uploadWorkers: args.uploadWorkers,
        tmpDir: env['TMPDIR'] ?? tmpdir(),
        packageDir: join(import.meta.dirname, '..'),
        events: metrics.builder,
        contextOf: (provider) =>
          contextFor(
            {
              zk,
              clock,
              logger,
              hostname,
              random,
              env,
              config: () => builder.config,
              databaseId: () => builder.databaseId,
            },
            provider,
          ),
      });
      return builderRuntime(builder, zk, clock, hostname);
    },
  });
}
