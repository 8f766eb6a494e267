/** Types for the documented part of statsd-client 0.4 in use; the package has none. */
declare module 'statsd-client' {
  class StatsDClient {
    constructor(options: {
      readonly host: string;
      /** UDP port. */
      readonly port: number;
      /** Whether `host` is an IPv6 address. */
      readonly ipv6: boolean;
      /** How long lines are buffered, in ms. A socket that is idle for twice as long is closed. */
      readonly socketTimeout: number;
    });
    gauge(name: string, value: number): this;
    counter(name: string, delta: number): this;
    timing(name: string, ms: number): this;
    /** Sends a line unmodified. */
    raw(line: string): this;
    close(): this;
  }

  export = StatsDClient;
}
