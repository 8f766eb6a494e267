import { defineCommand, texts } from '../command/command.js';
import { launcherUrls, LAUNCHER_URL } from './shared-options.js';

/** `nodepool hosts`. */
export const hostsCommand = defineCommand({
  name: 'hosts',
  summary: 'list static hosts: health, last check, who has them',
  reads: true,
  options: { url: LAUNCHER_URL },
  parse: (values) => ({ urls: launcherUrls(texts(values, 'url')) }),
  run: async (context, { urls }) => (await import('../providers/list-hosts.js')).listHosts(context, urls),
});
